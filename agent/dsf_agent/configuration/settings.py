"""Flags and environment variables, read once into frozen Settings.

A flag overrides its environment variable, and an empty variable counts as not set. Guaranteed:
every mistake is a SettingsError that says what to write instead, and it is raised before anything
starts. Not guaranteed: that a file or an address in the settings exists; each is used later by the
part that needs it.
"""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from dsf_agent.endpoints.transport import CallLimits
from dsf_agent.errors import SettingsError
from dsf_runtime.access import runs_in_pod
from dsf_wire.constants import AGENT_NAMESPACE, CONFIGMAP_KEY

HUB_SCORER: Final = "hub"
"""The word that the hub scorer has in place of a cluster's name, in its own metrics."""
MAX_CLUSTER_NAME: Final = 253
_CLUSTER_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""An RFC 1123 subdomain, as Kubernetes asks for."""
SERVICE_ACCOUNT_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path


@dataclass(frozen=True, kw_only=True)
class Address:
    """An address to listen on. An empty host means all interfaces, port 0 a free port."""

    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Waits:
    """Delays in seconds that no flag sets. Tests choose shorter ones."""

    poll: float = 1
    """The time between two looks at the files of the configuration."""
    prune: float = 10
    """The time for which a file must be unchanged before scores of removed scorers are deleted."""
    grace: float = 3
    """The time to finish running work after SIGTERM."""
    hub: float = 15
    """Longest call of an API server."""


DEFAULT_WAITS: Final = Waits()


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """Durations in seconds, sizes in bytes. The flags have the comments."""

    verb: str
    config_dir: Path
    clusters_file: Path | None
    """None for an agent."""
    cluster: str
    """The name of the cluster. For the hub scorer it is HUB_SCORER."""
    publish_dir: Path | None
    """None means that scores are published to the hub."""
    hub_kubeconfig: Path | None
    """None if nothing is published to the hub, or if this pod runs on the hub.

    The hub scorer does the latter.
    """
    spoke_kubeconfig: Path | None
    namespace: str
    token_file: Path
    metrics_address: Address
    splay_seconds: float
    limits: CallLimits
    bytes_in_flight: int
    log_format: str
    log_level: str
    waits: Waits = DEFAULT_WAITS

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the configuration. The hub scorer has two."""
        summaries = self.config_dir / CONFIGMAP_KEY
        return (summaries,) if self.clusters_file is None else (summaries, self.clusters_file)


class _Flag(NamedTuple):
    name: str
    metavar: str
    default: str
    text: str
    shown: str = ""
    """The text that the help has in place of the default."""

    @property
    def variable(self) -> str:
        """The environment variable for the flag."""
        return self.name.upper().replace("-", "_")

    @property
    def help(self) -> str:
        default = self.shown or self.default
        variable = f"{self.variable}; {default}" if default else self.variable
        return f"{self.text} [{variable}]".lstrip()


_COMMON: Final = (
    _Flag(
        "config-dir",
        "DIR",
        "/etc/dynamic-scoring",
        "mounted ConfigMap with the file 'summaries', not a subPath, which does not follow changes",
    ),
    _Flag(
        "cluster-name",
        "NAME",
        "",
        "name of this managed cluster, which is its namespace on the hub",
    ),
    _Flag(
        "clusters",
        "FILE",
        "",
        "run scorers with runsOn: Hub for the clusters in this file, in place of --cluster-name",
    ),
    _Flag(
        "spoke-kubeconfig",
        "FILE",
        "",
        "kubeconfig of the managed cluster, to read Secrets with tokens",
        shown="the pod's account",
    ),
    _Flag(
        "install-namespace",
        "NAME",
        AGENT_NAMESPACE,
        "namespace of the Secrets with tokens and of the ConfigMaps with CAs",
    ),
    _Flag(
        "service-account-token-file", "FILE", SERVICE_ACCOUNT_TOKEN, "file with the pod's own token"
    ),
    _Flag("request-timeout", "SECONDS", "30", "time limit of a call to a source or scoring API"),
    _Flag(
        "max-answer-bytes",
        "BYTES",
        "67108864",
        "largest answer that is accepted from a source or scoring API",
    ),
    _Flag(
        "max-bytes-in-flight",
        "BYTES",
        "67108864",
        "bytes in memory at one time of answers above 1 MB; also the limit of one cycle",
    ),
    _Flag("log-format", "text|json", "text", "format of the log"),
    _Flag(
        "log-level", "LEVEL", "", "debug, info, warning or error", shown="info; warning for check"
    ),
)
_RUNNING: Final = (
    _Flag(
        "publish",
        "hub|dir:PATH",
        "hub",
        "where scores go: the hub, or a directory with one file for each score object",
    ),
    _Flag("hub-kubeconfig", "FILE", "", "kubeconfig of the hub"),
    _Flag(
        "metrics-address",
        "HOST:PORT",
        ":8080",
        "address to serve /metrics, /healthz and /readyz on",
    ),
    _Flag(
        "splay",
        "SECONDS",
        "10",
        "longest delay of the first cycles after the start; after an edit it is 0.5",
    ),
)
_FLAGS: Final = {flag.name: flag for flag in (*_COMMON, *_RUNNING)}
_EPILOG: Final = (
    "Every flag can also be set by the environment variable in brackets. A flag overrides its"
    " variable."
)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="gitops-dsf-agent", description="The spoke agent of gitops-dsf.", epilog=_EPILOG
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    verbs = top.add_subparsers(dest="verb", metavar="VERB")
    run = verbs.add_parser("run", help="run until SIGTERM", epilog=_EPILOG)
    check = verbs.add_parser(
        "check",
        help="run one cycle of every scorer and print a table; nothing is published",
        epilog=_EPILOG,
    )
    for verb, flags in ((run, (*_COMMON, *_RUNNING)), (check, _COMMON)):
        for flag in flags:
            # Without its default: only a flag that is written overrides its variable.
            verb.add_argument(f"--{flag.name}", metavar=flag.metavar, help=flag.help)
    # Trees that an older generator rendered have this flag. Nothing uses it any more, and an
    # unknown flag would end the process.
    run.add_argument("--hub-namespace", help=argparse.SUPPRESS)
    check.add_argument(
        "--scorer",
        metavar="NAME",
        action="append",
        default=[],
        help="only this scorer; may be repeated",
    )
    return top


