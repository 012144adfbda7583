"""Address and credentials of an API server.

They are those of the pod's ServiceAccount, or of the kubeconfig that OCM writes for an agent
(gitops_dsf.hubreader.kubeconfig reads others).

Guaranteed: messages never contain values of a kubeconfig. Not guaranteed: that the server accepts
the credentials, or that every kubeconfig can be read here; those of people may run programs, and
these do not.
"""

import base64
import hashlib
import os
import ssl
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from dsf_wire.proxies import Proxies, checked_proxy
from dsf_wire.secrettext import SecretFault, header_secret
from dsf_wire.weburl import is_web_url

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the one writable place of a container with a read-only root and no /tmp volume
READABLE: Final = frozenset(
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
"""Fields of a user (client-go's api/v1 types) that are read here."""


class AccessError(Exception):
    """Credentials cannot be read or used. The message says which and why."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """The address of an API server, and the credentials for it.

    It is read from ``files``; ``fingerprint`` is a digest of their contents.
    """

    host: str
    trust: ssl.SSLContext
    authorization: str | None = field(default=None, repr=False)
    server_name: str | None = None
    """The name that the certificate must have. None means the host of the URL."""
    proxy: str | None = None
    files: tuple[Path, ...] = ()
    fingerprint: str = ""

    @property
    def token(self) -> str | None:
        """The bearer token, which messages must not contain."""
        return self.authorization.partition(" ")[2] if self.authorization is not None else None


@dataclass(frozen=True, kw_only=True)
class InCluster:
    """The pod's ServiceAccount."""

    folder: Path = ACCOUNT
    token_file: Path | None = None
    """None means the file ``token`` in the folder."""

    def load(self) -> Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        # The kubelet sets both in every pod, as client-go's InClusterConfig expects.
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        port = os.environ.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            raise AccessError(
                "the pod's own account: this process does not run in a pod (outside a pod, name a"
                " kubeconfig or a context)"
            )
        token_file = self.token_file or self.folder / "token"
        ca_file = self.folder / "ca.crt"
        try:
            seen = {path: path.read_bytes() for path in (token_file, ca_file)}
            token = _secret(seen[token_file], where=str(token_file))
            return make_access(
                host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
                trust=tls_context(ca_data=seen[ca_file]),
                authorization=authorization_header(f"Bearer {token}"),
                seen=seen,
            )
        except (OSError, ValueError) as error:
            raise AccessError(f"the pod's own account: {error}") from error


def runs_in_pod(environ: Mapping[str, str]) -> bool:
    """Whether the process runs in a pod and so has a ServiceAccount."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST"))


def fingerprint(files: tuple[Path, ...]) -> str:
    """A digest of the files as they are now. A missing file differs from an empty one."""
    return _digest(map(contents, files))


def contents(path: Path) -> bytes | None:
    """The bytes of a file, or None if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _digest(files: Iterable[bytes | None]) -> str:
    digest = hashlib.sha256()
    for content in files:
        # The length keeps the files apart: a byte that moves from one to the next changes it.
        digest.update(b"-" if content is None else len(content).to_bytes(8, "big"))
        digest.update(content or b"")
    return digest.hexdigest()


def make_access(
    *,
    host: str,
    trust: ssl.SSLContext,
    authorization: str | None,
    seen: Mapping[Path, bytes | None],
    server_name: str | None = None,
    proxy: str | None = None,
) -> Access:
    """``seen`` holds the files that were read, with their contents.

    Raises ValueError for the host.
    """
    if not is_web_url(host):
        raise ValueError("its server is not an http or https URL with a valid port")
    return Access(
        host=host.rstrip("/"),
        trust=trust,
        authorization=authorization,
        server_name=server_name or None,
        proxy=checked_proxy(proxy, where="proxy-url")
        if proxy
        else Proxies.of(os.environ).proxy_for(host),
        files=tuple(seen),
        fingerprint=_digest(seen.values()),
    )


def tls_context(
    *,
    ca_file: str | None = None,
    ca_data: bytes | None = None,
    verify: bool = True,
    certificate: str | None = None,
    key: str | None = None,
) -> ssl.SSLContext:
    """A TLS context for these CAs and this client certificate."""
    if ca_data is None:
        context = ssl.create_default_context(cafile=ca_file)
    else:
        context = ssl.create_default_context(
            cadata=ca_data.decode("utf-8", "replace").encode("ascii", "replace").decode()
        )
    # Strict RFC 5280 checks reject CAs without key usage, as kubeadm creates them. Go's client does
    # not reject them.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def authorization_header(value: str | None) -> str | None:
    """The Authorization header; a file may end with a newline, and a scheme be lower case.

    ValueError.
    """
    if not value:
        return None
    scheme, _, token = value.strip().partition(" ")
    return f"{scheme.capitalize()} {_secret(token, where='its token')}" if token.strip() else None


def _secret(raw: bytes | str, *, where: str) -> str:
    """Raises ValueError, whose message does not contain the secret."""
    try:
        return header_secret(raw)
    except SecretFault as fault:
        raise ValueError(f"{where} {fault}") from None


@dataclass(frozen=True, kw_only=True)
class KubeconfigFile:
    """A kubeconfig; its current context has a token or client certificate, inline or in files."""

    path: Path

    def load(self) -> Access:
        """Reads the credentials as they are now. Blocking. Raises AccessError."""
        seen = dict[Path, bytes | None]()
        try:
            seen[self.path] = text = self.path.read_bytes()
            return _access(yaml.safe_load(text), folder=self.path.parent, seen=seen)
        except yaml.YAMLError as error:
            raise AccessError(f"kubeconfig {self.path} is not YAML") from error
        except (OSError, ValueError) as error:
            raise AccessError(f"kubeconfig {self.path}: {error}") from error
        except (TypeError, KeyError, AttributeError, StopIteration, RecursionError) as error:
            raise AccessError(
                f"kubeconfig {self.path}: the file does not have the structure of a kubeconfig;"
                " compare it with the output of kubectl config view"
            ) from error


def _access(config: Any, *, folder: Path, seen: dict[Path, bytes | None]) -> Access:  # noqa: ANN401 - whatever YAML holds
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = (_named(config["users"], context["user"])["user"] or {}) if context.get("user") else {}
    if foreign := sorted(user.keys() - READABLE):
        raise ValueError(
            f"its user has {foreign[0]}; an agent reads tokens and client certificates"
        )

    def file(name: str) -> bytes:
        # Relative paths count from the folder of the kubeconfig, as in client-go.
        path = Path(os.path.normpath(folder / name))
        seen[path] = content = path.read_bytes()
        return content

    def content(part: Mapping[str, Any], name: str) -> bytes | None:
        """Inline data or a file. Data has precedence, as in client-go."""
        if data := part.get(f"{name}-data"):
            return base64.b64decode(data)
        return file(part[name]) if part.get(name) else None

    token = user.get("token")
    if not token and user.get("tokenFile"):
        token = _secret(file(user["tokenFile"]), where=f"tokenFile {user['tokenFile']}")
    ca = content(cluster, "certificate-authority")
    verify = not cluster.get("insecure-skip-tls-verify")
    certificate = content(user, "client-certificate")
    key = content(user, "client-key")
    if certificate is None:
        trust = tls_context(ca_data=ca, verify=verify)
    else:
        # Python can load a client certificate only from a file.
        with tempfile.NamedTemporaryFile(dir=scratch()) as pair:
            pair.write(certificate + b"\n" + (key or b""))
            pair.flush()
            trust = tls_context(ca_data=ca, verify=verify, certificate=pair.name)
    return make_access(
        host=str(cluster["server"]),
        trust=trust,
        authorization=authorization_header(f"Bearer {token}" if token else None),
        server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
        seen=seen,
    )


def _named(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in items if entry["name"] == name)


def scratch() -> str | None:
    """The folder for temporary files with certificates."""
    try:
        return tempfile.gettempdir()
    # Raised where no folder is writable, as in a container with a read-only root.
    except FileNotFoundError:
        return SHARED_MEMORY
