"""Checks shadow scorers: whether they can be compared with their live scorer, and that no Placement reads
their scores.
"""

from collections.abc import Iterator

from dsf_wire.scorename import sanitise
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.hub.placements import scores_named
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.delivery import RawPlacement
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.overlay import Overlay
from gitops_dsf.resolve.rules.raw_document import indexes, resources_ranked_by
from gitops_dsf.resolve.shadows import live_of
from gitops_dsf.wording import names_text

NAMED = 3
"""Clusters that a finding names at most."""


def shadows_have_a_live_scorer(context: Context) -> Iterator[Diagnostic]:
    """A shadow must name another scorer, which is no shadow itself."""
    for overlay, live in _shadows(context):
        item = overlay.scorer
        name = str(item.value.spec.shadow_of)
        if live is not None or context.is_malformed("DynamicScorer", name):
            continue
        position = item.at("spec", "shadowOf")
        found = context.overlays.get(name)
        known = [
            each for each, other in context.overlays.items() if other.scorer.value.spec.shadow_of is None
        ]
        if found is None:
            hint = did_you_mean(name, known) or f"defined here: {names_text(sorted(known), most=8) or 'none'}"
            yield codes.UNKNOWN_LIVE.at(position, f"there is no DynamicScorer {name}", hint)
        elif name == item.name:
            hint = "write the name of the live scorer, or remove shadowOf"
            yield codes.SHADOW_OF_SHADOW.at(position, f"{name} is a shadow of itself", hint)
        else:
            behind = found.scorer.value.spec.shadow_of
            hint = f"write shadowOf: {behind}; a scorer can have several shadows"
            yield codes.SHADOW_OF_SHADOW.at(position, f"{name} is a shadow itself, of {behind}", hint)


def shadows_can_be_compared(context: Context) -> Iterator[Diagnostic]:
    """Two scores can be compared on the clusters that have both, so a shadow runs where its live scorer runs,
    and publishes if that publishes.
    """
    for overlay, live in _shadows(context):
        if live is None:
            continue
        item, name, of = overlay.scorer, overlay.scorer.name, live.scorer
        if overlay.selector != live.selector:
            message = f"{name} selects other clusters than {of.name}, and is its shadow"
            hint = "remove clusterSelector: a shadow runs on the clusters of its live scorer"
            yield codes.SHADOW_ELSEWHERE.at(item.document.key_at(("spec", "clusterSelector")), message, hint)
        else:
            yield from _masked(context, overlay, live)
        written, wanted = item.value.spec.score_destination, of.value.spec.score_destination
        if written != wanted:
            message = f"{name} has scoreDestination {written}, and its live scorer {of.name} has {wanted}"
            yield codes.SHADOW_ELSEWHERE.at(
                item.at("spec", "scoreDestination"), message, f"write scoreDestination: {wanted}"
            )


def _masked(context: Context, overlay: Overlay, live: Overlay) -> Iterator[Diagnostic]:
    targets = context.target_clusters
    name, of = overlay.scorer.name, live.scorer.name
    if name not in targets or of not in targets or not targets[of] - targets[name]:
        return
    lacking = sorted(targets[of] - targets[name])
    score = overlay.score_name.value
    yield codes.SHADOW_ELSEWHERE.at(
        overlay.scorer.position,
        f"masks of {score} keep the shadow {name} off {names_text(lacking, most=NAMED)}, where {of} runs",
        f"remove these masks; the masks of {live.score_name.value} also apply to its shadows",
        severity=Severity.WARNING,
    )


def locks_of_shadows_keep_the_name(context: Context) -> Iterator[Diagnostic]:
    """After a promotion the lock of the shadow is the lock of the live scorer. Another score name in it would
    rename the score, and a Placement would find no score until all clusters have published the new one.
    """
    for overlay, live in _shadows(context):
        if live is None or overlay.lock is None:
            continue
        name = overlay.lock.value.spec.config.scoring.params.name
        if name and live.score_name.value and name != live.score_name.value:
            message = (
                f"the /config of {overlay.scorer.name} names the score {name}; {live.scorer.name} publishes"
                f" {live.score_name.value}, and would be renamed when this shadow is promoted"
            )
            yield codes.SHADOW_LOCK.at(
                overlay.lock.at("spec", "config", "scoring", "params", "name"),
                message,
                f"let the scoring API answer {live.score_name.value}, or write configSyncMode: None in the"
                " shadow",
            )


def placements_do_not_read_shadows(context: Context) -> Iterator[Diagnostic]:
    """A shadow is there to be looked at. Its scores must not decide before it is promoted."""
    shadows = {overlay.scorer.name: overlay for overlay, _ in _shadows(context)}
    if not shadows:
        return
    for item in context.declared.rankings:
        for index, score in enumerate(item.value.spec.scores):
            overlay = shadows.get(score.scorer)
            if overlay is not None:
                yield codes.RANKED_BY_SHADOW.at(
                    item.at("spec", "scores", index, "scorer"), *_words(overlay, item.name)
                )
    resources = {
        sanitise(str(overlay.score_name.value)): overlay
        for overlay in shadows.values()
        if overlay.score_name.value
    }
    for placement in context.declared.placements:
        for place, resource in _resources(placement):
            if resource in resources:
                yield codes.RANKED_BY_SHADOW.at(
                    placement.at(*place), *_words(resources[resource], placement.name)
                )


def _resources(item: Item[RawPlacement]) -> Iterator[tuple[Path, str]]:
    """The AddOnPlacementScores that a raw Placement reads, and where they are named."""
    document = item.document
    yield from resources_ranked_by(document)
    for place in indexes(document, "spec", "predicates"):
        for where in indexes(document, *place, "requiredClusterSelector", "celSelector", "celExpressions"):
            expression = value_at(document.data, where)
            if isinstance(expression, str):
                yield from ((where, name) for name in scores_named(expression))


def _words(overlay: Overlay, reader: str) -> tuple[str, str]:
    live = overlay.scorer.value.spec.shadow_of
    name = overlay.scorer.name
    return (
        f"{name} is a shadow of {live}, and its scores must not decide where {reader} runs",
        f"name {live}; gitops-dsf promote {name} gives it the definition of this shadow",
    )


def _shadows(context: Context) -> Iterator[tuple[Overlay, Overlay | None]]:
    """Every well-formed shadow, and its live scorer."""
    for _, overlay in sorted(context.overlays.items()):
        if overlay.scorer.value.spec.shadow_of is not None:
            yield overlay, live_of(overlay, context.overlays)
