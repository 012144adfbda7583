"""Credentials and the hosts to which a scorer sends them, for the rules and for `diff`.

Secrets are named only: nothing here reads one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.globs import matches
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.metric_source import MetricSourceVariant
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.model.scorer import Auth, OAuth2
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.urls.hosts import may_get_credentials
from gitops_dsf.urls.parts import host_of

RESERVED_SECRETS: Final = (
    "*-hub-kubeconfig",
    "hub-kubeconfig*",
    "bootstrap-hub-kubeconfig*",
    "*-client-cert",
    f"{ADDON_NAME}*",
    "open-cluster-management-*",
)
"""Globs of Secrets that OCM's add-on machinery creates in the agent's namespace.

They hold kubeconfigs and certificates for the hub, and image pull secrets
(docs/contributing/behaviour.md#secrets-of-an-add-on), so no scorer may send them.
"""


class Kind(StrEnum):
    """The kind of a credential. The value is the word in messages."""

    TOKEN = "token"  # noqa: S105 - a word
    PASSWORD = "password"  # noqa: S105 - a word
    HEADER = "header"
    CERTIFICATE = "client certificate"
    CLIENT_SECRET = "client secret"  # noqa: S105 - a word
    ACCESS_TOKEN = "access token"  # noqa: S105 - a word

    @property
    def is_received(self) -> bool:
        """Whether the host that gets it could use it somewhere else.

        The private key of a certificate stays with the agent.
        """
        return self is not Kind.CERTIFICATE


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    """One credential that an endpoint needs, and where it is named."""

    kind: Kind
    secret: str
    """Name of the Secret; empty for the service account token of the agent's pod."""
    path: FieldPath
    """FieldPath of the reference below the endpoint's section."""
    url: str = ""
    """The URL that it is sent to, if that is not the endpoint."""
    grant: str = ""
    """The grant of an access token: two with the same grant are equal."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Sent:
    """One credential and the host that receives it."""

    section: str
    """`source` or `scoring`, or `configURL` for what the reconciler sends to the pages there."""
    secret: str
    """Name of the Secret; empty for the service account token of the agent's pod."""
    scheme: str
    host: str
    kind: Kind = Kind.TOKEN

    @property
    def what(self) -> str:
        return in_words(self.kind, self.secret)

    def __str__(self) -> str:
        return f"{self.what} to {self.scheme}://{self.host}"


def in_words(kind: Kind, secret: str | None) -> str:
    """A credential of a Secret; the token of the agent's pod without a name."""
    noun = "an access token of the client" if kind is Kind.ACCESS_TOKEN else f"the {kind}"
    return f"{noun} in Secret {secret}" if secret else "the token of the agent's pod"


def credentials(
    auth: Auth | None, variant: MetricSourceVariant | None = None
) -> Iterator[Credential]:
    """The credentials of an endpoint. `variant` has those that only a MetricSource can have."""
    if auth is not None:
        yield from _of_auth(auth)
    if variant is None:
        return
    if variant.basic_auth is not None:
        yield Credential(
            kind=Kind.PASSWORD,
            secret=variant.basic_auth.secret_ref.name,
            path=("basicAuth", "secretRef"),
        )
    for index, header in enumerate(variant.headers):
        if header.secret_ref is not None:
            path: FieldPath = ("headers", index, "secretRef")
            yield Credential(kind=Kind.HEADER, secret=header.secret_ref.name, path=path)


def sent(section: str, url: str, endpoint: Iterable[Credential]) -> Iterator[Sent]:
    """The hosts of credentials with requests to a base URL; empty if a URL cannot be parsed."""
    for credential in endpoint:
        recipient = destination(credential, section, url)
        if recipient is not None:
            yield recipient


class Recipient(NamedTuple):
    """A host to which the reconciler sends a Secret."""

    sent: Sent
    is_permitted: bool
    """Whether the host may get credentials."""


def sent_by_hub(scorer: EffectiveScorer, settings: FleetRepositorySpec) -> tuple[Recipient, ...]:
    """The hosts to which the reconciler sends Secrets of scoring.auth, for /config and /healthz.

    The reconciler sends nothing unless all of them may get credentials.
    """
    # A scorer by query has no page.
    if not settings.reconciler.enabled or scorer.spec.scored_by_query:
        return ()
    own_host = host_of(scorer.scoring_origin)
    recipients = []
    for credential in credentials(scorer.spec.scoring.auth):
        # Only these are mounted into the reconciler's pod. The others are Secrets on the spokes.
        if credential.secret not in settings.reconciler.config_credentials:
            continue
        recipient = destination(credential, "configURL", scorer.spec.config_url)
        if recipient is not None:
            # The token server is written beside the client. The host of configURL may be any other.
            is_own = bool(credential.url) or recipient.host == own_host
            allowed = settings.allowed_token_hosts
            may = may_get_credentials(recipient.host, allowed=allowed, own=is_own)
            recipients.append(Recipient(recipient, is_permitted=may))
    return tuple(recipients)


def destination(credential: Credential, section: str, url: str) -> Sent | None:
    """The destination of a credential of an endpoint with this URL; None if it cannot be parsed."""
    target = credential.url or url
    host = host_of(target)
    # A rule reports such a URL. Here it must not hide the other credentials.
    if not host:
        return None
    return Sent(
        section=section,
        secret=credential.secret,
        scheme=urlsplit(target).scheme,
        host=host,
        kind=credential.kind,
    )


def is_reserved(secret: str) -> bool:
    """Whether a Secret belongs to OCM's add-on machinery."""
    return any(matches(secret, pattern) for pattern in RESERVED_SECRETS)


def _of_auth(auth: Auth) -> Iterator[Credential]:
    # Both would be one header of one request, so the model refuses a second token.
    if auth.token_secret_ref is not None:
        path: FieldPath = ("auth", "tokenSecretRef")
        yield Credential(kind=Kind.TOKEN, secret=auth.token_secret_ref.name, path=path)
    elif auth.service_account_token:
        yield Credential(kind=Kind.TOKEN, secret="", path=("auth", "serviceAccountToken"))
    if auth.oauth2 is not None:
        yield from _of_client(auth.oauth2)
    if auth.client_certificate_secret_ref is not None:
        secret = auth.client_certificate_secret_ref.name
        path = ("auth", "clientCertificateSecretRef")
        yield Credential(kind=Kind.CERTIFICATE, secret=secret, path=path)


def _of_client(oauth2: OAuth2) -> Iterator[Credential]:
    """The secret of an OAuth2 client, for the token server, and the token that this gives."""
    secret = oauth2.client_secret_ref.name
    path: FieldPath = ("auth", "oauth2", "clientSecretRef")
    yield Credential(kind=Kind.CLIENT_SECRET, secret=secret, path=path, url=oauth2.token_url)
    # The order of scopes has no meaning (RFC 6749, section 3.3), so they are sorted.
    grant = f"{oauth2.token_url} {' '.join(sorted(oauth2.scopes))} {oauth2.audience}"
    yield Credential(kind=Kind.ACCESS_TOKEN, secret=secret, path=path, grant=grant)
