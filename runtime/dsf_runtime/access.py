"""How to reach a Kubernetes API server: by a kubeconfig, or by the pod's own account.

Tokens and certificates that stand in a kubeconfig, or in files that it names, are read here: that is what OCM
gives an agent. Exec plug-ins, auth providers and everything else are left to the kubernetes package. It is
imported only then, because it costs 126 MB of disk, 20 MB of memory and 0.2 s of CPU. No message repeats what
a kubeconfig holds: it may be a token.
"""

import base64
import binascii
import hashlib
import os
import ssl
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the one writable place of a container with a read-only root and no /tmp volume
ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
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
"""Fields of a kubeconfig (client-go's api/v1 types) that are read here. A kubeconfig with any other is the
package's.
"""
INSTALL: Final = "pip install 'gitops-dsf-runtime[plugins]'"


class AccessError(Exception):
    """Credentials cannot be read or used; the message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """What it takes to call an API server. ``files`` are what it was read from, ``fingerprint`` a digest of
    their contents.
    """

    host: str
    trust: ssl.SSLContext
    authorization: str | None = field(default=None, repr=False)
    server_name: str | None = None
    """What the certificate must be made for; None: the host of the URL."""
    proxy: str | None = None
    files: tuple[Path, ...] = ()
    fingerprint: str = ""

    @property
    def token(self) -> str | None:
        """What messages must not hold."""
        return self.authorization.partition(" ")[2] if self.authorization is not None else None


@dataclass(frozen=True, kw_only=True)
class Kubeconfig:
    """A kubeconfig file and one of its contexts; without a path the one that kubectl takes, without a context
    the current one.
    """

    path: Path | None = None
    context: str | None = None

    def load(self) -> Access:
        """Credentials as they are now. Blocking. Raises AccessError."""
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
        except (TypeError, KeyError, AttributeError) as error:
            msg = (
                f"{self._where}: the kubeconfig has another shape than kubectl's; kubectl config view shows"
                " what it should hold"
            )
            raise AccessError(msg) from error

    @property
    def _where(self) -> str:
        context = f"context {self.context}" if self.context else ""
        return (
            " ".join(filter(None, (f"kubeconfig {self.path}" if self.path else "", context))) or "kubeconfig"
        )

    def _only_file(self) -> Path | None:
        """The file, or None where kubectl would merge several."""
        if self.path is not None:
            if not self.path.is_file():
                msg = f"kubeconfig {self.path} is not there"
                raise AccessError(msg)
            return self.path
        named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
        path = Path(named[0] if named else "~/.kube/config").expanduser()
        return path if len(named) <= 1 and path.is_file() else None

    def _plain(self, path: Path) -> Access | None:
        """None when the package must read it, also to say what is wrong."""
        text = path.read_bytes()
        try:
            config = yaml.safe_load(text)
            return self._plain_context(path, text, config)
        except (TypeError, KeyError, AttributeError):
            return None

    def _plain_context(self, path: Path, text: bytes, config: Any) -> Access | None:  # noqa: ANN401 - whatever YAML holds
        chosen = _named(config["contexts"], self.context or config.get("current-context"))
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
            import kubernetes  # noqa: PLC0415 - see above
        except ImportError as error:
            msg = f"{self._where}: this kind of credentials needs the Kubernetes client: {INSTALL}"
            raise AccessError(msg) from error
        package: Any = kubernetes
        configuration = package.client.Configuration()
        try:
            package.config.load_kube_config(
                # The package itself looks at the environment only once, when it is imported.
                config_file=str(self.path) if self.path else os.environ.get("KUBECONFIG") or None,
                context=self.context,
                client_configuration=configuration,
                persist_config=False,
                temp_file_path=_scratch(),
            )
        except package.config.ConfigException as error:
            msg = f"{self._where}: {error}"
            raise AccessError(msg) from error
        files = [self.path] if self.path else []
        files += [
            Path(name)
            for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
            if name
        ]
        trust = _trust(
            ca_file=configuration.ssl_ca_cert or None,
            verify=bool(configuration.verify_ssl),
            certificate=configuration.cert_file or None,
            key=configuration.key_file or None,
        )
        authorization = configuration.api_key.get("authorization") or configuration.api_key.get("BearerToken")
        return _access(
            host=str(configuration.host),
            trust=trust,
            authorization=_header(authorization),
            server_name=configuration.tls_server_name,
            proxy=configuration.proxy,
            seen={path: _contents(path) for path in files},
        )


@dataclass(frozen=True, kw_only=True)
class InCluster:
    """The pod's own ServiceAccount."""

    folder: Path = ACCOUNT
    token_file: Path | None = None
    """None: the one in the folder."""

    def load(self) -> Access:
        """Credentials as they are now. Blocking. Raises AccessError."""
        host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            msg = (
                "the pod's own account: this process runs in no pod (outside a pod: name a kubeconfig or a"
                " context)"
            )
            raise AccessError(msg)
        token_file, ca_file = self.token_file or self.folder / "token", self.folder / "ca.crt"
        try:
            seen = {path: path.read_bytes() for path in (token_file, ca_file)}
            token = seen[token_file].decode().strip()
            if not token:
                msg = f"{token_file} is empty"
                raise AccessError(msg)
            return _access(
                host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
                trust=_trust(ca_data=seen[ca_file]),
                authorization=_header(f"Bearer {token}"),
                seen=seen,
            )
        except (OSError, ValueError) as error:
            msg = f"the pod's own account: {error}"
            raise AccessError(msg) from error