class _SettingValues:
    """Values of flags, else of environment variables, else defaults."""

    def __init__(self, flags: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self._flags = flags
        self._environ = environ

    def text(self, name: str, default: str = "") -> str:
        flag_value = self._flags.get(name.replace("-", "_"))
        if isinstance(flag_value, str):
            return flag_value
        flag = _FLAGS[name]
        return self._environ.get(flag.variable, "") or flag.default or default

    def path(self, name: str) -> Path | None:
        text = self.text(name)
        return Path(text) if text else None

    def seconds(self, name: str, *, minimum: float = 0.0) -> float:
        text = self.text(name)
        try:
            value = float(text)
        except ValueError:
            # Out of range, so that the error below is about this text, too. NaN fails it as well.
            value = -1.0
        if not minimum <= value <= 86_400:
            raise _wrong(name, text, f"seconds from {minimum:g} to 86400")
        return value

    def count(self, name: str) -> int:
        text = self.text(name)
        # isdigit() alone accepts texts such as "²", which int() refuses.
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**40):
            raise _wrong(name, text, "a whole number from 1")
        return int(text)

    def choice(self, name: str, *choices: str, default: str = "") -> str:
        text = self.text(name, default).lower()
        if text not in choices:
            raise _wrong(name, text, f"one of {', '.join(choices)}")
        return text


def _wrong(name: str, text: str, wanted: str) -> SettingsError:
    return SettingsError(f"{_called(name)} is {text!r}; write {wanted}")


def _called(name: str) -> str:
    return f"--{name} ({_FLAGS[name].variable})"


def read(flags: argparse.Namespace, environ: Mapping[str, str]) -> AgentSettings:
    """The settings of ``run`` and ``check``.

    ``flags`` is what ``parser`` read. Raises SettingsError.
    """
    source = _SettingValues(vars(flags), environ)
    clusters_file = source.path("clusters")
    cluster = source.text("cluster-name", "" if clusters_file is None else HUB_SCORER)
    if not cluster:
        raise SettingsError(
            f"{_called('cluster-name')} is missing; write the name of this managed cluster"
        )
    if _CLUSTER_NAME.fullmatch(cluster) is None or len(cluster) > MAX_CLUSTER_NAME:
        wanted = "the name of the ManagedCluster: lower-case letters, digits, '-' and '.'"
        raise _wrong("cluster-name", cluster, wanted)
    destination = _ScoreDestination(publish_dir=None, hub_kubeconfig=None)
    # `check` publishes nothing, so it runs without any access to the hub.
    if flags.verb == "run":
        # The hub scorer runs on the hub, so its pod's account is enough.
        in_pod = clusters_file is not None and runs_in_pod(environ)
        destination = _destination(source, in_pod=in_pod)
    return AgentSettings(
        verb=flags.verb,
        config_dir=Path(source.text("config-dir")),
        clusters_file=clusters_file,
        cluster=cluster,
        publish_dir=destination.publish_dir,
        hub_kubeconfig=destination.hub_kubeconfig,
        spoke_kubeconfig=source.path("spoke-kubeconfig"),
        namespace=source.text("install-namespace"),
        token_file=Path(source.text("service-account-token-file")),
        metrics_address=_address(source.text("metrics-address")),
        splay_seconds=source.seconds("splay"),
        limits=CallLimits(
            total_seconds=source.seconds("request-timeout", minimum=0.1),
            answer_bytes=source.count("max-answer-bytes"),
        ),
        bytes_in_flight=source.count("max-bytes-in-flight"),
        log_format=source.choice("log-format", "text", "json"),
        log_level=source.choice(
            "log-level",
            *("debug", "info", "warning", "error"),
            # `check` prints a table, and lines of the log would be in between.
            default="info" if flags.verb == "run" else "warning",
        ),
    )


class _ScoreDestination(NamedTuple):
    """The destination of scores."""

    publish_dir: Path | None
    hub_kubeconfig: Path | None


def _destination(source: _SettingValues, *, in_pod: bool) -> _ScoreDestination:
    text = source.text("publish")
    if text.startswith("dir:") and len(text) > len("dir:"):
        return _ScoreDestination(publish_dir=Path(text.removeprefix("dir:")), hub_kubeconfig=None)
    if text != "hub":
        raise _wrong("publish", text, "'hub' or 'dir:PATH'")
    # The account of an agent's pod is one of the managed cluster, which the hub does not know.
    kubeconfig = source.path("hub-kubeconfig")
    if kubeconfig is None and not in_pod:
        raise SettingsError(
            f"{_called('hub-kubeconfig')} is missing; write the kubeconfig file of the hub, or use"
            " --publish dir:PATH"
        )
    return _ScoreDestination(publish_dir=None, hub_kubeconfig=kubeconfig)


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise _wrong("metrics-address", text, "HOST:PORT, for instance 0.0.0.0:8080 or [::]:8080")
    return Address(host=host.removeprefix("[").removesuffix("]"), port=int(port))
