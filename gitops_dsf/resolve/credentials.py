"""Which credentials a scorer sends to which host, for the rules and for `diff`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.glob import matches
from gitops_dsf.repository.model.scorer import Auth

RESERVED_SECRETS: Final = (
    "*-hub-kubeconfig",
    "hub-kubeconfig*",
    "bootstrap-hub-kubeconfig*",
    "*-client-cert",
    f"{ADDON_NAME}*",
    "open-cluster-management-*",
)
"""Globs of Secrets that OCM's add-on machinery creates in the agent's namespace: kubeconfigs and certificates
for the hub, and image pull secrets (docs/contributing/ocm-behaviour.md#secrets-of-an-add-on). They must not
be used as tokens for metric sources.
"""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Sent:
    """One credential and the host that receives it."""

    section: str
    """`source` or `scoring`."""
    secret: str
    """Name of the Secret; empty for the service account token of the agent's pod."""
    scheme: str
    host: str

    def __str__(self) -> str:
        what = f"the token in Secret {self.secret}" if self.secret else "the token of the agent's pod"
        return f"{what} to {self.scheme}://{self.host}"


def sent(section: str, url: str, auth: Auth | None) -> Iterator[Sent]:
    """The credentials that a scorer sends to a base URL; none if the URL cannot be parsed."""
    if auth is None or (auth.token_secret_ref is None and not auth.service_account_token):
        return
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    if parts.hostname:
        secret = auth.token_secret_ref.name if auth.token_secret_ref is not None else ""
        yield Sent(section=section, secret=secret, scheme=parts.scheme.lower(), host=parts.hostname.lower())


def is_reserved(secret: str) -> bool:
    """Whether a Secret belongs to OCM's add-on machinery."""
    return any(matches(secret, pattern) for pattern in RESERVED_SECRETS)
