"""DynamicScorer: the metrics that are read, their scoring, and the scores that are published.

It has upstream's fields and ours. A document is checked here on its own. Not guaranteed: that the
scorer is complete, because a lock or a MetricSource may have fields that it lacks
(`resolve.scorer`). The docstrings are the descriptions in the schemas.
"""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails

from dsf_wire.constants import (
    DEFAULT_CLUSTERS_PER_REQUEST,
    DEFAULT_OUTPUT_MAX,
    DEFAULT_OUTPUT_MIN,
    RUNS_ON_HUB,
    SCORE_MAX,
    SCORE_MIN,
)
from dsf_wire.prometheus import MAX_PARAMETERS, MAX_VALUE
from gitops_dsf.repository.model.base import (
    DSF_API,
    SECRET_KEY,
    Authored,
    DnsName,
    LabelSelector,
    Metadata,
)
from gitops_dsf.repository.model.field_rules import FieldRule, Ruled, given, having

TOKEN_OF_POD: Final = having("serviceAccountToken", {"const": True})
MAX_SCOPES: Final = 50

DataKey = Annotated[str, Field(pattern=SECRET_KEY, min_length=1, max_length=253)]


class KeyRef(Authored):
    """A key of a Secret or ConfigMap in the agent's namespace on the spoke."""

    name: DnsName
    """Name of the object."""
    key: DataKey
    """Key inside it."""


class CertificateSecret(Authored):
    """A Secret in the agent's namespace on the spoke, such as one of type kubernetes.io/tls."""

    name: DnsName
    """Name of the Secret."""
    certificate_key: DataKey = "tls.crt"
    """Key of the certificate, in PEM, with the intermediate certificates that the server needs."""
    private_key_key: DataKey = "tls.key"
    """Key of the private key, in PEM and without a password."""


class ClientSecret(Authored):
    """A Secret in the agent's namespace on the spoke with the identity of an OAuth2 client."""

    name: DnsName
    """Name of the Secret."""
    client_id_key: Annotated[DataKey, Field(alias="clientIDKey")] = "client-id"
    """Key of the client's identifier."""
    client_secret_key: DataKey = "client-secret"  # noqa: S105 - the name of a key
    """Key of the client's secret."""


class OAuth2(Authored):
    """How an access token is obtained: client credentials (RFC 6749 section 4.4)."""

    token_url: Annotated[str, Field(alias="tokenURL", min_length=1, max_length=2048)]
    """URL of the token endpoint."""
    client_secret_ref: ClientSecret
    """Secret on the spoke with the client's identifier and secret, which go to tokenURL alone."""
    scopes: Annotated[
        list[Annotated[str, Field(pattern=r"^[!#-\[\]-~]{1,256}$")]], Field(max_length=MAX_SCOPES)
    ] = []
    """Scopes that are asked for; those of the server's choice when empty."""
    audience: Annotated[str, Field(max_length=1024)] = ""
    """For whom the token is, if the token server wants to know."""
    client_authentication: Literal["Header", "Body"] = "Header"
    """Where the client's secret is sent: in an Authorization header, or in the form for servers
    that want it there.
    """
    ca_config_map_ref: KeyRef | None = None
    """ConfigMap on the spoke whose key holds the PEM certificates of the token server's private CA.
    """


class Auth(Ruled):
    """How the agent authenticates, and which CA it trusts."""

    rules = (
        FieldRule(
            message="tokenSecretRef and serviceAccountToken are two tokens for one request; keep"
            " one",
            holds=lambda auth: auth.token_secret_ref is None or not auth.service_account_token,
            cel="!(has(self.tokenSecretRef) && self.serviceAccountToken)",
            json={"not": {"allOf": [given("tokenSecretRef"), TOKEN_OF_POD]}},
        ),
        FieldRule(
            message="oauth2 obtains a token, and another one is written beside it; keep one",
            holds=lambda auth: (
                auth.oauth2 is None
                or (auth.token_secret_ref is None and not auth.service_account_token)
            ),
            path=("oauth2",),
            cel="!(has(self.oauth2) && (has(self.tokenSecretRef) || self.serviceAccountToken))",
            json={
                "not": {
                    "allOf": [given("oauth2"), {"anyOf": [given("tokenSecretRef"), TOKEN_OF_POD]}]
                }
            },
        ),
    )

    token_secret_ref: KeyRef | None = None
    """Secret on the spoke whose key holds a bearer token."""
    ca_config_map_ref: KeyRef | None = None
    """ConfigMap on the spoke whose key holds the PEM certificates of a private CA."""
    service_account_token: bool = False
    """Send the token of the agent's pod."""
    oauth2: OAuth2 | None = None
    """Ask a token server for a token, and send that."""
    client_certificate_secret_ref: CertificateSecret | None = None
    """Secret on the spoke with the certificate that the agent shows to a server with https."""


