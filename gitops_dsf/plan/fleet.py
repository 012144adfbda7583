"""A fleet repository without errors, as rendering, previews and verbs read it.

`plan` builds it once the rules found no error (`gitops_dsf.resolve`). Guaranteed: everything in it
is sorted by name, so that the same repository renders to the same bytes. Not guaranteed: that it
fits the limits of OCM and Argo CD, which `render.limits` checks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.hub.inventory_digests import MAX_CLUSTERS
from gitops_dsf.hub.maintenance import Maintenance as HubMaintenance
from gitops_dsf.hub.scorers import counted_span
from gitops_dsf.plan.works import (
    ClusterWork,
    HubScoring,
    SourceVariants,
    cluster_works,
    hub_scoring,
    on_cluster,
)
from gitops_dsf.repository.model.declared import CarriedItem, Item
from gitops_dsf.repository.model.foreign import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.repository.model.scoring_config import DynamicScoringConfig, Mask
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.external_scores import ExternalScores
from gitops_dsf.resolve.hub_writes import writes_per_second
from gitops_dsf.resolve.inventory import NO_CLUSTERS
from gitops_dsf.resolve.maintenance_windows import on_the_hub
from gitops_dsf.resolve.rankings import ResolvedPlacement, resolve_ranking
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.targets import clusters_with_agents, targets
from gitops_dsf.resolve.template_parameters import ClusterParameters, cluster_parameters
from gitops_dsf.resolve.verifications import digest_of

ModelT = TypeVar("ModelT")


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiKueueUse:
    """The objects that ScoredPlacements with multiKueue concern. All names are sorted."""

    configs: tuple[str, ...] = ()
    """The MultiKueueConfigs that they name."""
    namespaces: tuple[str, ...] = ()
    """The namespaces of their Placements."""


NO_MULTI_KUEUE: Final = MultiKueueUse()


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedFleet:
    """A whole fleet repository after all checks, and what should exist on the hub because of it."""

    repository: FleetRepository
    scorers: tuple[EffectiveScorer, ...]
    open_scorers: tuple[EffectiveScorer, ...]
    """Full scorers that the upstream controller completes on the hub, with UpstreamController only.
    """
    clusters: tuple[ManagedCluster, ...]
    cluster_sets: tuple[ManagedClusterSet, ...]
    scoring_config: DynamicScoringConfig | None
    masks: tuple[Mask, ...]
    maintenance: tuple[Maintenance, ...]
    runs_on: Mapping[str, frozenset[str]]
    """The clusters that each complete scorer scores. Suspended scorers score none."""
    targets: Mapping[str, tuple[str, ...]]
    """The sorted names of the scorers that score each cluster; suspended ones are in none."""
    agents: frozenset[str]
    """Clusters that have an agent."""
    placements: tuple[ResolvedPlacement, ...]
    """Placements by scores, sorted by namespace and name. Copied Placements are raw documents."""
    by_variant: Mapping[str, tuple[EffectiveScorer, ...]]
    """Every scorer with each variant of its MetricSource, by name.

    Without source.ref, the scorer alone.
    """
    source_variants: SourceVariants
    applications: tuple[ScoredApplication, ...]
    cluster_parameters: Mapping[str, tuple[ClusterParameters, ...]]
    """The labels and claims of its clusters that the templates of each application read, if any."""
    carried: tuple[Mapping[str, Any], ...]
    """Placements and ApplicationSets that are copied into the output. Each names its namespace."""
    works: tuple[ClusterWork, ...]
    """Empty with delivery.mode UpstreamController."""
    hub_scoring: HubScoring | None
    """None if no scorer runs on the hub."""

    def on_cluster(self, scorer: EffectiveScorer, cluster: str) -> EffectiveScorer:
        """A scorer with the variant that a cluster uses.

        The scorer itself without source.ref, and where no variant selects the cluster.
        """
        return on_cluster(scorer, cluster, self.by_variant, self.source_variants)

    @property
    def hub_writes_per_second(self) -> float:
        """Writes per second by which agents and hub scorer refresh all scores."""
        return writes_per_second(self.scorers, self.runs_on)

    @property
    def placement_namespaces(self) -> tuple[str, ...]:
        """Namespaces of ScoredPlacements outside the Argo CD namespace, sorted."""
        namespaces = {placement.namespace for placement in self.placements}
        # In Argo CD's own namespace the reconciler has these rights anyway.
        namespaces.discard(self.repository.spec.argocd.namespace)
        return tuple(sorted(namespaces))

    @property
    def multi_kueue(self) -> MultiKueueUse:
        """The MultiKueueConfigs that are ordered, and where their Placements are."""
        configs: set[str] = set()
        namespaces: set[str] = set()
        for placement in self.placements:
            if placement.multi_kueue is not None:
                configs.add(placement.multi_kueue.config)
                namespaces.add(placement.namespace)
        return MultiKueueUse(configs=tuple(sorted(configs)), namespaces=tuple(sorted(namespaces)))

    @cached_property
    def cluster_names(self) -> frozenset[str]:
        """The clusters of the inventory."""
        return frozenset(cluster.metadata.name for cluster in self.clusters)

    @cached_property
    def scorer_by_name(self) -> Mapping[str, EffectiveScorer]:
        """Complete scorers by name."""
        return {scorer.name: scorer for scorer in self.scorers}

    @cached_property
    def scorer_by_resource(self) -> Mapping[str, EffectiveScorer]:
        """Scorers by the name of the AddOnPlacementScore that they publish."""
        by_resource: dict[str, EffectiveScorer] = {}
        for scorer in self.scorers:
            if scorer.spec.score_destination == "AddOnPlacementScore":
                by_resource[scorer.resource_name] = scorer
        return by_resource

    def predecessor_of(self, later: EffectiveScorer) -> EffectiveScorer | None:
        """The scorer whose published scores are those of `later`, a scorer of a later revision.

        It is the one that publishes the same AddOnPlacementScore, whatever its own name is, else
        the one of the same name. None if there are no published scores to go on from.
        """
        if later.resource_name in self.scorer_by_resource:
            return self.scorer_by_resource[later.resource_name]
        same_name = self.scorer_by_name.get(later.name)
        if same_name is None or same_name.resource_name not in self.scorer_by_resource:
            return None
        return same_name

    @cached_property
    def spans(self) -> Mapping[str, ScoreSpan]:
        """The scores that OCM can count, by name of the AddOnPlacementScore."""
        external = ExternalScores(self.repository.spec.external_scores)
        spans: dict[str, ScoreSpan] = dict(external.spans())
        for scorer in self.scorers:
            spans[scorer.resource_name] = counted_span(scorer.published, scorer.spec.default_score)
        return spans

    @cached_property
    def inventory_digests(self) -> Mapping[str, str]:
        """A digest of the inventory entry of each cluster; empty if no move is verified.

        The reconciler ends a hold when the entry of its cluster changes. Beyond MAX_CLUSTERS
        clusters it is empty, because a ConfigMap has room for 1 MB; then holds end by time, or
        with a change of the application.
        """
        if not self._verifies_moves or len(self.clusters) > MAX_CLUSTERS:
            return {}
        digests: dict[str, str] = {}
        for cluster in self.clusters:
            digests[cluster.metadata.name] = digest_of([cluster])
        return digests

    @property
    def _verifies_moves(self) -> bool:
        for placement in self.placements:
            if placement.paced is not None and placement.paced.verification is not None:
                return True
        return False

    @cached_property
    def maintenance_on_hub(self) -> tuple[HubMaintenance, ...]:
        """Maintenance as the reconciler reads it."""
        return tuple(map(on_the_hub, self.maintenance))


def plan(context: Context) -> CheckedFleet:
    """The fleet of a repository without errors.

    Raises AssertionError where a rule should have found an error and did not.
    """
    declared = context.declared
    repository = declared.repository
    if repository is None:
        # Without this, a missing rule would render a part of a fleet, and Argo CD would prune the
        # rest.
        raise AssertionError("a repository without settings has an error; a rule is missing")
    scorers = tuple(context.complete[name] for name in sorted(context.complete))
    runs_on = _runs_on(scorers, context)
    by_cluster = targets(runs_on, context.inventory)
    agents = clusters_with_agents(context.scorers.values(), context.inventory)
    clusters = _values_of(declared.clusters)
    source_variants = _source_variants(context)
    settings = context.settings
    scoring_config: DynamicScoringConfig | None = None
    if declared.scoring_configs:
        scoring_config = declared.scoring_configs[0].value
    works: tuple[ClusterWork, ...] = ()
    on_hub: HubScoring | None = None
    # With delivery.mode UpstreamController, upstream's controller writes the ManifestWorks.
    if settings.delivers_works:
        works = cluster_works(
            settings=settings,
            scorers=scorers,
            clusters=[cluster for cluster in clusters if cluster.metadata.name in agents],
            targets=by_cluster,
            by_variant=context.by_variant,
            source_variants=source_variants,
        )
        on_hub = hub_scoring(
            settings=settings,
            scorers=scorers,
            clusters=clusters,
            targets=by_cluster,
            by_variant=context.by_variant,
        )
    return CheckedFleet(
        repository=repository.value,
        scorers=scorers,
        open_scorers=_open_scorers(context),
        clusters=clusters,
        cluster_sets=_values_of(declared.cluster_sets),
        scoring_config=scoring_config,
        masks=context.masks,
        maintenance=_values_of(declared.maintenance),
        runs_on=runs_on,
        targets=by_cluster,
        agents=agents,
        placements=_placements(context),
        by_variant=context.by_variant,
        source_variants=source_variants,
        applications=_values_of(declared.applications),
        cluster_parameters=_cluster_parameters(context),
        carried=_carried(context),
        works=works,
        hub_scoring=on_hub,
    )


def _values_of(declared: Iterable[Item[ModelT]]) -> tuple[ModelT, ...]:
    """Declared objects without their positions."""
    return tuple(authored.value for authored in declared)


def _runs_on(scorers: Iterable[EffectiveScorer], context: Context) -> dict[str, frozenset[str]]:
    runs_on: dict[str, frozenset[str]] = {}
    for scorer in scorers:
        runs_on[scorer.name] = context.target_clusters[scorer.name]
        if scorer.spec.suspend:
            runs_on[scorer.name] = NO_CLUSTERS
    return runs_on


def _open_scorers(context: Context) -> tuple[EffectiveScorer, ...]:
    if not context.is_upstream:
        return ()
    # With ManifestWorks such a scorer is pending instead: no other program would complete it.
    waiting = filter(context.waits_for_lock, context.scorers.values())
    return tuple(sorted(waiting, key=lambda scorer: scorer.name))


def _placements(context: Context) -> tuple[ResolvedPlacement, ...]:
    placements = []
    for ranking in context.declared.rankings:
        placement = resolve_ranking(
            ranking,
            context.scorers,
            variants=context.by_variant,
            external=context.external_scores,
            namespace=context.namespace_of(ranking),
            settings=context.settings,
        )
        if placement is None:
            raise AssertionError(
                f"the scores of {ranking.name} cannot be weighed; a rule is missing"
            )
        placements.append(placement)
    return tuple(sorted(placements, key=lambda placement: (placement.namespace, placement.name)))


def _source_variants(context: Context) -> dict[str, dict[str, int]]:
    # Also sources whose variants select no cluster: `on_cluster` expects every source.
    by_source: dict[str, dict[str, int]] = {name: {} for name in context.sources}
    for variant in context.source_variants:
        by_source[variant.source.name] |= dict.fromkeys(variant.clusters, variant.index)
    return by_source


def _cluster_parameters(context: Context) -> dict[str, tuple[ClusterParameters, ...]]:
    by_application: dict[str, tuple[ClusterParameters, ...]] = {}
    for application in context.declared.applications:
        parameters = cluster_parameters(context, application)
        if parameters:
            by_application[application.name] = parameters
    return by_application


def _carried(context: Context) -> tuple[dict[str, Any], ...]:
    def sort_key(carried: CarriedItem) -> tuple[str, str, str]:
        return (carried.document.kind, carried.name, context.namespace_of(carried))

    documents: list[dict[str, Any]] = []
    for carried in sorted(context.declared.carried, key=sort_key):
        # People may leave the namespace out. Then it is Argo CD's.
        data = carried.document.data
        metadata = {**data["metadata"], "namespace": context.namespace_of(carried)}
        documents.append({**data, "metadata": metadata})
    return tuple(documents)
