"""The result of resolving: frozen values, sorted by name. Nothing is rendered yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_dsf.diagnostics import Position
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.base import Metadata
from gitops_dsf.repository.model.cluster import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.metric_source import MetricSource, MetricSourceVariant
from gitops_dsf.repository.model.ranking import Ranking
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scorer import Auth, DynamicScorer, DynamicScorerSpec
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig, Mask


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectiveScorer:
    """A scorer with lock and defaults applied (docs/scores/locks.md#effective-values). Endpoints are URLs,
    durations seconds.
    """

    name: str
    score_name: str
    resource_name: str
    """Sanitised score name, which is the name of the AddOnPlacementScore."""
    declared: DynamicScorer
    position: Position
    source_type: str
    """What the agent asks: Prometheus or None."""
    source_is_pushed: bool
    """Whether collectors push the metrics to the receiver in the agent's pod."""
    history_seconds: int
    """How far back the receiver's metrics must go: the range, and what the query adds to it. 0 for other
    sources.
    """
    source_host: str
    source_path: str
    source_endpoint: str
    query: str
    range: int
    step: int
    source_auth: Auth | None
    scoring_type: str
    """API, or Query for a scorer without a scoring API, whose scoring host, path and endpoint are empty."""
    scoring_host: str
    scoring_path: str
    scoring_endpoint: str
    interval: int
    dimension_format: str
    ttl_seconds: int
    variant: MetricSourceVariant | None = None
    """The variant of its MetricSource that is applied."""
    metric_source: MetricSource | None = None
    """What source.ref names."""
    variants: tuple["EffectiveScorer", ...] = ()
    """The scorer with each variant of its MetricSource. Type, host, path, endpoint and auth of its own source
    are empty then.
    """

    @property
    def spec(self) -> DynamicScorerSpec:
        """What people wrote."""
        return self.declared.spec

    @property
    def with_only_variant(self) -> "EffectiveScorer":
        """The scorer with the source that is the same for all clusters, as scorers on the hub have it."""
        return self.variants[0] if self.variants else self

    @property
    def published(self) -> tuple[int, int]:
        """The lowest and highest score that it can publish."""
        if self.spec.score_range is None:
            return -100, 100
        ends = (self.spec.score_range.output_min, self.spec.score_range.output_max)
        return min(ends), max(ends)

    @property
    def on_hub(self) -> bool:
        """Whether the hub scorer runs it, and no agent."""
        return self.spec.on_hub


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingScorer:
    """A Full scorer that has no lock yet and is incomplete without one. It is not rendered."""

    name: str
    missing: tuple[str, ...]
    """Paths of fields that only /config can set, such as source.params.query."""
    position: Position


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedScore:
    """One ranking term of a Placement: the coordinate in the AddOnPlacementScore, and the weight as
    written.
    """

    scorer: str
    resource_name: str
    dimension: str
    weight: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedPlacement:
    """The Placement that a ScoredPlacement, or a ScoredApplication with a ranking of its own, renders: with
    valid references and weights.
    """

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
    """Every score weight is multiplied by this in the Placement. Together with steady_weight it gives the
    stickiness.
    """
    steady_weight: int
    """Weight of OCM's Steady prioritizer; 0 leaves it out."""

    @property
    def position(self) -> Position:
        """Where the name of the object that renders it is written."""
        return self.written.position


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolvedApplication:
    """A ScoredApplication, and the Placement whose decision it follows."""

    name: str
    declared: ScoredApplication
    position: Position
    placement: str
    """Name of the Placement: its own, or a ScoredPlacement's. Its namespace is Argo CD's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawDocument:
    """A Placement or ApplicationSet that is copied into the output."""

    kind: str
    name: str
    namespace: str
    """Its own, or Argo CD's if it names none."""
    data: Mapping[str, Any]
    position: Position


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A whole fleet repository after resolving."""

    repository: FleetRepository
    scorers: tuple[EffectiveScorer, ...]
    pending: tuple[PendingScorer, ...]
    open_scorers: tuple[EffectiveScorer, ...]
    """Full scorers that are incomplete here and complete on the hub, where the upstream controller reads
    their /config. Only with delivery.mode UpstreamController. Fields that only /config sets are empty.
    """
    clusters: tuple[ManagedCluster, ...]
    cluster_sets: tuple[ManagedClusterSet, ...]
    scoring_config: DynamicScoringConfig | None
    masks: tuple[Mask, ...]
    targets: Mapping[str, tuple[str, ...]]
    """For each cluster, the sorted names of the scorers that score it, wherever they run. Every cluster has
    an entry; suspended scorers are in none.
    """
    agents: frozenset[str]
    """Clusters that have an agent."""
    placements: tuple[ResolvedPlacement, ...]
    """Placements by scores, sorted by namespace and name. Copied Placements are raw documents."""
    source_variants: Mapping[str, Mapping[str, int]]
    """For each MetricSource, the index of the variant that a cluster uses."""
    applications: tuple[ResolvedApplication, ...]
    raw_documents: tuple[RawDocument, ...]

    def on_cluster(self, scorer: EffectiveScorer, cluster: str) -> EffectiveScorer:
        """A scorer with the variant of its MetricSource that a cluster uses. It is unchanged without
        source.ref, and where no variant selects the cluster.
        """
        if scorer.metric_source is None:
            return scorer
        index = self.source_variants[scorer.metric_source.metadata.name].get(cluster)
        return scorer if index is None else scorer.variants[index]