def runs_in_pod(environ: Mapping[str, str]) -> bool:
    """Whether the process has a pod's own account."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST"))


def fingerprint(files: tuple[Path, ...]) -> str:
    """A digest of what the files hold now; a missing file is a state of its own."""
    return _digest(map(_contents, files))


def _contents(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _digest(contents: Iterable[bytes | None]) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(b"-" if content is None else len(content).to_bytes(8, "big"))
        digest.update(content or b"")
    return digest.hexdigest()


class _Reading:
    """A cluster and a user of a kubeconfig. What is read is remembered: a file that is replaced meanwhile
    must be read again.
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
            trust = _trust(ca_data=ca, verify=verify)
        else:
            # Python's TLS reads certificates of its own from files only.
            with tempfile.NamedTemporaryFile(dir=_scratch()) as pair:
                pair.write(certificate + b"\n" + (key or b""))
                pair.flush()
                trust = _trust(ca_data=ca, verify=verify, certificate=pair.name)
        return _access(
            host=str(cluster["server"]),
            trust=trust,
            authorization=_header(self._token(user)),
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
        """Of a field with inline data or a file; data counts first, as in client-go."""
        if data := part.get(f"{name}-data"):
            try:
                return base64.b64decode(data, validate=False)
            except binascii.Error as error:
                msg = f"{name}-data is not base64"
                raise ValueError(msg) from error
        return self._file(part[name]) if part.get(name) else None

    def _file(self, name: str) -> bytes:
        """Relative paths begin at the kubeconfig's folder."""
        path = Path(os.path.normpath(self._folder / name))
        self._seen[path] = path.read_bytes()
        return self._seen[path]


def _named(items: list[dict[str, Any]], name: str | None) -> dict[str, Any] | None:
    """The only one of this name; None when there is none, or several."""
    found = [item for item in items if item["name"] == name]
    return found[0] if len(found) == 1 else None


def _access(
    *,
    host: str,
    trust: ssl.SSLContext,
    authorization: str | None,
    seen: Mapping[Path, bytes | None],
    server_name: str | None = None,
    proxy: str | None = None,
) -> Access:
    return Access(
        host=host.rstrip("/"),
        trust=trust,
        authorization=authorization,
        server_name=server_name or None,
        proxy=proxy or _proxy_of_environment(host),
        files=tuple(seen),
        fingerprint=_digest(seen.values()),
    )


def _proxy_of_environment(host: str) -> str | None:
    """HTTPS_PROXY and the like, unless NO_PROXY names the host."""
    parts = urlsplit(host)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy and not urllib.request.proxy_bypass(parts.netloc) else None


def _trust(
    *,
    ca_file: str | None = None,
    ca_data: bytes | None = None,
    verify: bool = True,
    certificate: str | None = None,
    key: str | None = None,
) -> ssl.SSLContext:
    if ca_data is None:
        context = ssl.create_default_context(cafile=ca_file)
    else:
        context = ssl.create_default_context(
            cadata=ca_data.decode("utf-8", "replace").encode("ascii", "replace").decode()
        )
    # RFC 5280 strictness refuses CAs without key usage, which kubeadm-style clusters have; Go's client does
    # not ask for it.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def _header(value: str | None) -> str | None:
    """The header of a token: the package spells the scheme in either case, and files end with a newline.
    Raises ValueError.
    """
    if not value:
        return None
    scheme, _, token = value.strip().partition(" ")
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        msg = "its token holds a line break or another character that no HTTP header can carry"
        raise ValueError(msg)
    return f"{scheme.capitalize()} {token}" if token else None


def _scratch() -> str | None:
    """Where certificates go for a moment."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return SHARED_MEMORY