def sends_token(auth: Auth | None) -> bool:
    return auth is not None and (
        auth.token_secret_ref is not None or auth.service_account_token or auth.oauth2 is not None
    )


UrlParameters = Annotated[
    dict[str, Annotated[str, Field(max_length=MAX_VALUE)]], Field(max_length=MAX_PARAMETERS)
]
OnPartial = Literal["Publish", "Fail"]


class SourceParams(Authored):
    """The query, and its period."""

    query: str = ""
    """PromQL, or measures of type Kubernetes; several expressions are joined by `;`."""
    # Upstream's CRD accepts 0, too, but its controller then skips the scorer in silence
    # (addon-contrib f5844b9): DSF123 says so.
    range: Annotated[int, Field(ge=0, le=31_536_000)] = 0
    """Seconds of history; 0 for the present value only, which is all that type Kubernetes has."""
    step: Annotated[int, Field(ge=0, le=31_536_000)] = 0
    """Seconds between two points of a series. Up to 300 the agent ends the range at a multiple of
    the step, so that a cache in front of the source helps: the last point is up to one step old.
    With a larger step the range ends when the query is sent.
    """


class ClusterLabel(Authored):
    """The label of a central store's series that names their cluster."""

    name: Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
    """Name of the label. Its value is the name of the ManagedCluster, unless claim or label is
    given.
    """
    claim: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """ClusterClaim of the ManagedCluster that has the label's value, such as id.openshift.io."""
    label: Annotated[str, Field(min_length=1, max_length=317)] | None = None
    """Label of the ManagedCluster that has the label's value, such as clusterID."""

    @model_validator(mode="after")
    def _one_identity(self) -> Self:
        if self.claim is not None and self.label is not None:
            raise ValueError("claim and label are two identities for one cluster; keep one")
        return self


class Source(Authored):
    """Where the metrics come from."""

    ref: DnsName | None = None
    """Name of a MetricSource, which says type, host, path and auth for each cluster."""
    # Upstream's CRD (addon-contrib f5844b9) knows Prometheus and None only.
    type: Literal["Prometheus", "Kubernetes", "OpenTelemetry", "None"] | None = None
    """Prometheus and what speaks its HTTP API; Kubernetes for measures of the cluster's own nodes,
    pods and devices; OpenTelemetry for the receiver beside the agent, which collectors of the
    cluster push to; or None for scoring APIs that need no metrics.
    """
    host: str = ""
    """URL of the metric source as the spoke sees it: the base URL, such as
    http://vmselect.monitoring.svc:8481/select/0/prometheus, or that of its query API. By default
    the origin of configURL.
    """
    path: str = ""
    """Path of the query API, taken as it is. When it is absent, /api/v1/query_range below the path
    of host, unless that ends in /query or /query_range. With scoring.type Query the agent asks the
    instant query beside it, /api/v1/query.
    """
    params: SourceParams = SourceParams()
    """The query, and its period."""
    parameters: UrlParameters | None = None
    """URL parameters that are sent with every query, such as namespace or partial_response. Beside
    ref they are added to those of the MetricSource, and replace those of the same name.
    """
    on_partial: OnPartial | None = None
    """What happens when the source says that data is missing from its answer. Publish, the default:
    scores are computed from what is there. Fail: the cycle fails, and the published scores expire.
    Beside ref it replaces what the MetricSource says.
    """
    auth: Auth | None = None
    """How the agent authenticates to the metric source."""
    dialect: Literal["PromQL", "MetricsQL", "Other"] = "PromQL"
    """Language of the query. PromQL is checked completely, MetricsQL as far as it is also PromQL,
    and other languages not at all.
    """
    cluster_label: ClusterLabel | None = None
    """With runsOn: Hub, how the series of a cluster are recognised."""


