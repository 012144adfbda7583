"""Which clusters may be chosen, and which scores rank them; and ScoredPlacement, a decision by scores for any
consumer.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gitops_dsf.hub.pace import MOST_DEMAND
from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsLabel,
    LabelSelector,
    Metadata,
    Rule,
    Ruled,
    having,
)

Weight = Annotated[int, Field(ge=-10, le=10)]


class Toleration(Ruled):
    """A taint of clusters that is tolerated."""

    rules = (
        Rule(
            message="a toleration without key needs operator: Exists, and operator Exists takes no value",
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
    toleration_seconds: int | None = None
    """Seconds after which the toleration ends."""

    @model_validator(mode="after")
    def _as_ocm_reads_it(self) -> Self:
        if not self.key and self.operator != "Exists":
            raise ValueError(
                "a toleration without key needs operator: Exists (OCM treats it as misconfigured and evicts"
                " everything)"
            )
        if self.operator == "Exists" and self.value:
            msg = "operator Exists takes no value (OCM treats it as misconfigured and evicts everything)"
            raise ValueError(msg)
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
    clusters_per_decision_group: (
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^([1-9][0-9]?|100)%$")]
    ) = "100%"
    """A number, or a percentage such as 25%."""


class PlacementRules(Authored):
    """Which clusters may be chosen, and how many."""

    number_of_clusters: Annotated[int, Field(ge=1)] | None = None
    """Number of clusters; every eligible one when absent."""
    cluster_sets: list[DnsLabel] = ["global"]
    """ManagedClusterSets to choose from; a binding for each is rendered."""
    cluster_selector: LabelSelector | None = None
    """Labels that a cluster must have."""
    tolerations: list[Toleration] = []
    """Taints that are tolerated; OCM taints unreachable clusters."""
    decision_groups: DecisionGroups | None = None
    """How the chosen clusters are divided into groups."""


class Score(Authored):
    """A scorer that ranks the clusters."""

    scorer: Annotated[str, Field(min_length=1)]
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Name of the score item; by default the only one that the scorer can publish."""
    weight: Weight = 1
    """Relative weight; negative when a lower score is better."""
    demand: Annotated[int, Field(ge=0, le=MOST_DEMAND)] = 0
    """Points of this score that the application takes where it runs. With spec.pace of gitops-dsf.yaml they
    are assumed until they are measured.
    """


class Ranking(Authored):
    """The eligible clusters, their ranking and its stickiness."""

    placement: PlacementRules = PlacementRules()
    """Which clusters may be chosen, and how many."""
    scores: Annotated[list[Score], Field(min_length=1)]
    """Which scorers rank the clusters."""
    stickiness: Annotated[int, Field(ge=0, le=1000)] = 20
    """Score points by which another cluster must be better before the decision changes."""
    on_missing_score: Literal["Neutral", "Exclude"] = "Neutral"
    """Neutral: a cluster without the score counts as 0. Exclude: it is not eligible."""


class ScoredPlacementSpec(Ranking):
    """Which clusters are chosen by score."""

    bindings: Literal["Rendered", "Existing"] = "Rendered"
    """Rendered: a ManagedClusterSetBinding for each cluster set is rendered into the namespace. Existing: the
    namespace has them, and somebody else owns them.
    """


class ScoredPlacement(Authored):
    """A Placement by scores in any namespace, for ScoredApplications that share it and for other consumers of
    decisions.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredPlacement"] = "ScoredPlacement"
    metadata: Metadata
    spec: ScoredPlacementSpec
