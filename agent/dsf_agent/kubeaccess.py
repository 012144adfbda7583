"""How to reach a Kubernetes API server: a kubeconfig file or the pod's own account, read by the kubernetes package.

The only module that imports it, and only when an API server is used: the import alone costs 20 MB.
"""

import hashlib
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from dsf_agent.errors import PublishError
from dsf_agent.reasons import Reason

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - the one writable place of a container with a read-only root and no /tmp volume


@dataclass(frozen=True, kw_only=True)
class Access:
    """What it takes to call an API server. ``files`` are what it was read from, ``fingerprint`` a digest of their contents."""

    host: str
    trust: ssl.SSLContext
    authorization: str | None = field(repr=False)
    server_name: str | None
    proxy: str | None
    files: tuple[Path, ...]
    fingerprint: str

    @property
    def token(self) -> str | None:
        """What messages must not hold."""
        return self.authorization.partition(" ")[2] if self.authorization is not None else None


class AccessLoader(Protocol):
    """Reads credentials anew. Blocking; raises PublishError with BAD_CREDENTIALS."""

    def load(self) -> Access: ...


@dataclass(frozen=True, kw_only=True)
class KubeconfigFile:
    """A kubeconfig file, its current context."""

    path: Path

    def load(self) -> Access:
        package, configuration = _package()
        if not self.path.is_file():
            raise _unusable(f"kubeconfig {self.path} is not there")
        try:
            package.config.load_kube_config(
                config_file=str(self.path), client_configuration=configuration, persist_config=False, temp_file_path=_scratch()
            )
            return _access(configuration, extra=[self.path])
        except (package.config.ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise _unusable(f"kubeconfig {self.path}: {error}") from error
        except Exception as error:
            # yaml.YAMLError has no common base with the others that a damaged file raises.
            raise _unusable(f"kubeconfig {self.path} cannot be read: {type(error).__name__}") from error


@dataclass(frozen=True, kw_only=True)
class InCluster:
    """The pod's own ServiceAccount."""

    token_file: Path

    def load(self) -> Access:
        package, configuration = _package()
        module = package.config.incluster_config
        try:
            loader = module.InClusterConfigLoader(
                token_filename=str(self.token_file), cert_filename=module.SERVICE_CERT_FILENAME, try_refresh_token=False
            )
            loader.load_and_set(configuration)
            return _access(configuration, extra=[self.token_file])
        except (package.config.ConfigException, OSError, ValueError) as error:
            raise _unusable(f"in-cluster credentials: {error}") from error


def _package() -> tuple[Any, Any]:
    """The kubernetes package, which has no types where it matters here, and an empty configuration."""
    import kubernetes  # noqa: PLC0415

    package: Any = kubernetes
    return package, package.client.Configuration()


def fingerprint(files: tuple[Path, ...]) -> str:
    """A digest of what the files hold now; a missing file is a state of its own."""
    digest = hashlib.sha256()
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            content = f"{type(error).__name__}".encode()
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.hexdigest()


def _access(configuration: Any, *, extra: list[Path]) -> Access:  # noqa: ANN401 - the package's type is untyped
    files = list(extra)
    trust = _trust(configuration, files)
    authorization = configuration.api_key.get("BearerToken")
    proxy = configuration.proxy
    return Access(
        host=str(configuration.host).rstrip("/"),
        trust=trust,
        authorization=_bearer(authorization),
        server_name=configuration.tls_server_name or None,
        proxy=str(proxy) if proxy else None,
        files=tuple(files),
        fingerprint=fingerprint(tuple(files)),
    )


def _trust(configuration: Any, files: list[Path]) -> ssl.SSLContext:  # noqa: ANN401
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    if configuration.ssl_ca_cert:
        files.append(Path(configuration.ssl_ca_cert))
    # RFC 5280 strictness refuses CAs without key usage, which kubeadm-style clusters have; Go's client does not ask for it.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file or None)
        files.extend(Path(name) for name in (configuration.cert_file, configuration.key_file) if name)
    return context


def _bearer(value: str | None) -> str | None:
    """The header of a token: the package spells the scheme in either case and keeps a file's final newline. Raises ValueError."""
    if not value:
        return None
    scheme, _, token = value.strip().partition(" ")
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        msg = "its token holds a line break or another character that no HTTP header can carry"
        raise ValueError(msg)
    return f"{scheme.capitalize()} {token}"


def _scratch() -> str | None:
    """Where inline certificates go, since Python's TLS reads them from files only."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:
        return SHARED_MEMORY


def _unusable(text: str) -> PublishError:
    return PublishError(text, reason=Reason.BAD_CREDENTIALS)


def environment_has_pod(environ: Mapping[str, str]) -> bool:
    """Whether the process runs in a pod."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST"))