class ScoringParams(Authored):
    """The name of the score, and how often it is computed."""

    name: Annotated[str, Field(max_length=253)] = ""
    """Score name: ds_score_name of the metric, and after sanitising the name of the
    AddOnPlacementScore.
    """
    interval: Annotated[int, Field(ge=0, le=31_536_000)] = 0
    """Seconds between two runs."""


class Scoring(Authored):
    """What computes the scores: a scoring API, or the query itself."""

    type: Literal["API", "Query"] | None = None
    """API, the default: a scoring API is called. Query: the value of each series is its raw score,
    and there is no scoring API.
    """
    host: str = ""
    """URL of the scoring API as the spoke sees it; by default the origin of configURL."""
    path: str = ""
    """Path of the scoring endpoint; /scoring when the host carries no path."""
    params: ScoringParams = ScoringParams()
    """The name of the score, and how often it is computed."""
    auth: Auth | None = None
    """How the agent authenticates to the scoring API."""
    arguments: dict[str, Any] | None = None
    """A JSON object that is sent with every scoring request."""
    clusters_per_request: Annotated[int, Field(ge=1, le=10_000)] = DEFAULT_CLUSTERS_PER_REQUEST
    """With runsOn: Hub, how many clusters one scoring request has at most."""


class ScoreRange(Ruled):
    """A linear mapping from raw scores to published ones."""

    rules = (
        FieldRule(
            message="min must be below max; for scores where lower is better swap outputMin and"
            " outputMax",
            says="min {0.min:g} must be below max {0.max:g}; for scores where lower is better swap"
            " outputMin and outputMax",
            holds=lambda mapping: mapping.min < mapping.max,
            cel="self.min < self.max",
        ),
        FieldRule(
            message="outputMin and outputMax are equal: every cluster would have the same score",
            holds=lambda mapping: mapping.output_min != mapping.output_max,
            cel="self.outputMin != self.outputMax",
        ),
    )

    min: float
    """Raw score that becomes outputMin."""
    max: float
    """Raw score that becomes outputMax."""
    # OCM 1.2.1 counts a missing score as 0. So the default ends are above 0: no real score ranks
    # below none. The API server refuses all scores of an object that has one outside of these
    # bounds.
    output_min: Annotated[int, Field(ge=SCORE_MIN, le=SCORE_MAX)] = DEFAULT_OUTPUT_MIN
    """Published score of min; above outputMax when lower raw scores are better."""
    output_max: Annotated[int, Field(ge=SCORE_MIN, le=SCORE_MAX)] = DEFAULT_OUTPUT_MAX
    """Published score of max."""


class Publish(Authored):
    """When a changed score is written to the hub."""

    # Scores are -100 to 100, so with 200 only the refresh at half of the TTL writes.
    deadband: Annotated[int, Field(ge=0, le=200)] = 2
    """By how many score points a value must change to be published before half of the TTL has
    passed.
    """
    min_interval_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """Seconds between two writes of one scorer on one cluster; the first change is written at once.
    """


