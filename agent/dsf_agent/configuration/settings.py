"""Flags and environment variables, read once into frozen Settings. docs/reference/cli.md lists them."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dsf_agent.endpoints.transport import CallLimits
from dsf_agent.errors import SettingsError
from dsf_runtime.access import runs_in_pod
from dsf_wire.constants import AGENT_NAMESPACE

HUB_SCORER: Final = "hub"
"""What the hub scorer has in place of a cluster's name, in its own metrics."""
DEFAULT_HUB_NAMESPACE: Final = "open-cluster-management"
MAX_CLUSTER_NAME: Final = 253
_CLUSTER_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""An RFC 1123 subdomain, as Kubernetes asks for."""
SERVICE_ACCOUNT_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where to listen. An empty host means all interfaces, port 0 a free port."""

    host: str
    port: int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Durations in seconds, sizes in bytes."""

    verb: str
    config_dir: Path
    """The mounted ConfigMap directory; the file ``summaries`` in it is read."""
    clusters_file: Path | None
    """The clusters of the hub scorer. None for an agent."""
    cluster: str
    """Name of this managed cluster and of its namespace on the hub. For the hub scorer HUB_SCORER."""
    publish_dir: Path | None
    """Directory for AddOnPlacementScores as files. None means that they are published to the hub."""
    hub_kubeconfig: Path | None
    """None if nothing is published to the hub, or if the hub is the cluster of this pod (the hub scorer)."""
    hub_namespace: str
    """Namespace on the hub with the ConfigMap of suspended scorers."""
    spoke_kubeconfig: Path | None
    """Kubeconfig of the managed cluster's API. None means the pod's ServiceAccount."""
    namespace: str
    """Namespace on the managed cluster with token Secrets and CA ConfigMaps."""
    token_file: Path
    """The pod's token, for serviceAccountToken: true."""
    metrics_address: Address
    poll_seconds: float
    suspension_seconds: float
    prune_delay_seconds: float
    splay_seconds: float
    grace_seconds: float
    hub_timeout_seconds: float
    limits: CallLimits
    bytes_in_flight: int
    """Bytes of large answers that may be in memory at one time."""
    log_format: str
    log_level: str


_EPILOG: Final = (
    "Every flag can also be set by the environment variable in brackets. A flag overrides its variable."
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
        "check", help="one cycle of every scorer, as a table; publishes nothing", epilog=_EPILOG
    )
    for one in (run, check):
        _common(one)
    _running(run)
    check.add_argument(
        "--scorer", metavar="NAME", action="append", default=[], help="only this scorer; may be repeated"
    )
    return top


def _common(verb: argparse.ArgumentParser) -> None:
    add = verb.add_argument
    add(
        "--config-dir",
        metavar="DIR",
        help="mounted ConfigMap with the file 'summaries', not a subPath, which does not follow changes"
        " [CONFIG_DIR; /etc/dynamic-scoring]",
    )
    add(
        "--cluster-name",
        metavar="NAME",
        help="name of this managed cluster, which is its namespace on the hub [CLUSTER_NAME]",
    )
    add(
        "--clusters",
        metavar="FILE",
        help="run scorers with runsOn: Hub for the clusters in this file, in place of --cluster-name"
        " [CLUSTERS]",
    )
    add(
        "--spoke-kubeconfig",
        metavar="FILE",
        help="managed cluster's API, for token Secrets [SPOKE_KUBECONFIG; the pod's account]",
    )
    add(
        "--install-namespace",
        metavar="NAME",
        help=f"namespace of token Secrets and CAs [INSTALL_NAMESPACE; {AGENT_NAMESPACE}]",
    )
    add(
        "--service-account-token-file",
        metavar="FILE",
        help=f"the pod's own token [SERVICE_ACCOUNT_TOKEN_FILE; {SERVICE_ACCOUNT_TOKEN}]",
    )
    add(
        "--request-timeout",
        metavar="SECONDS",
        help="longest call of a source or scoring API [REQUEST_TIMEOUT; 30]",
    )
    add(
        "--max-answer-bytes",
        metavar="BYTES",
        help="largest answer of a source or scoring API [MAX_ANSWER_BYTES; 67108864]",
    )
    add(
        "--max-bytes-in-flight",
        metavar="BYTES",
        help="bytes of answers above 1 MB in memory at one time, and of one cycle"
        " [MAX_BYTES_IN_FLIGHT; 67108864]",
    )
    add(
        "--max-calls-per-origin",
        metavar="N",
        help="calls to one scheme, host and port at one time [MAX_CALLS_PER_ORIGIN; 8]",
    )
    add("--log-format", metavar="text|json", help="[LOG_FORMAT; text]")
    add(
        "--log-level", metavar="LEVEL", help="debug, info, warning or error [LOG_LEVEL; info, check: warning]"
    )


