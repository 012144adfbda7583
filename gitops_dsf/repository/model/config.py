"""Kinds of config/: MetricSource, a metric source that scorers name, with one variant for each kind of
cluster; Maintenance, a window in which clusters are drained or cordoned, or moves are frozen; and
DynamicScoringConfig, which excludes scores from clusters.
"""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gitops_dsf.hub.maintenance import CLOCK, Day, is_zone
from gitops_dsf.repository.model.base import (
    DSF_API,
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    FieldError,
    LabelSelector,
    Metadata,
    Rule,
    Ruled,
    each_once,
    exactly_one,
    given,
    having,
)
from gitops_dsf.repository.model.scorer import (
    TOKEN_OF_POD,
    Auth,
    DataKey,
    KeyRef,
    OnPartial,
    UrlParameters,
    sends_token,
)

_SENDS_TOKEN = {"anyOf": [given("tokenSecretRef"), TOKEN_OF_POD, given("oauth2")], "type": "object"}
MAX_VARIANTS = 50
MAX_HEADERS = 20


class BasicAuthSecret(Authored):
    """A Secret in the agent's namespace on the spoke, such as one of type kubernetes.io/basic-auth."""

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
        Rule(
            message="auth sends a token and basicAuth a password in the same header; keep one",
            holds=lambda variant: variant.basic_auth is None or not sends_token(variant.auth),
            path=("basicAuth",),
            cel=(
                "!(has(self.basicAuth) && has(self.auth)"
                " && (has(self.auth.tokenSecretRef) || self.auth.serviceAccountToken"
                " || has(self.auth.oauth2)))"
            ),
            json={"not": {"allOf": [given("basicAuth"), having("auth", _SENDS_TOKEN)]}},
        ),
    )

    cluster_selector: LabelSelector | None = None
    """Clusters that use this variant, by their labels in the inventory. Without it, every cluster that no
    earlier variant selects.
    """
    type: Literal["Prometheus", "Kubernetes", "OpenTelemetry"] = "Prometheus"
    """Prometheus and what speaks its HTTP API; Kubernetes for measures of the cluster's nodes and pods; or
    OpenTelemetry for the receiver beside the agent, which collectors of the cluster push to.
    """
    host: str = ""
    """URL of the metric source as these clusters see it: the base URL, or that of its query API."""
    path: str = ""
    """Path of the query API, taken as it is. When it is absent, /api/v1/query_range below the path of host,
    unless that ends in /query or /query_range.
    """
    parameters: UrlParameters | None = None
    """URL parameters that are sent with every query, such as namespace or partial_response."""
    on_partial: OnPartial | None = None
    """What happens when the source says that data is missing from its answer. Publish, the default: scores
    are computed from what is there. Fail: the cycle fails, and the published scores expire.
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
            msg = "write the base URL of the metric source, such as http://prometheus.monitoring.svc:9090"
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


MOMENT = r"^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$"
MOST_NAMES = 1000
_SUBJECTS = ("clusters", "clusterSelector", "applications")


def _a_moment(text: str) -> str:
    try:
        datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is no moment: {error}") from error
    return text


def _a_zone(name: str) -> str:
    if not is_zone(name):
        raise ValueError(f"there is no time zone {name}: write one such as Europe/Berlin or UTC")
    return name


Moment = Annotated[str, Field(pattern=MOMENT), AfterValidator(_a_moment)]
Clock = Annotated[str, Field(pattern=CLOCK)]


class Schedule(Authored):
    """A window of every week, in local time."""

    days: Annotated[list[Day], Field(min_length=1, max_length=7), AfterValidator(each_once)]
    """Days on which it opens."""
    opens: Annotated[Clock, Field(alias="from")]
    """Local time at which it opens, such as "22:00"."""
    closes: Annotated[Clock, Field(alias="to")]
    """Local time at which it closes; on the next day, if it is before `from`."""
    zone: Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_a_zone)]
    """Time zone, such as Europe/Berlin."""


class MaintenanceSpec(Ruled):
    """What is maintained, when, and what happens meanwhile."""

    rules = (
        Rule(
            message="write exactly one of clusters, clusterSelector and applications",
            holds=lambda item: (
                [item.clusters, item.cluster_selector, item.applications].count(None)
                == len(_SUBJECTS) - 1
            ),
            json={"oneOf": [given(name) for name in _SUBJECTS]},
        ),
        Rule(
            message="applications can be frozen only: write action: Freeze, or name clusters",
            path=("action",),
            holds=lambda item: item.applications is None or item.action == "Freeze",
            json={"anyOf": [{"not": given("applications")}, having("action", {"const": "Freeze"})]},
        ),
        Rule(
            message="write either start and end, or schedule",
            holds=lambda item: (
                {item.start is None, item.end is None} == {item.schedule is not None}
            ),
            json={
                "oneOf": [
                    {"allOf": [given("start"), given("end"), {"not": given("schedule")}]},
                    {"allOf": [given("schedule"), {"not": given("start")}, {"not": given("end")}]},
                ]
            },
        ),
    )

    action: Literal["Drain", "Cordon", "Freeze"]
    """Drain: paced applications leave the clusters one after the other, and none arrives. Cordon: none
    arrives. Freeze: no paced move of the clusters or applications begins.
    """
    clusters: Annotated[list[DnsLabel], Field(min_length=1, max_length=MOST_NAMES)] | None = None
    """Names of clusters."""
    cluster_selector: LabelSelector | None = None
    """Clusters by their labels on the hub, instead of clusters; an empty selector means all."""
    applications: Annotated[list[DnsName], Field(min_length=1, max_length=MOST_NAMES)] | None = None
    """Names of ScoredApplications, instead of clusters, for Freeze."""
    start: Moment | None = None
    """When the window opens, such as "2026-11-24T20:00:00+01:00"."""
    end: Moment | None = None
    """When the window closes."""
    schedule: Schedule | None = None
    """A window of every week, instead of start and end."""


class Maintenance(Authored):
    """A window in which clusters are drained or cordoned, or moves are frozen. The reconciler carries it
    out.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["Maintenance"] = "Maintenance"
    metadata: Metadata
    spec: MaintenanceSpec


SINGLETON_NAME = "dynamic-scoring-config"


class Mask(Ruled):
    """Excludes a score from clusters."""

    rules = (
        exactly_one(
            "cluster_name",
            "cluster_selector",
            "a mask names its clusters by clusterName or by clusterSelector: write exactly one of them",
        ),
    )

    cluster_name: Annotated[str, Field(min_length=1)] | None = None
    """Cluster, or a shell-style glob."""
    cluster_selector: LabelSelector | None = None
    """Clusters by their labels, instead of clusterName."""
    score_name: Annotated[str, Field(min_length=1)]
    """Score name, or a shell-style glob."""


class DynamicScoringConfigSpec(Authored):
    """Which scores are excluded from which clusters."""

    masks: list[Mask] = []
    """Each mask excludes a score from clusters."""


class DynamicScoringConfig(Authored):
    """The masks of a fleet. There is one such object, and its name is dynamic-scoring-config."""

    api_version: Literal["dynamic-scoring.open-cluster-management.io/v1alpha1"] = DSF_API
    kind: Literal["DynamicScoringConfig"] = "DynamicScoringConfig"
    metadata: Metadata
    spec: DynamicScoringConfigSpec = DynamicScoringConfigSpec()
