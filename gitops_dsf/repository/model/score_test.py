"""ScoreTest: results of scorers that are given, and the scores and decisions that are expected.

Only the notation is checked here; `resolve.rules.score_tests` checks the names, and `scoretests`
runs the tests. The docstrings are the descriptions in the schemas.
"""

import re
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from gitops_dsf.repository.model.base import (
    DNS_SUBDOMAIN,
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    Labels,
    Metadata,
)
from gitops_dsf.repository.model.field_rules import (
    FieldRule,
    Ruled,
    exactly_one,
    given,
    not_empty_list,
)

MAX_SECONDS: Final = 7 * 86_400
"""The longest time that a test may cover."""
MAX_ITEMS: Final = 1_000
"""Items of one list of a test."""
MAX_TEXT: Final = 20_000

TIME: Final = r"^([0-9]{1,6}[dhms])+$"
PLACEMENT_REFERENCE: Final = DNS_SUBDOMAIN.replace("^", r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?", 1)
FINDING: Final = r"^DSF[0-9]{3}$"

_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}


def seconds(text: str) -> int:
    """Seconds of a time such as 1h30m."""
    parts = re.findall(r"([0-9]+)([wdhms])", text)
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def _short_enough(text: str) -> str:
    if seconds(text) > MAX_SECONDS:
        raise ValueError(f"{text} is more than a test covers; write at most 7d")
    return text


Time = Annotated[str, Field(pattern=TIME, max_length=64), AfterValidator(_short_enough)]
PlacementReference = Annotated[str, Field(pattern=PLACEMENT_REFERENCE, max_length=317)]
ItemName = Annotated[str, Field(min_length=1, max_length=1024)]
# The CRD of AddOnPlacementScore has these bounds, so a test cannot give what no agent publishes.
ItemValue = Annotated[int, Field(ge=-100, le=100)]


class GivenTaint(Authored):
    """A taint of a cluster."""

    key: Annotated[str, Field(min_length=1, max_length=316)]
    """Taint key."""
    value: str = ""
    """Taint value."""
    # OCM's effects, which are others than those of Kubernetes' nodes.
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"]
    """Taint effect."""


class GivenCluster(Authored):
    """A cluster of a test. What is not written is as in clusters/, if the cluster is there."""

    name: DnsLabel
    """Name of the cluster."""
    labels: Labels | None = None
    """All of its labels."""
    claims: Labels | None = None
    """All of its cluster claims."""
    taints: Annotated[list[GivenTaint], Field(max_length=MAX_ITEMS)] | None = None
    """All of its taints."""


class ResultLabels(Authored):
    """The labels of a result that scoreDimensionFormat can use."""

    node: str = ""
    """Fills ${node}."""
    device: str = ""
    """Fills ${device}."""
    namespace: str = ""
    """Fills ${namespace}."""
    app: str = ""
    """Fills ${app}."""
    pod: str = ""
    """Fills ${pod}."""
    container: str = ""
    """Fills ${container}."""
    meta: str = ""
    """Fills ${meta}."""


class GivenSeries(Authored):
    """The results of a scorer on a cluster, one value for each run, from time 0 on.

    A result is a value of its query, or a score of its scoring API.
    """

    scorer: DnsName
    """Name of a DynamicScorer."""
    cluster: DnsLabel
    """Name of a cluster."""
    labels: ResultLabels = ResultLabels()
    """Labels of the result."""
    values: Annotated[str, Field(max_length=MAX_TEXT)]
    """Raw scores in the notation of promtool: '40 42 38+2x5 _ _x3'."""


class GivenMetric(Authored):
    """A series of a metric source, for scorers whose query promtool evaluates."""

    cluster: DnsLabel | None = None
    """Cluster whose source has it; the sources of all clusters when absent."""
    series: Annotated[str, Field(min_length=1, max_length=4_096)]
    """Name and labels, such as node_cpu_seconds_total{mode="idle"}."""
    values: Annotated[str, Field(max_length=MAX_TEXT)]
    """Values as in `promtool test rules`."""


