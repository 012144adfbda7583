"""Choice of clusters by scores: the fields that ScoredApplication and ScoredPlacement share."""

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gitops_dsf.hub.pace import MAX_DEMAND
from gitops_dsf.repository.model.base import Authored, DnsLabel, LabelSelector
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.repository.model.field_rules import FieldRule, Ruled, given, having

# The CRD of Placements (OCM 1.2.1) refuses other weights.
Weight = Annotated[int, Field(ge=-10, le=10)]
MAX_STICKINESS: Final = 1000
"""The most points of stickiness."""


class Toleration(Ruled):
    """A taint of clusters that is tolerated."""

    rules = (
        FieldRule(
            message="a toleration without key needs operator: Exists, and operator Exists takes no"
            " value",
            json={
                "if": having("operator", {"const": "Exists"}),
                "then": {"properties": {"value": {"enum": [None, ""]}}},
                "else": having("key", {"type": "string", "minLength": 1}),
            },
        ),
    )

    key: str | None = None
    """Taint key; with operator Exists it may be left out to tolerate every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """How the value is compared."""
    value: str | None = None
    """Taint value for Equal."""
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"] | None = None
    """Taint effect; every effect when absent."""
    # OCM 1.2.1 counts from the taint's timeAdded, for every effect. A taint without that time
    # counts as expired.
    toleration_seconds: int | None = None
    """Seconds after which the toleration ends."""

    @model_validator(mode="after")
    def _as_ocm_reads_it(self) -> Self:
        # The CRD accepts both mistakes. The scheduler of OCM 1.2.1 then calls the Placement
        # misconfigured, and empties its decision.
        if not self.key and self.operator != "Exists":
            raise ValueError(
                "a toleration without key needs operator: Exists (OCM treats it as misconfigured"
                " and evicts everything)"
            )
        if self.operator == "Exists" and self.value:
            raise ValueError(
                "operator Exists takes no value (OCM treats it as misconfigured and evicts"
                " everything)"
            )
        return self


class DecisionGroup(Authored):
    """A named part of the decision, chosen by labels."""

    group_name: Annotated[str, Field(min_length=2, max_length=63)]
    """Name of the group."""
    cluster_selector: LabelSelector
    """Clusters of the group."""


class DecisionGroups(Authored):
    """How the chosen clusters are divided into groups."""

    groups: list[DecisionGroup] = []
    """Named groups, in order."""
    # A number in quotes matches the pattern of OCM's CRD, but its controller wants a %: OCM 1.2.1
    # then deletes the PlacementDecisions, and PlacementSatisfied stays True.
    clusters_per_decision_group: (
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^([1-9][0-9]?|100)%$")]
    ) = "100%"
    """A number, or a percentage such as 25%."""


class PlacementRules(Authored):
    """Which clusters may be chosen, and how many."""

    # The CRD has no minimum. With 0 OCM 1.2.1 empties the decision, and with a negative number its
    # controller panics.
    number_of_clusters: Annotated[int, Field(ge=1)] | None = None
    """Number of clusters; every eligible one when absent."""
    # OCM creates the set global on each hub, with all clusters in it.
    cluster_sets: list[DnsLabel] = ["global"]
    """ManagedClusterSets to choose from; a binding for each is rendered, unless `bindings` is
    Existing.
    """
    cluster_selector: LabelSelector | None = None
    """Labels that a cluster must have."""
    tolerations: list[Toleration] = []
    """Taints that are tolerated. OCM taints unreachable clusters."""


class SharedPlacementRules(PlacementRules):
    """Which clusters may be chosen, how many, and how decisions group them for consumers."""

    decision_groups: DecisionGroups | None = None
    """How the chosen clusters are divided into groups."""


class ScoreReference(Authored):
    """An item of the scores of a scorer."""

    scorer: Annotated[str, Field(min_length=1)]
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Name of the score item; by default the only one that the scorer can publish."""


BuiltInPrioritizer = Literal["Balance", "ResourceAllocatableCPU", "ResourceAllocatableMemory"]


def _no_steady(name: object) -> object:
    if name == "Steady":
        raise ValueError(
            "stickiness renders the prioritizer Steady: remove this entry, and write stickiness"
        )
    return name


class Score(Ruled):
    """A score that ranks the clusters: of a scorer, of another add-on, or of OCM itself."""

    rules = (
        FieldRule(
            message="write exactly one of scorer (a DynamicScorer of this repository), addOn (a"
            " score of another add-on) and builtIn (a prioritizer of OCM)",
            holds=lambda score: (
                sum(part is not None for part in (score.scorer, score.add_on, score.built_in)) == 1
            ),
            json={"oneOf": [given("scorer"), given("addOn"), given("builtIn")]},
        ),
        FieldRule(
            message="demand needs a score that measures load, and a built-in prioritizer measures"
            " none",
            holds=lambda score: score.built_in is None or not score.demand,
            path=("demand",),
            json={
                "if": given("builtIn"),
                "then": {"properties": {"demand": {"const": 0}}},
            },
        ),
        FieldRule(
            message="dimension is an item of a scorer; with addOn the item is addOn.name",
            holds=lambda score: score.scorer is not None or score.dimension is None,
            path=("dimension",),
            json={"if": given("dimension"), "then": given("scorer")},
        ),
    )

    scorer: Annotated[str, Field(min_length=1)] | None = None
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Name of the score item; by default the only one that the scorer can publish."""
    add_on: AddOnScore | None = None
    """In place of scorer: a score that another add-on publishes."""
    # The names are those that OCM 1.2.1 knows (pkg/placement/controllers/scheduling/schedule.go).
    built_in: Annotated[BuiltInPrioritizer, BeforeValidator(_no_steady)] | None = None
    """In place of scorer: a prioritizer of OCM. Balance prefers clusters with few decisions of
    other Placements, the others the clusters with the most allocatable CPU or memory.
    """
    weight: Weight = 1
    """Relative weight; negative when a lower score is better."""
    demand: Annotated[int, Field(ge=0, le=MAX_DEMAND)] = 0
    """Points of this score that the application takes where it runs. With spec.pace of
    gitops-dsf.yaml they are assumed until they are measured. With multiKueue of a ScoredPlacement:
    points that one job takes.
    """

    def __str__(self) -> str:
        """As people write it: `cpu`, `cost/spot`, `resource-usage-score/gpuClusterAvailable`."""
        if self.add_on is not None:
            return str(self.add_on)
        name = self.built_in or self.scorer or ""
        return f"{name}/{self.dimension}" if self.dimension else name


class Ranking(Authored):
    """The eligible clusters, their ranking and its stickiness."""

    placement: PlacementRules = PlacementRules()
    """Which clusters may be chosen, and how many."""
    scores: Annotated[list[Score], Field(min_length=1)]
    """Which scores rank the clusters."""
    stickiness: Annotated[int, Field(ge=0, le=MAX_STICKINESS)] = 20
    """Score points by which another cluster must be better before the decision changes."""
    # Exclude is a CEL predicate. OCM 1.2.1 evaluates CEL when a cluster or the Placement changes,
    # and at its resync every 10 minutes, not when a score changes; and CEL does not see that a
    # score has expired.
    on_missing_score: Literal["Neutral", "Exclude"] = "Neutral"
    """Neutral: a cluster without the score counts as 0. Exclude: it is not eligible."""
    bindings: Literal["Rendered", "Existing"] = "Rendered"
    """Rendered: a ManagedClusterSetBinding for each cluster set is rendered into the namespace of
    the Placement. Existing: the namespace has them, and somebody else owns them.
    """
