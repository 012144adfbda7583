"""Checks names, labels and annotations of what is rendered, and references to scorers and Placements."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.argocd.steering import steers
from gitops_dsf.diagnostics import Diagnostic, Edit, Position, codes
from gitops_dsf.hub.names import SYNC_WAVE
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.declared import CarriedItem, Item, RankingItem
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.rules.selectors import KEY_RULE, VALUE_RULE, label_key, label_value
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean_one_of


@rule(needs=("FleetRepository",))
def rendered_objects_differ(context: Context) -> Iterator[Diagnostic]:
    """Applications and ScoredPlacements render objects of their names; a copied one must differ."""
    declared, home = context.declared, context.argocd_namespace
    taken: dict[tuple[str, str, str], Position] = {}
    for application in declared.applications:
        taken["ApplicationSet", home, application.name] = application.position
        if application.value.spec.placement.ref is None:
            taken["Placement", home, application.name] = application.position
    others: tuple[RankingItem | CarriedItem, ...] = (*declared.carried, *declared.scored_placements)
    for item in sorted(others, key=lambda found: found.position):
        kind = "Placement" if item.document.kind == "ScoredPlacement" else item.document.kind
        namespace = context.namespace_of(item)
        first = taken.setdefault((kind, namespace, item.name), item.position)
        if first != item.position:
            message = f"{kind} {item.name} in {namespace} comes from {first} already"
            yield codes.DUPLICATE_OBJECT.at(
                item.position, message, "rename one of them, or remove it"
            )


@rule()
def score_names_are_unique(context: Context) -> Iterator[Diagnostic]:
    """Scorers with one score name overwrite each other, as do names that become one object name."""
    field = "scoring.params.name"
    by_name: dict[str, EffectiveScorer] = {}
    by_resource: dict[str, EffectiveScorer] = {}
    for _, scorer in sorted(context.scorers.items()):
        name, resource = scorer.score_name, scorer.resource_name
        if not name:
            continue
        same, alike = by_name.setdefault(name, scorer), by_resource.setdefault(resource, scorer)
        if same is not scorer:
            what = f"the score name {name} is used at {same.at(field)}, too"
            hint = "give each scorer a score name of its own"
            message = f"{what}: the two scores overwrite each other"
            yield codes.DUPLICATE_SCORE.at(scorer.at(field), message, hint)
        elif alike is not scorer:
            both = f"{name} and {alike.score_name} ({alike.at(field)})"
            message = f"{both} both become the AddOnPlacementScore {resource}"
            hint = "choose names that differ in more than case and punctuation"
            yield codes.SANITISED_CLASH.at(scorer.at(field), message, hint)


_ALLOWED: Final = {
    (kind, SYNC_WAVE) for kind in ("Placement", "ManagedClusterSetBinding", "ApplicationSet")
}
"""Kinds and annotations that are allowed: only the author of a copied document knows its sync wave."""
_SERVICE_MONITOR: Final = ("spec", "agent", "serviceMonitor", "labels")


@rule()
def argocd_is_not_steered(context: Context) -> Iterator[Diagnostic]:
    """Hooks, sync options and tracking IDs change whether Argo CD deletes, replaces or owns an object.

    Also in documents that are not rendered: there they do nothing, and their author believes otherwise. The
    inventory is a copy of what a hub has.
    """
    declared = context.declared
    unrendered = (*declared.metric_sources, *declared.scoring_configs, *declared.locks)
    repository = (declared.repository,) if declared.repository is not None else ()
    others = (*unrendered, *declared.score_tests, *declared.maintenance, *repository)
    for document, field, key, _ in _noted(*_rendered(context), *others):
        if field == "labels" or (document.kind, key) not in _ALLOWED:
            yield from _steering(document, ("metadata", field, key))
    for item in repository:
        labels = value_at(item.document.data, _SERVICE_MONITOR)
        for key in labels if isinstance(labels, dict) else ():
            yield from _steering(item.document, (*_SERVICE_MONITOR, key))


def _steering(document: Document, path: Path) -> Iterator[Diagnostic]:
    """The finding about a label or annotation that Argo CD would obey."""
    key = str(path[-1])
    if steers(key):
        yield codes.ARGOCD_CONTROL.at(
            document.key_at(path),
            f"{dotted(path[:-1])}: {key} would steer how Argo CD applies this object",
            "remove it; gitops-dsf renders the waves and options that its objects need",
            edits=(Edit(path),),
        )


@rule()
def labels_are_valid(context: Context) -> Iterator[Diagnostic]:
    """Checks the labels of what is rendered, and of clusters: no selector matches an invalid one."""
    inventory = (*context.declared.clusters, *context.declared.cluster_sets)
    for document, field, key, value in _noted(*inventory, *_rendered(context)):
        path = ("metadata", field, key)
        if not label_key(key.lower() if field == "annotations" else key):
            message = f"metadata.{field}: {key or 'an empty key'} is not allowed"
            yield codes.BAD_VALUE.at(document.key_at(path), message, KEY_RULE)
        elif field == "labels" and isinstance(value, str) and not label_value(value):
            message = f"metadata.labels.{key}: {value[:60]} is not allowed"
            yield codes.BAD_VALUE.at(document.at(path), message, VALUE_RULE)


def _rendered(context: Context) -> Iterator[Item[Authored]]:
    declared = context.declared
    yield from (
        *declared.scorers,
        *declared.applications,
        *declared.scored_placements,
        *declared.carried,
    )


def _noted(*items: Item[Authored]) -> Iterator[tuple[Document, str, str, object]]:
    """The document, field, key and value of each label and annotation."""
    for item in items:
        for field in ("labels", "annotations"):
            entries = item.document.data["metadata"].get(field)
            for key, value in entries.items() if isinstance(entries, dict) else ():
                yield item.document, field, key, value


@rule(needs=("FleetRepository",))
def namespaces_have_an_effect(context: Context) -> Iterator[Diagnostic]:
    """Scorers and masks are rendered into the hub namespace; others of our kinds are no objects there."""
    declared, home = context.declared, context.settings.hub_namespace
    rendered: tuple[Item[Authored], ...] = (*declared.scorers, *declared.scoring_configs)
    read: tuple[Item[Authored], ...] = (
        *(() if declared.repository is None else (declared.repository,)),
        *declared.metric_sources,
        *declared.locks,
        *declared.score_tests,
        *declared.maintenance,
    )
    place = ("metadata", "namespace")
    for item in (*rendered, *read):
        written, kind = value_at(item.document.data, place), item.document.kind
        if not written:
            continue
        if kind in {"DynamicScorer", "DynamicScoringConfig"}:
            if written == home:
                continue
            message = (
                f"metadata.namespace {written} has no effect: a {kind} is rendered into {home}"
            )
        else:
            message = (
                f"metadata.namespace {written} has no effect: a {kind} is not an object of the hub"
            )
        yield codes.IGNORED_NAMESPACE.at(
            item.at(*place), message, "remove it", edits=(Edit(place),)
        )


@rule(needs=("FleetRepository", "ScorerLock"))
def scorers_exist(context: Context) -> Iterator[Diagnostic]:
    """Every scorer that a ranking names must exist, be able to run, and publish under a known name."""
    left_out = context.declared.may_exist
    for item, path, score in context.ranked:
        if score.scorer in context.complete or left_out("DynamicScorer", score.scorer):
            continue
        position = item.at(*path, "scorer")
        scorer = context.scorers.get(score.scorer)
        if scorer is None:
            message = f"there is no DynamicScorer {score.scorer}"
            yield codes.UNKNOWN_SCORER.at(position, message, _hint(score.scorer, context))
        elif context.config_is_unseen(scorer):
            if not scorer.score_name:
                message = f"the name of {score.scorer}'s score is known to its /config alone"
                sync = f"run gitops-dsf sync --scorer {score.scorer}"
                hint = f"write scoring.params.name into the scorer, or {sync}"
                yield codes.UNKNOWN_SCORER.at(position, message, hint)
        elif context.waits_for_lock(scorer):
            message = f"{score.scorer} waits for its lock: nothing will publish this score"
            yield codes.UNKNOWN_SCORER.at(
                position, message, f"run gitops-dsf sync --scorer {score.scorer}"
            )


@rule(needs=("FleetRepository",))
def placements_exist(context: Context) -> Iterator[Diagnostic]:
    """Argo CD reads decisions in its own namespace (docs/contributing/behaviour.md#one-namespace)."""
    left_out = context.declared.may_exist
    for item in context.declared.applications:
        ref = item.value.spec.placement.ref
        if ref is None or ref in context.shared_placements or left_out("ScoredPlacement", ref):
            continue
        position = item.at("spec", "placement", "ref")
        elsewhere = next(
            (found for found in context.declared.scored_placements if found.name == ref), None
        )
        if elsewhere is not None:
            message = (
                f"the ScoredPlacement {ref} is in {context.namespace_of(elsewhere)}, and Argo CD reads"
                f" decisions in {context.argocd_namespace} only"
            )
            hint = f"remove its namespace, or write a second one in {context.argocd_namespace}"
            yield codes.WRONG_NAMESPACE.at(position, message, hint)
        else:
            message = f"there is no ScoredPlacement {ref} in apps/"
            yield codes.UNKNOWN_SCORED_PLACEMENT.at(
                position, message, _placement_hint(ref, context)
            )


@rule()
def something_ranks(context: Context) -> Iterator[Diagnostic]:
    """An application that follows no ScoredPlacement needs a ranking of its own."""
    for item in context.declared.applications:
        if (
            item.value.spec.placement.ref is None
            and item.document.data["spec"].get("scores") is None
        ):
            reference = "placement.ref (a ScoredPlacement that has them)"
            hint = f"add scores (which scorers rank the clusters), or {reference}"
            yield codes.MISSING_FIELD.at(item.at("spec", "scores"), "spec.scores is missing", hint)


def _placement_hint(name: str, context: Context) -> str:
    for item in (*context.declared.applications, *context.declared.placements):
        if item.name == name:
            return f"{name} is a {item.document.kind}; write a ScoredPlacement, and refer to that"
    return did_you_mean_one_of(name, context.shared_placements)


def _hint(name: str, context: Context) -> str:
    for scorer in context.complete.values():
        if scorer.score_name == name:
            return f"{name} is the score name of {scorer.name}; write scorer: {scorer.name}"
    return did_you_mean_one_of(name, context.scorers)
