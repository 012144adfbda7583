"""Credentials from a kubeconfig.

Tokens and certificates that are in the kubeconfig, or in files that it names, are read here. OCM gives an
agent such a kubeconfig. Kubeconfigs with exec plug-ins, auth providers or anything else are left to the
kubernetes package. It is imported only then, because it needs 126 MB of disk, 20 MB of memory and 0.2 s of
CPU. Messages never contain values of a kubeconfig, because one of them may be a token.
"""

import base64
import binascii
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from dsf_runtime.access import Access, AccessError, authorization_header, contents, make_access, tls_context
from dsf_runtime.calls import excerpt

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the one writable place of a container with a read-only root and no /tmp volume
PLAIN_CLUSTER: Final = frozenset(
    {
        "server",
        "certificate-authority",
        "certificate-authority-data",
        "insecure-skip-tls-verify",
        "tls-server-name",
        "proxy-url",
        "disable-compression",
        "extensions",
    }
)
PLAIN_USER: Final = frozenset(
    {
        "token",
        "tokenFile",
        "client-certificate",
        "client-certificate-data",
        "client-key",
        "client-key-data",
        "extensions",
    }
)
"""Fields of a kubeconfig (client-go's api/v1 types) that are read here. A kubeconfig with other fields is
left to the package.
"""
INSTALL: Final = "pip install 'gitops-dsf-runtime[plugins]'"


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig file and one of its contexts. Without a path it is the file that kubectl would use,
    without a context the current one.
    """

    path: Path | None = None
    context: str | None = None

    def load(self) -> Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        try:
            path = self._only_file()
            plain = None if path is None else self._plain(path)
            return plain or self._by_package()
        except yaml.YAMLError as error:
            mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
            place = f" (line {mark.line + 1})" if mark is not None else ""
            msg = f"{self._where}: the kubeconfig is not YAML{place}"
            raise AccessError(msg) from error
        except (OSError, ValueError) as error:
            msg = f"{self._where}: {error}"
            raise AccessError(msg) from error
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            msg = (
                f"{self._where}: the file does not have the structure of a kubeconfig; compare it with the"
                " output of kubectl config view"
            )
            raise AccessError(msg) from error

    @property
    def _where(self) -> str:
        context = f"context {self.context}" if self.context else ""
        return (
            " ".join(filter(None, (f"kubeconfig {self.path}" if self.path else "", context))) or "kubeconfig"
        )

    def _only_file(self) -> Path | None:
        """The file, or None if kubectl would merge several."""
        if self.path is not None:
            if not self.path.is_file():
                msg = f"kubeconfig {self.path} does not exist"
                raise AccessError(msg)
            return self.path
        named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        if len(named) > 1:
            return None
        path = Path(named[0] if named else "~/.kube/config").expanduser()
        if not path.is_file():
            msg = f"kubeconfig {path} does not exist; name a file that does, or set KUBECONFIG"
            raise AccessError(msg)
        return path

    def _plain(self, path: Path) -> Access | None:
        """None if the package must read the file, also to report what is wrong with it."""
        text = path.read_bytes()
        try:
            config = yaml.safe_load(text)
            return self._plain_context(path, text, config)
        except (TypeError, KeyError, AttributeError):
            return None

    def _plain_context(self, path: Path, text: bytes, config: Any) -> Access | None:  # noqa: ANN401 - whatever YAML holds
        chosen = _named(config["contexts"], self.context or config.get("current-context"))
        names = [str(item["name"]) for item in config["contexts"]]
        if self.context and self.context not in names:
            more = f" and {len(names) - 10} more" if len(names) > 10 else ""
            known = f"{', '.join(names[:10])}{more}" if names else "none"
            msg = f"kubeconfig {path} has no context {self.context}; it has {known}"
            raise AccessError(msg)
        if chosen is None:
            return None
        cluster = _named(config["clusters"], chosen["context"]["cluster"])
        user = _named(config.get("users") or [], chosen["context"].get("user")) or {"user": {}}
        if cluster is None:
            return None
        at, who = cluster["cluster"], user["user"] or {}
        if at.keys() - PLAIN_CLUSTER or who.keys() - PLAIN_USER or not isinstance(at.get("server"), str):
            return None
        return _Reading(path, text, at, who).access()

    def _by_package(self) -> Access:
        try:
            import kubernetes  # noqa: PLC0415 - see the module
        except ImportError as error:
            msg = f"{self._where}: this kind of credentials needs the Kubernetes client: {INSTALL}"
            raise AccessError(msg) from error
        package: Any = kubernetes
        configuration = package.client.Configuration()
        try:
            with _log_of_the_package() as failures:
                package.config.load_kube_config(
                    # The package reads KUBECONFIG only once, when it is imported.
                    config_file=str(self.path) if self.path else os.environ.get("KUBECONFIG") or None,
                    context=self.context,
                    client_configuration=configuration,
                    persist_config=False,
                    temp_file_path=_scratch(),
                )
        except package.config.ConfigException as error:
            msg = f"{self._where}: {error}"
            raise AccessError(msg) from error
        if failures:
            msg = f"{self._where}: getting credentials: {failures[0]}"
            raise AccessError(msg)
        files = [self.path] if self.path else []
        files += [
            Path(name)
            for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
            if name
        ]
        trust = tls_context(
            ca_file=configuration.ssl_ca_cert or None,
            verify=bool(configuration.verify_ssl),
            certificate=configuration.cert_file or None,
            key=configuration.key_file or None,
        )
        authorization = configuration.api_key.get("authorization") or configuration.api_key.get("BearerToken")
        return make_access(
            host=str(configuration.host),
            trust=trust,
            authorization=authorization_header(authorization),
            server_name=configuration.tls_server_name,
            proxy=configuration.proxy,
            seen={path: contents(path) for path in files},
        )


class _Reading:
    """Reads a cluster and a user of a kubeconfig. It remembers the contents of files, so that a later change
    of a file is noticed.
    """

    def __init__(self, path: Path, text: bytes, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> None:
        self._folder, self._cluster, self._user = path.parent, cluster, user
        self._seen = {path: text}

    def access(self) -> Access:
        """Raises OSError, ValueError and TypeError."""
        cluster, user = self._cluster, self._user
        ca = self._content(cluster, "certificate-authority")
        certificate, key = self._content(user, "client-certificate"), self._content(user, "client-key")
        verify = not cluster.get("insecure-skip-tls-verify")
        if certificate is None:
            trust = tls_context(ca_data=ca, verify=verify)
        else:
            # Python can load a client certificate only from a file.
            with tempfile.NamedTemporaryFile(dir=_scratch()) as pair:
                pair.write(certificate + b"\n" + (key or b""))
                pair.flush()
                trust = tls_context(ca_data=ca, verify=verify, certificate=pair.name)
        return make_access(
            host=str(cluster["server"]),
            trust=trust,
            authorization=authorization_header(self._token(user)),
            server_name=cluster.get("tls-server-name"),
            proxy=cluster.get("proxy-url"),
            seen=self._seen,
        )

    def _token(self, user: Mapping[str, Any]) -> str | None:
        token = user.get("token")
        if not token and user.get("tokenFile"):
            token = self._file(user["tokenFile"]).decode()
        return f"Bearer {token}" if token else None

    def _content(self, part: Mapping[str, Any], name: str) -> bytes | None:
        """The content of a field, from inline data or a file. Data has precedence, as in client-go."""
        if data := part.get(f"{name}-data"):
            try:
                return base64.b64decode(data, validate=False)
            except binascii.Error as error:
                msg = f"{name}-data is not base64"
                raise ValueError(msg) from error
        return self._file(part[name]) if part.get(name) else None

    def _file(self, name: str) -> bytes:
        """Reads a file. Relative paths are relative to the kubeconfig's folder."""
        path = Path(os.path.normpath(self._folder / name))
        self._seen[path] = path.read_bytes()
        return self._seen[path]


