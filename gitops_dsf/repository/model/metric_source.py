"""MetricSource: a metric source that scorers name, with one variant for each group of clusters."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsName,
    FieldError,
    LabelSelector,
    Metadata,
)
from gitops_dsf.repository.model.field_rules import FieldRule, Ruled, exactly_one, given, having
from gitops_dsf.repository.model.scorer import (
    TOKEN_OF_POD,
    Auth,
    DataKey,
    KeyRef,
    OnPartial,
    UrlParameters,
    sends_token,
)

# A CA or a client certificate may stand beside a password: they are not in the header.
_SENDS_TOKEN = {"anyOf": [given("tokenSecretRef"), TOKEN_OF_POD, given("oauth2")], "type": "object"}
MAX_VARIANTS = 50
MAX_HEADERS = 20


class BasicAuthSecret(Authored):
    """A Secret in the agent's namespace on the spoke, such as a kubernetes.io/basic-auth."""

    name: DnsName
    """Name of the Secret."""
    username_key: DataKey = "username"
    """Key of the user name."""
    password_key: DataKey = "password"  # noqa: S105 - the name of a key
    """Key of the password."""


class BasicAuth(Authored):
    """A user name and a password."""

    secret_ref: BasicAuthSecret
    """The Secret that holds them."""


class Header(Ruled):
    """A header of every request: a plain value, or a value of a Secret."""

    rules = (
        exactly_one(
            "value", "secret_ref", "a header has a value or a secretRef: write exactly one of them"
        ),
    )

    name: Annotated[str, Field(min_length=1, max_length=256)]
    """Name of the header, such as X-Scope-OrgID."""
    value: Annotated[str, Field(max_length=4096)] | None = None
    """Its value. Everybody who can read the repository can read it."""
    secret_ref: KeyRef | None = None
    """Secret on the spoke whose key holds the value."""


class MetricSourceVariant(Ruled):
    """How a group of clusters reaches the metric source."""

    rules = (
        FieldRule(
            message="auth sends a token and basicAuth a password in the same header; keep one",
            holds=lambda variant: variant.basic_auth is None or not sends_token(variant.auth),
            path=("basicAuth",),
            cel=(
                "!(has(self.basicAuth) && has(self.auth) && (has(self.auth.tokenSecretRef) ||"
                " self.auth.serviceAccountToken || has(self.auth.oauth2)))"
            ),
            json={"not": {"allOf": [given("basicAuth"), having("auth", _SENDS_TOKEN)]}},
        ),
    )

    cluster_selector: LabelSelector | None = None
    """Clusters that use this variant, by their labels in the inventory. Without it, every cluster
    that no earlier variant selects.
    """
    type: Literal["Prometheus", "Kubernetes", "OpenTelemetry"] = "Prometheus"
    """Prometheus and what speaks its HTTP API; Kubernetes for measures of the cluster's nodes,
    pods and devices; or OpenTelemetry for the receiver beside the agent, which collectors of the
    cluster push to.
    """
    host: str = ""
    """URL of the metric source as these clusters see it: the base URL, or that of its query API."""
    path: str = ""
    """Path of the query API, taken as it is. When it is absent, /api/v1/query_range below the path
    of host, unless that ends in /query or /query_range.
    """
    parameters: UrlParameters | None = None
    """URL parameters that are sent with every query, such as namespace or partial_response."""
    on_partial: OnPartial | None = None
    """What happens when the source says that data is missing from its answer. Publish, the default:
    scores are computed from what is there. Fail: the cycle fails, and the published scores expire.
    """
    auth: Auth | None = None
    """How the agent authenticates to the metric source."""
    basic_auth: BasicAuth | None = None
    """User name and password that the agent sends, instead of a token."""
    headers: Annotated[list[Header], Field(max_length=MAX_HEADERS)] = []
    """Headers of every request, such as the tenant of Mimir or Thanos."""

    @model_validator(mode="after")
    def _has_a_host(self) -> Self:
        if not self.host and self.type == "Prometheus":
            msg = (
                "write the base URL of the metric source, such as"
                " http://prometheus.monitoring.svc:9090"
            )
            raise FieldError(msg, "host")
        return self


class MetricSourceSpec(Authored):
    """Where clusters find the metrics."""

    description: str = ""
    """What the source holds, for people."""
    variants: Annotated[list[MetricSourceVariant], Field(min_length=1, max_length=MAX_VARIANTS)]
    """A cluster uses the first variant whose selector matches its labels."""


class MetricSource(Authored):
    """A named metric source. It is resolved for each cluster, and is not applied to the hub."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["MetricSource"] = "MetricSource"
    metadata: Metadata
    spec: MetricSourceSpec
