"""All rules, and what they need to know."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.resolve import rules
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules import (
    application_sets,
    applications,
    completeness,
    credentials,
    destinations,
    images,
    locks,
    masks,
    metric_sources,
    names,
    placements,
    pods,
    published_scores,
    receiver,
    references,
    score_tests,
    selectors,
    target_clusters,
    urls,
)

Rule = Callable[[Context], Iterator[Diagnostic]]
_SHAPE: Final = {"context": Context, "return": Iterator[Diagnostic]}

_CLUSTERS, _SETS, _MASKS = "ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig"
_SCORERS, _LOCKS, _SETTINGS = "DynamicScorer", "ScorerLock", "FleetRepository"
_WRITTEN = "settings"
"""For rules about the settings themselves, which must be there, too."""
_PLACEMENTS = ("Placement", "ScoredApplication", "ScoredPlacement")

RULES: Final[tuple[Rule, ...]] = tuple(
    found
    for module in (import_module(f"{__package__}.{each.name}") for each in iter_modules(rules.__path__))
    for name, found in vars(module).items()
    if not name.startswith("_") and getattr(found, "__annotations__", None) == _SHAPE
)
"""Every public function of this package that takes the context alone and yields findings."""
NEEDS: Final[Mapping[Rule, tuple[str, ...]]] = {
    application_sets.application_sets_live_with_argocd: (_SETTINGS,),
    application_sets.followed_placements_exist: (_SETTINGS, *_PLACEMENTS),
    applications.applications_live_with_argocd: (_SETTINGS,),
    completeness.settings_are_there: (_SETTINGS,),
    completeness.locks_are_there: (_SETTINGS, _LOCKS),
    credentials.secrets_have_one_host: (_SETTINGS,),
    credentials.tokens_go_where_they_may: (_SETTINGS,),
    destinations.destinations_are_no_namespaces_of_the_platform: (_SETTINGS,),
    images.images_are_set: (_WRITTEN,),
    images.images_have_digests: (_WRITTEN,),
    locks.locks_have_a_use: (_SCORERS,),
    locks.locks_keep_to_known_hosts: (_SETTINGS,),
    masks.masks_name_what_exists: (_CLUSTERS, _SCORERS),
    metric_sources.sources_are_used: (_SCORERS,),
    metric_sources.sources_cover_their_clusters: (_CLUSTERS, _MASKS),
    names.rendered_objects_differ: (_SETTINGS,),
    placements.placements_rank_by_known_scores: (_SCORERS,),
    pods.pods_are_accepted: (_WRITTEN,),
    published_scores.placements_rank_by_what_is_published: (_CLUSTERS, _SETS, _MASKS),
    published_scores.scores_are_published: (_CLUSTERS, _SETS, _MASKS),
    receiver.receivers_are_set_up: (_WRITTEN,),
    references.placements_exist: (_SETTINGS,),
    references.scorers_exist: (_SETTINGS, _LOCKS),
    score_tests.tests_name_what_exists: (_SETTINGS, _SCORERS, _CLUSTERS, *_PLACEMENTS),
    selectors.rollouts_find_clusters: (_WRITTEN, _CLUSTERS),
    selectors.scorer_selectors_find_clusters: (_SETTINGS, _CLUSTERS),
    selectors.service_monitors_find_clusters: (_WRITTEN, _CLUSTERS),
    target_clusters.applications_have_clusters: (_SETTINGS, _CLUSTERS, _SETS, _MASKS),
    target_clusters.scorers_run_somewhere: (_CLUSTERS, _MASKS),
    target_clusters.sets_exist: (_SETS,),
    target_clusters.sets_of_clusters_exist: (_SETS,),
    target_clusters.the_inventory_has_clusters: (_WRITTEN, _CLUSTERS),
    urls.metrics_stay_inside: (_SETTINGS,),
    urls.the_repository_is_named: (_WRITTEN,),
}
"""Kinds of which every object must be readable for a rule, because it concludes something from what is not
written, or not selected.
"""


def findings(context: Context) -> Iterator[Diagnostic]:
    """What the rules find. A selector that is not valid selects nothing, so nothing follows from that."""
    invalid = selectors.invalid_selectors(context)
    unknown = {kind for kind, _ in context.declared.left_out} | ({_CLUSTERS} if invalid else set())
    if context.declared.repository is None:
        unknown.add(_WRITTEN)
    yield from invalid
    for rule in RULES:
        if unknown.isdisjoint(NEEDS.get(rule, ())):
            yield from rule(context)
