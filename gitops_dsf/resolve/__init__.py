"""Computes effective scorers, targets and applications, and checks every rule. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_dsf.diagnostics import Diagnostic, has_errors, in_order
from gitops_dsf.diagnostics.listed import Listed
from gitops_dsf.repository.model.apps import ScoredApplication
from gitops_dsf.repository.model.config import DynamicScoringConfig, Maintenance, Mask
from gitops_dsf.repository.model.declared import Declared
from gitops_dsf.repository.model.foreign import ManagedCluster, ManagedClusterSet
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.resolve.context import Context, context_of
from gitops_dsf.resolve.hub_writes import writes_per_second
from gitops_dsf.resolve.rankings import ResolvedPlacement, resolve_ranking
from gitops_dsf.resolve.rules import RULES
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS
from gitops_dsf.resolve.rules.selectors import selectors_are_valid
from gitops_dsf.resolve.rules.templates import ClusterParameters, cluster_parameters
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.targets import clusters_with_agents, targets


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
        """Writes per second by which agents and hub scorer refresh all scores."""
        return writes_per_second(self.scorers, self.runs_on)


def resolve(
    declared: Declared, *, locks_are_final: bool = False
) -> tuple[Resolved | None, list[Diagnostic]]:
    """Returns the resolved repository and all findings in order of position. The repository is None when any
    finding is an error. With `locks_are_final`, so is a mask for a score that only a lock could add that is
    not written yet.
    """
    context = context_of(declared, locks_are_final=locks_are_final)
    listed = Listed()
    listed.add(declared.diagnostics)
    listed.add(_findings(context))
    diagnostics = in_order(listed.all())
    if has_errors(diagnostics):
        return None, diagnostics
    return _decide(context), diagnostics


def _decide(context: Context) -> Resolved:
    declared = context.declared
    repository = declared.repository
    placements = [
        resolve_ranking(
            each, context.scorers, namespace=context.namespace_of(each), settings=context.settings
        )
        for each in declared.rankings
    ]
    if repository is None or None in placements:
        raise AssertionError("a repository without errors must resolve; a rule is missing")
    scorers = tuple(context.complete[name] for name in sorted(context.complete))
    waiting = [
        found for _, found in sorted(context.scorers.items()) if context.waits_for_lock(found)
    ]
    carried = sorted(
        declared.carried,
        key=lambda item: (item.document.kind, item.name, context.namespace_of(item)),
    )
    runs_on = {
        scorer.name: frozenset[str]()
        if scorer.spec.suspend
        else context.target_clusters[scorer.name]
        for scorer in scorers
    }
    return Resolved(
        repository=repository.value,
        scorers=scorers,
        open_scorers=tuple(waiting) if context.is_upstream else (),
        clusters=tuple(item.value for item in declared.clusters),
        cluster_sets=tuple(item.value for item in declared.cluster_sets),
        scoring_config=declared.scoring_configs[0].value if declared.scoring_configs else None,
        masks=context.masks,
        maintenance=tuple(item.value for item in declared.maintenance),
        runs_on=runs_on,
        targets=targets(runs_on, context.inventory),
        source_variants={
            name: {
                cluster: variant.index
                for variant in source.variants
                for cluster in variant.clusters
            }
            for name, source in context.sources.items()
        },
        agents=clusters_with_agents(context.scorers.values(), context.inventory),
        placements=tuple(
            sorted(filter(None, placements), key=lambda each: (each.namespace, each.name))
        ),
        applications=tuple(item.value for item in declared.applications),
        cluster_parameters={
            item.name: found
            for item in declared.applications
            if (found := cluster_parameters(context, item))
        },
        carried=tuple(
            _with_namespace(item.document.data, context.namespace_of(item)) for item in carried
        ),
    )


def _with_namespace(data: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    return {**data, "metadata": {**data["metadata"], "namespace": namespace}}


def _findings(context: Context) -> Iterator[Diagnostic]:
    """What the rules find, without those that need an object that cannot be read.

    A selector that is not valid selects nothing. Nothing may be concluded from that, so the rules
    about clusters are skipped then.
    """
    invalid_selectors = tuple(selectors_are_valid(context))
    unreadable = {kind for kind, _ in context.declared.left_out}
    if invalid_selectors:
        unreadable.add("ManagedCluster")
    if context.declared.repository is None:
        unreadable.add(SETTINGS)
    if not context.inventory.clusters:
        unreadable.add(CLUSTERS)
    yield from invalid_selectors
    for rule in RULES:
        if rule is not selectors_are_valid and unreadable.isdisjoint(rule.needs):
            yield from rule(context)
