"""All rules, in the order of the codes they report. A rule that is not listed here does not run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules import (
    application_sets,
    applications,
    completeness,
    credentials,
    destinations,
    dimensions,
    durations,
    hub_scoring,
    images,
    labels,
    locks,
    masks,
    measures,
    metric_sources,
    names,
    no_effect,
    placements,
    pods,
    published_scores,
    queries,
    query_scorers,
    receiver,
    references,
    score_tests,
    secrets,
    selectors,
    target_clusters,
    templates,
    upstream_limits,
    urls,
    weights,
)

Rule = Callable[[Context], Iterable[Diagnostic]]

_CLUSTERS, _SETS, _MASKS = "ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig"
_SCORERS, _LOCKS, _SETTINGS = "DynamicScorer", "ScorerLock", "FleetRepository"
_PLACEMENTS = ("Placement", "ScoredApplication", "ScoredPlacement")

RULES: Final[Mapping[Rule, tuple[str, ...]]] = {
    names.rendered_objects_differ: (_SETTINGS,),
    no_effect.fields_have_an_effect: (),
    upstream_limits.upstream_understands_it: (),
    completeness.settings_are_there: (_SETTINGS,),
    names.score_names_are_unique: (),
    urls.urls_can_be_called: (),
    urls.repositories_hold_no_credentials: (),
    secrets.repository_holds_no_secrets: (),
    secrets.headers_hold_no_secrets: (),
    completeness.scorers_are_complete: (),
    durations.durations_are_positive: (),
    durations.series_are_not_too_long: (),
    queries.queries_parse: (),
    queries.placeholders_are_known: (),
    queries.placeholders_can_be_filled: (),
    completeness.locks_are_there: (_SETTINGS, _LOCKS),
    locks.locks_do_not_overrule: (),
    locks.locks_get_no_tokens: (),
    locks.locks_keep_to_known_hosts: (_SETTINGS,),
    locks.locks_have_a_use: (_SCORERS,),
    durations.scores_outlive_their_interval: (),
    durations.sources_are_asked: (),
    upstream_limits.upstream_can_run_it: (),
    credentials.secrets_are_nobody_elses: (),
    credentials.tokens_go_where_they_may: (_SETTINGS,),
    credentials.secrets_have_one_host: (_SETTINGS,),
    credentials.hosts_are_no_metadata_services: (),
    query_scorers.query_scorers_have_a_source: (),
    query_scorers.default_scores_can_be_published: (),
    queries.series_have_items_of_their_own: (),
    images.images_have_digests: (),
    pods.pods_are_accepted: (),
    urls.the_repository_is_named: (),
    images.images_are_set: (),
    urls.hosts_are_not_local: (),
    urls.metrics_stay_inside: (_SETTINGS,),
    metric_sources.sources_exist: (),
    metric_sources.sources_cover_their_clusters: (_CLUSTERS, _MASKS),
    metric_sources.sources_are_used: (_SCORERS,),
    metric_sources.variants_can_match: (),
    measures.measures_exist: (),
    measures.only_present_values_are_asked: (),
    receiver.receivers_are_set_up: (),
    receiver.receivers_need_no_more: (),
    metric_sources.headers_can_be_sent: (),
    metric_sources.certificates_are_shown: (),
    hub_scoring.hub_scorers_know_their_clusters: (),
    queries.hub_queries_keep_clusters_apart: (),
    hub_scoring.clusters_have_identities: (),
    hub_scoring.settings_fit_where_it_runs: (),
    masks.masks_name_what_exists: (_CLUSTERS, _SCORERS),
    selectors.scorer_selectors_find_clusters: (_SETTINGS, _CLUSTERS),
    selectors.service_monitors_find_clusters: (_CLUSTERS,),
    selectors.rollouts_find_clusters: (_CLUSTERS,),
    masks.masks_are_written_once: (),
    target_clusters.scorers_run_somewhere: (_CLUSTERS, _MASKS),
    labels.labels_are_valid: (),
    labels.argocd_is_not_steered: (),
    masks.the_config_is_the_one: (),
    target_clusters.the_inventory_has_clusters: (_CLUSTERS,),
    references.scorers_exist: (_SETTINGS, _LOCKS),
    references.placements_exist: (_SETTINGS,),
    references.something_ranks: (),
    published_scores.scores_are_published: (_CLUSTERS, _SETS, _MASKS),
    published_scores.placements_rank_by_what_is_published: (_CLUSTERS, _SETS, _MASKS),
    dimensions.dimensions_can_match: (),
    published_scores.missing_scores_lose: (),
    weights.stickiness_can_be_expressed: (),
    applications.replace_is_not_excluding: (),
    weights.weights_count: (),
    applications.scores_are_listed_once: (),
    target_clusters.applications_have_clusters: (_SETTINGS, _CLUSTERS, _SETS, _MASKS),
    applications.names_fit_labels: (),
    applications.sources_are_complete: (),
    applications.argocd_takes_the_fields: (),
    placements.placements_work: (),
    placements.placements_rank_by_known_scores: (_SCORERS,),
    target_clusters.decisions_fit_one_object: (),
    weights.stickiness_keeps: (),
    applications.paths_stay_inside: (),
    urls.repositories_can_be_fetched: (),
    destinations.destinations_are_no_namespaces_of_the_platform: (_SETTINGS,),
    target_clusters.sets_of_clusters_exist: (_SETS,),
    target_clusters.sets_exist: (_SETS,),
    templates.templates_work: (),
    templates.templates_of_application_sets_work: (),
    applications.sources_say_one_thing: (),
    applications.applications_live_with_argocd: (_SETTINGS,),
    application_sets.application_sets_follow_decisions: (),
    application_sets.application_sets_live_with_argocd: (_SETTINGS,),
    application_sets.followed_placements_exist: (_SETTINGS, *_PLACEMENTS),
    score_tests.series_values_parse: (),
    score_tests.tests_name_what_exists: (_SETTINGS, _SCORERS, _CLUSTERS, *_PLACEMENTS),
    score_tests.scores_name_their_items: (),
    score_tests.nothing_is_given_twice: (),
}
"""Each rule, with the kinds of which every object must be readable, because it concludes something from what
is not written, or not selected.
"""


def findings(context: Context) -> Iterator[Diagnostic]:
    """What the rules find. A selector that is not valid selects nothing, so nothing follows from that."""
    invalid = list(selectors.selectors_are_valid(context))
    unknown = {kind for kind, _ in context.declared.left_out} | ({_CLUSTERS} if invalid else set())
    yield from invalid
    for rule, needed in RULES.items():
        if unknown.isdisjoint(needed):
            yield from rule(context)
