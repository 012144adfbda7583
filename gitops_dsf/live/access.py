"""How a program reaches a hub: a kubeconfig context, or the pod's own account; read by the Kubernetes client, anew on demand."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitops_dsf.errors import HubError
from gitops_dsf.live.kubeconfig import reading


@dataclass(frozen=True, kw_only=True)
class Access:
    """What it takes to call an API server."""

    host: str
    trust: ssl.SSLContext
    authorization: str | None = field(repr=False)
    proxy: str | None


def load_access(*, context: str | None, kubeconfig: Path | None) -> Access:
    """Credentials as they are now. With neither context nor kubeconfig: the pod's own account. Raises HubError."""
    try:
        from kubernetes import client, config  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        msg = "a hub needs the Kubernetes client: pip install 'gitops-dsf[live]'"
        raise HubError(msg) from error
    configuration: Any = client.Configuration()
    own: Callable[..., None] = config.load_incluster_config
    named: Callable[..., None] = config.load_kube_config
    inside = context is None and kubeconfig is None
    where = "the pod's own account (outside a pod: --context NAME)" if inside else f"kubeconfig {kubeconfig or ''} {context or ''}".strip()
    with reading(where, config.ConfigException):
        if inside:
            own(client_configuration=configuration, try_refresh_token=False)
        else:
            named(
                config_file=str(kubeconfig) if kubeconfig else None,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
        return _access(configuration)


def _access(configuration: Any) -> Access:  # noqa: ANN401 - the package's type is untyped
    trust = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    # RFC 5280 strictness refuses CAs without key usage, which kubeadm-style clusters have; Go's client does not ask for it.
    trust.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if not configuration.verify_ssl:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        trust.load_cert_chain(configuration.cert_file, configuration.key_file or None)
    scheme, _, token = (
        str(configuration.api_key.get("authorization") or configuration.api_key.get("BearerToken") or "").strip().partition(" ")
    )
    return Access(
        host=str(configuration.host).rstrip("/"),
        trust=trust,
        authorization=f"{scheme.capitalize()} {token.strip()}" if token else None,
        proxy=configuration.proxy or None,
    )