def _running(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add(
        "--publish",
        metavar="hub|dir:PATH",
        help="hub, or a directory for one file per AddOnPlacementScore [PUBLISH; hub]",
    )
    add("--hub-kubeconfig", metavar="FILE", help="how to reach the hub [HUB_KUBECONFIG]")
    add(
        "--hub-namespace",
        metavar="NAME",
        help=f"namespace of the suspended scorers' ConfigMap [HUB_NAMESPACE; {DEFAULT_HUB_NAMESPACE}]",
    )
    add(
        "--metrics-address",
        metavar="HOST:PORT",
        help="where /metrics, /healthz and /readyz are served [METRICS_ADDRESS; :8080]",
    )
    add(
        "--config-poll",
        metavar="SECONDS",
        help="how often the file is read besides file events [CONFIG_POLL; 10]",
    )
    add(
        "--suspension-poll",
        metavar="SECONDS",
        help="how often suspended scorers are read [SUSPENSION_POLL; 30]",
    )
    add(
        "--prune-delay",
        metavar="SECONDS",
        help="how long a file must be unchanged before scores of removed scorers go [PRUNE_DELAY; 10]",
    )
    add(
        "--splay",
        metavar="SECONDS",
        help="longest delay of the first runs after the start; after an edit 0.5 [SPLAY; 10]",
    )
    add(
        "--shutdown-grace",
        metavar="SECONDS",
        help="time to finish running work after SIGTERM [SHUTDOWN_GRACE; 3]",
    )
    add("--hub-timeout", metavar="SECONDS", help="longest call of an API server [HUB_TIMEOUT; 15]")


class _Source:
    """Values of flags, else of environment variables, else defaults. Error messages name flag and
    variable.
    """

    def __init__(self, flags: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self._flags = flags
        self._environ = environ

    def text(self, flag: str, default: str = "") -> str:
        given = self._flags.get(flag.replace("-", "_"))
        if isinstance(given, str):
            return given
        return self._environ.get(variable(flag), "") or default

    def path(self, flag: str) -> Path | None:
        text = self.text(flag)
        return Path(text) if text else None

    def seconds(self, flag: str, default: float, *, least: float = 0.0) -> float:
        text = self.text(flag, str(default))
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not least <= value <= 86_400:
            msg = f"{name(flag)} is {text!r}; write seconds from {least:g} to 86400"
            raise SettingsError(msg)
        return value

    def count(self, flag: str, default: int) -> int:
        text = self.text(flag, str(default))
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**40):
            msg = f"{name(flag)} is {text!r}; write a whole number from 1"
            raise SettingsError(msg)
        return int(text)

    def choice(self, flag: str, default: str, *choices: str) -> str:
        text = self.text(flag, default).lower()
        if text not in choices:
            msg = f"{name(flag)} is {text!r}; write one of {', '.join(choices)}"
            raise SettingsError(msg)
        return text


def variable(flag: str) -> str:
    """The environment variable for a flag."""
    return flag.upper().replace("-", "_")


def name(flag: str) -> str:
    return f"--{flag} ({variable(flag)})"


def read(flags: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """The settings of ``run`` and ``check``. ``flags`` is what ``parser`` read. Raises SettingsError."""
    source = _Source(vars(flags), environ)
    clusters_file = source.path("clusters")
    cluster = source.text("cluster-name", "" if clusters_file is None else HUB_SCORER)
    if not cluster:
        msg = f"{name('cluster-name')} is missing; write the name of this managed cluster"
        raise SettingsError(msg)
    if _CLUSTER_NAME.fullmatch(cluster) is None or len(cluster) > MAX_CLUSTER_NAME:
        msg = (
            f"{name('cluster-name')} is {cluster!r}; write the name of the ManagedCluster: lower-case"
            " letters, digits, '-' and '.'"
        )
        raise SettingsError(msg)
    publish_dir, hub_kubeconfig = (
        _destination(source, in_pod=clusters_file is not None and runs_in_pod(environ))
        if flags.verb == "run"
        else (None, None)
    )
    return Settings(
        verb=flags.verb,
        config_dir=Path(source.text("config-dir", "/etc/dynamic-scoring")),
        clusters_file=clusters_file,
        cluster=cluster,
        publish_dir=publish_dir,
        hub_kubeconfig=hub_kubeconfig,
        hub_namespace=source.text("hub-namespace", DEFAULT_HUB_NAMESPACE),
        spoke_kubeconfig=source.path("spoke-kubeconfig"),
        namespace=source.text("install-namespace", AGENT_NAMESPACE),
        token_file=Path(source.text("service-account-token-file", SERVICE_ACCOUNT_TOKEN)),
        metrics_address=_address(source.text("metrics-address", ":8080")),
        poll_seconds=source.seconds("config-poll", 10, least=0.1),
        suspension_seconds=source.seconds("suspension-poll", 30, least=1),
        prune_delay_seconds=source.seconds("prune-delay", 10),
        splay_seconds=source.seconds("splay", 10),
        grace_seconds=source.seconds("shutdown-grace", 3),
        hub_timeout_seconds=source.seconds("hub-timeout", 15, least=0.1),
        limits=CallLimits(
            total_seconds=source.seconds("request-timeout", 30, least=0.1),
            answer_bytes=source.count("max-answer-bytes", 64 << 20),
            per_origin=source.count("max-calls-per-origin", 8),
        ),
        bytes_in_flight=source.count("max-bytes-in-flight", 64 << 20),
        log_format=source.choice("log-format", "text", "text", "json"),
        log_level=source.choice(
            "log-level", "info" if flags.verb == "run" else "warning", "debug", "info", "warning", "error"
        ),
    )


def _destination(source: _Source, *, in_pod: bool) -> tuple[Path | None, Path | None]:
    text = source.text("publish", "hub")
    if text.startswith("dir:") and len(text) > len("dir:"):
        return Path(text.removeprefix("dir:")), None
    if text != "hub":
        msg = f"{name('publish')} is {text!r}; write 'hub' or 'dir:PATH'"
        raise SettingsError(msg)
    kubeconfig = source.path("hub-kubeconfig")
    if kubeconfig is None and not in_pod:
        msg = (
            f"{name('hub-kubeconfig')} is missing; write the kubeconfig file of the hub, or use --publish"
            " dir:PATH"
        )
        raise SettingsError(msg)
    return None, kubeconfig


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        msg = (
            f"{name('metrics-address')} is {text!r}; write HOST:PORT, for instance 0.0.0.0:8080 or [::]:8080"
        )
        raise SettingsError(msg)
    return Address(host=host.removeprefix("[").removesuffix("]"), port=int(port))
