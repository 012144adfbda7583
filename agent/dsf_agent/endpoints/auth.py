"""Authentication of one endpoint of a scorer: credentials, a CA, a client certificate.

Pure.
"""

from dataclasses import dataclass, replace

from dsf_wire import summary
from dsf_wire.summary import ClientCertificate, ConfigMapRef, OAuth2, ScorerSummary


@dataclass(frozen=True, kw_only=True)
class RequestAuth:
    """The authentication of one endpoint. All parts are optional."""

    secret_name: str = ""
    """Secret with a bearer token."""
    secret_key: str = ""
    service_account_token: bool = False
    """Whether the pod's own token is sent."""
    oauth2: OAuth2 | None = None
    ca: ConfigMapRef | None = None
    basic: summary.BasicAuth | None = None
    headers: tuple[summary.Header, ...] = ()
    certificate: ClientCertificate | None = None

    @property
    def objects(self) -> frozenset[tuple[str, str]]:
        """The kind and name of each object that is read for it."""
        secrets: set[str] = set()
        config_maps: set[str] = set()
        if self.secret_name:
            secrets.add(self.secret_name)
        for header in self.headers:
            if header.secret_ref is not None:
                secrets.add(header.secret_ref.name)
        if self.basic is not None:
            secrets.add(self.basic.name)
        if self.certificate is not None:
            secrets.add(self.certificate.name)
        if self.ca is not None:
            config_maps.add(self.ca.name)
        if self.oauth2 is not None:
            secrets.add(self.oauth2.client_secret_ref.name)
            if self.oauth2.ca_config_map_ref is not None:
                config_maps.add(self.oauth2.ca_config_map_ref.name)
        places = {("Secret", name) for name in secrets if name}
        return frozenset(places | {("ConfigMap", name) for name in config_maps})


def source_auth(scorer: ScorerSummary) -> RequestAuth:
    """The authentication for the metric source of a scorer."""
    auth = _auth(
        scorer.source_endpoint_auth_name,
        scorer.source_endpoint_auth_key,
        scorer.source_auth,
        scorer.source_client_certificate,
    )
    return replace(auth, basic=scorer.source_basic_auth, headers=scorer.source_headers or ())


def scoring_auth(scorer: ScorerSummary) -> RequestAuth:
    """The authentication for the scoring API of a scorer."""
    return _auth(
        scorer.scoring_endpoint_auth_name,
        scorer.scoring_endpoint_auth_key,
        scorer.scoring_auth,
        scorer.scoring_client_certificate,
    )


def _auth(
    name: str, key: str, extra: summary.EndpointAuth | None, certificate: ClientCertificate | None
) -> RequestAuth:
    if key == summary.NEEDS_NEWER_AGENT:
        # Older agents look for this key, which no Secret has, and send nothing. This one knows the
        # newer fields, which say what is sent.
        name = ""
        key = ""
    extra = extra or summary.EndpointAuth()
    return RequestAuth(
        secret_name=name,
        secret_key=key,
        service_account_token=extra.service_account_token,
        oauth2=extra.oauth2,
        ca=extra.ca_config_map_ref,
        certificate=certificate,
    )
