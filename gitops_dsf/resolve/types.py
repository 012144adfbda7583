"""The result of resolving: frozen values, sorted by name. Nothing is rendered yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_dsf.diagnostics import Position
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.base import Metadata
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.foreign import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.ranking import Ranking
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig, Mask
from gitops_dsf.resolve.scorer import EffectiveScorer

ClusterParameters = Mapping[str, Any]
"""The name of a cluster, and what templates read of its labels and claims."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedScore:
    """One ranking term of a Placement: its place in the AddOnPlacementScore, and the written weight."""

    scorer: str
    resource_name: str
    dimension: str
    weight: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedPlacement:
    """The Placement that a ranking renders, with valid references and weights."""

    name: str
    namespace: str
    metadata: Metadata
    """Metadata of the object that renders it."""
    ranking: Ranking
    renders_bindings: bool
    """Whether a ManagedClusterSetBinding is rendered for each cluster set."""
    written: RankingItem = field(repr=False, compare=False)
    """The object that renders it, with its place in the files."""
    scores: tuple[ResolvedScore, ...]
    score_factor: int
    """Multiplies every score weight in the Placement. With steady_weight it gives the stickiness."""
    steady_weight: int
    """Weight of OCM's Steady prioritizer; 0 leaves it out."""
    paced: PacedRanking | None = None
    """What people wrote, where moves are paced."""
    hold_weights: tuple[int, ...] = ()
    """The weights of the scores with which Steady outweighs them, where moves are paced."""

    @property
    def position(self) -> Position:
        """Where the name of the object that renders it is written."""
        return self.written.position


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A whole fleet repository after resolving."""

    repository: FleetRepository
    scorers: tuple[EffectiveScorer, ...]
    open_scorers: tuple[EffectiveScorer, ...]
    """Full scorers that the upstream controller completes on the hub, with UpstreamController only."""
    clusters: tuple[ManagedCluster, ...]
    cluster_sets: tuple[ManagedClusterSet, ...]
    scoring_config: DynamicScoringConfig | None
    masks: tuple[Mask, ...]
    maintenance: tuple[Maintenance, ...]
    runs_on: Mapping[str, frozenset[str]]
    """For each complete scorer, the clusters that it scores. Suspended scorers score none."""
    targets: Mapping[str, tuple[str, ...]]
    """For every cluster, the sorted names of the scorers that score it; suspended ones are in none."""
    agents: frozenset[str]
    """Clusters that have an agent."""
    placements: tuple[ResolvedPlacement, ...]
    """Placements by scores, sorted by namespace and name. Copied Placements are raw documents."""
    source_variants: Mapping[str, Mapping[str, int]]
    """For each MetricSource, the index of the variant that a cluster uses."""
    applications: tuple[ScoredApplication, ...]
    cluster_parameters: Mapping[str, tuple[ClusterParameters, ...]]
    """By application, what its templates read of labels and claims of its clusters, if anything."""
    carried: tuple[Mapping[str, Any], ...]
    """Placements and ApplicationSets that are copied into the output. Each names its namespace."""

    def on_cluster(self, scorer: EffectiveScorer, cluster: str) -> EffectiveScorer:
        """A scorer with the variant that a cluster uses, if source.ref is there and a variant selects it."""
        if scorer.metric_source is None:
            return scorer
        index = self.source_variants[scorer.metric_source.metadata.name].get(cluster)
        return scorer if index is None else scorer.variants[index]

    @property
    def hub_writes_per_second(self) -> float:
        """Writes per second by which agents and hub scorer refresh all scores. A published score is written
        at half of its TTL even if it does not change.

        Changed scores add at most one write per publish.minIntervalSeconds. Their number is not known from
        files.
        """
        return sum(
            len(self.runs_on[scorer.name]) / max(scorer.ttl_seconds / 2, 1)
            for scorer in self.scorers
            if scorer.spec.score_destination == "AddOnPlacementScore"
        )