@contextmanager
def _log_of_the_package() -> Iterator[list[str]]:
    """What the package logs as an error. It goes on without credentials then, and requests of nobody look
    like those of a user who may read nothing.
    """
    failures: list[str] = []
    thread = threading.get_ident()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR and record.thread == thread:
                failures.append(_failure(record.getMessage(), sys.exc_info()[1]))

    root, kept = logging.getLogger(), Kept()
    root.addHandler(kept)
    try:
        yield failures
    finally:
        root.removeHandler(kept)


def _failure(text: str, error: BaseException | None) -> str:
    """Says in kubectl's words that an exec plug-in cannot be started."""
    if isinstance(error, FileNotFoundError):
        return (
            f"exec: executable {error.filename} not found: install the credential plug-in that the kubeconfig"
            " names, or put it on PATH"
        )
    if isinstance(error, OSError):
        return f"exec: executable {error.filename} cannot be started: {error.strerror}"
    return excerpt(text)


def current_context(path: Path | None = None) -> str | None:
    """The name of the current context; None if there is none. Without a path it reads the files that kubectl
    would use, of which the first that names one counts. Raises AccessError.
    """
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    files = [path] if path is not None else [Path(part).expanduser() for part in named or ["~/.kube/config"]]
    for file in files:
        if path is None and not file.is_file():
            continue
        try:
            config = yaml.safe_load(file.read_bytes())
        except (OSError, yaml.YAMLError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not YAML"
            msg = f"kubeconfig {file} cannot be read: {reason}"
            raise AccessError(msg) from error
        found = config.get("current-context") if isinstance(config, dict) else None
        if isinstance(found, str) and found:
            return found
    return None


def _named(items: list[dict[str, Any]], name: str | None) -> dict[str, Any] | None:
    """The item with this name. None if there is none, or more than one."""
    found = [item for item in items if item["name"] == name]
    return found[0] if len(found) == 1 else None


def _scratch() -> str | None:
    """The folder for temporary files with certificates."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return SHARED_MEMORY