class _OfScorer(Ruled):
    """A score by scorer, or by the name of its AddOnPlacementScore."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        exactly_one("scorer", "resource", "write exactly one of scorer and resource"),
        FieldRule(
            message="a score of a resource needs its dimension, the name of the item in"
            " status.scores",
            holds=lambda score: score.resource is None or score.dimension is not None,
            json={"if": given("resource"), "then": given("dimension")},
        ),
    )

    scorer: DnsName | None = None
    """Name of a DynamicScorer."""
    resource: DnsName | None = None
    """In place of scorer: name of an AddOnPlacementScore that no scorer of this repository
    publishes.
    """
    cluster: DnsLabel
    """Name of a cluster."""
    dimension: ItemName | None = None
    """Name of the score item; by default the only one that the scorer has."""


class GivenScore(_OfScorer):
    """A published score at time 0."""

    value: ItemValue
    """The value in the AddOnPlacementScore."""


class _OfPlacement(Ruled):
    """The decision of a Placement, by application or by Placement."""

    rules = (
        exactly_one("application", "placement", "write exactly one of application and placement"),
    )

    application: DnsName | None = None
    """Name of a ScoredApplication."""
    placement: PlacementReference | None = None
    """In place of application: a ScoredPlacement or Placement, as namespace/name, or the name alone
    if it is unique.
    """


class GivenDecision(_OfPlacement):
    """The decision of a Placement before time 0."""

    clusters: Annotated[list[DnsLabel], Field(max_length=MAX_ITEMS)]
    """Clusters of the decision."""


class Given(Authored):
    """What a test begins with."""

    clusters: Annotated[list[GivenCluster], Field(max_length=MAX_ITEMS)] | None = None
    """All clusters of the test; those in clusters/ when absent."""
    series: Annotated[list[GivenSeries], Field(max_length=MAX_ITEMS)] = []
    """Results of the runs of scorers."""
    metrics: Annotated[list[GivenMetric], Field(max_length=MAX_ITEMS)] = []
    """Series of metric sources. promtool evaluates the queries of scorers over them."""
    metric_interval: Time = "1m"
    """Time between two values of metrics."""
    scores: Annotated[list[GivenScore], Field(max_length=MAX_ITEMS)] = []
    """Scores that are published at time 0. They stay the same, except where series change them."""
    decisions: Annotated[list[GivenDecision], Field(max_length=MAX_ITEMS)] = []
    """Decisions before time 0. A Placement without one has decided nothing yet."""


class ExpectedScore(_OfScorer):
    """A published score."""

    rules = (
        *_OfScorer.rules,
        exactly_one("value", "state", "write exactly one of value and state"),
    )

    at: Time = "0s"
    """Time since the beginning, such as 10m."""
    value: ItemValue | None = None
    """The value that counts."""
    state: Literal["Missing", "Expired"] | None = None
    """In place of value: nothing is published, or it has expired. OCM counts both as 0."""


class ExpectedDecision(_OfPlacement):
    """The decision of a Placement."""

    at: Time = "0s"
    """Time since the beginning, such as 10m."""
    clusters: Annotated[list[DnsLabel], Field(max_length=MAX_ITEMS)]
    """Clusters of the decision, in any order."""


class ExpectedMoves(_OfPlacement):
    """How often a decision changes after time 0."""

    until: Time | None = None
    """Up to this time; the end of the test when absent."""
    count: Annotated[int, Field(ge=0, le=MAX_SECONDS)]
    """Number of changes."""


OfPlacement = GivenDecision | ExpectedDecision | ExpectedMoves


class ExpectedFinding(Authored):
    """A finding of `validate`."""

    # Codes are stable, and messages are not.
    code: Annotated[str, Field(pattern=FINDING)]
    """Code of the finding, such as DSF310."""
    kind: Annotated[str, Field(min_length=1, max_length=63)] | None = None
    """Kind of the document that has it; any document when absent."""
    name: DnsName | None = None
    """Name of the document that has it."""


class Expected(Ruled):
    """What a test expects."""

    rules = (
        FieldRule(
            message="a test expects something: write scores, decisions, moves or findings",
            holds=lambda test: test.scores or test.decisions or test.moves or test.findings,
            json={"anyOf": list(map(not_empty_list, ("scores", "decisions", "moves", "findings")))},
        ),
    )

    scores: Annotated[list[ExpectedScore], Field(max_length=MAX_ITEMS)] = []
    """Published scores."""
    decisions: Annotated[list[ExpectedDecision], Field(max_length=MAX_ITEMS)] = []
    """Decisions of Placements."""
    moves: Annotated[list[ExpectedMoves], Field(max_length=MAX_ITEMS)] = []
    """How often decisions change."""
    findings: Annotated[list[ExpectedFinding], Field(max_length=MAX_ITEMS)] = []
    """Findings of `validate` about this repository with the clusters of the test."""


class ScoreTestSpec(Authored):
    """A story of one fleet, and what must come of it."""

    description: str = ""
    """What the test shows, for people."""
    given: Given = Given()
    """What the test begins with."""
    expect: Expected
    """What it expects."""


class ScoreTest(Authored):
    """A unit test for scores and decisions, run by `gitops-dsf test`. It is not rendered."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoreTest"] = "ScoreTest"
    metadata: Metadata
    spec: ScoreTestSpec