class DynamicScorerSpec(Ruled):
    """Which metrics are read, how scores are computed from them, and where they are published."""

    rules = (
        FieldRule(
            message=(
                "write configURL and configSyncMode, or scoring.type: Query if the query itself"
                " gives the score"
            ),
            cel=(
                "(has(self.scoring) && has(self.scoring.type) && self.scoring.type == 'Query')"
                " || (has(self.configURL) && has(self.configSyncMode))"
            ),
            json={
                "if": having("scoring", having("type", {"const": "Query"})),
                "else": {"allOf": [given("configURL"), given("configSyncMode")]},
            },
        ),
    )

    description: str
    """What the score means, for people."""
    config_url: Annotated[str, Field(alias="configURL")] = ""
    """The scoring API's /config page as the hub sees it. Required unless scoring.type is Query."""
    config_sync_mode: Literal["Full", "None"] | None = None
    """Full: each field that the scoring API's /config sets, as recorded in locks/, overrides this
    file. None: only this file counts. Required unless scoring.type is Query.
    """
    # Our programs do not read it. Upstream's controller skips a scorer without it (addon-contrib
    # f5844b9).
    location: Literal["Internal", "External"] = "Internal"
    """Whether the scoring API runs inside the fleet."""
    runs_on: Literal["Spokes", "Hub"] = "Spokes"
    """Spokes: the agent of each cluster asks a source there. Hub: one process on the hub asks one
    central store for all clusters.
    """
    source: Source = Source()
    """Where the metrics come from."""
    scoring: Scoring = Scoring()
    """What computes the scores: a scoring API, or the query itself."""
    score_destination: Literal["AddOnPlacementScore", "None"] = "AddOnPlacementScore"
    """None: scores are exported as metrics only."""
    score_dimension_format: str = "${scoreName}"
    """How the labels of a result become the name of a score item, such as ${node};${pod}."""
    suspend: bool = False
    """If true, the scorer runs nowhere, and its scores are removed."""
    cluster_selector: LabelSelector | None = None
    """Where it runs, by labels of the clusters in the inventory; everywhere when absent."""
    score_range: ScoreRange | None = None
    """A linear mapping from raw scores to published ones. Without it, raw scores are clamped to
    -100..100.
    """
    # Last is what upstream's agent does: a later result of the same name overwrites the earlier.
    score_aggregation: Literal["Last", "Mean", "Min", "Max", "Sum"] = "Last"
    """How several results with the same dimension are combined."""
    score_ttl_seconds: Annotated[int, Field(ge=60, le=31_536_000)] | None = Field(
        default=None, alias="scoreTTLSeconds"
    )
    """Seconds that a published score stays valid; max(900, 10 x interval) when absent."""
    publish: Publish = Publish()
    """When a changed score is written to the hub."""
    # Nothing is published by default, and OCM 1.2.1 counts that as 0, which beats negative scores.
    default_score: Annotated[int, Field(ge=-100, le=100)] | None = None
    """The published score of a cluster whose metric source answers without series. Nothing is
    published then when it is absent. It needs a scoreDimensionFormat without labels.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _api_names_its_page(
        cls,
        data: Any,  # noqa: ANN401 - whatever YAML holds
        handler: ModelWrapValidatorHandler[Self],
    ) -> Self:
        """Requires configURL and configSyncMode of scorers with a scoring API.

        Their absence is reported beside all other mistakes: a validator that runs after the fields
        would not run when one of them is wrong.
        """
        missing = _missing_of_api(data) if isinstance(data, dict) else []
        if not missing:
            return handler(data)
        errors: list[InitErrorDetails] = []
        try:
            handler(data)
        except ValidationError as error:
            errors += map(_raised_again, error.errors(include_url=False))
        errors += [InitErrorDetails(type="missing", loc=(name,), input=data) for name in missing]
        raise ValidationError.from_exception_data(cls.__name__, errors)

    @property
    def scored_by_query(self) -> bool:
        """Whether the value of each series is its raw score, and there is no scoring API."""
        return self.scoring.type == "Query"

    @property
    def on_hub(self) -> bool:
        """Whether the hub scorer runs it, and no agent."""
        return self.runs_on == RUNS_ON_HUB

    @property
    def reads_config(self) -> bool:
        """Whether the scoring API's /config counts, as its lock says."""
        return self.config_sync_mode == "Full" and not self.scored_by_query


def _raised_again(error: ErrorDetails) -> InitErrorDetails:
    """An error of pydantic in the form in which it can be raised."""
    context = error.get("ctx", {})
    return InitErrorDetails(type=error["type"], loc=error["loc"], input=error["input"], ctx=context)


def _missing_of_api(data: dict[str, Any]) -> list[str]:
    """Fields that only a scorer with a scoring API needs and that are missing."""
    scoring = data.get("scoring")
    if isinstance(scoring, dict) and scoring.get("type") not in {None, "API"}:
        return []
    return [name for name in ("configURL", "configSyncMode") if data.get(name) is None]


class DynamicScorer(Authored):
    """A scorer: it computes scores from metrics, in the same way on every cluster."""

    api_version: Literal["dynamic-scoring.open-cluster-management.io/v1alpha1"] = DSF_API
    kind: Literal["DynamicScorer"] = "DynamicScorer"
    metadata: Metadata
    spec: DynamicScorerSpec
