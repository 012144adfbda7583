"""Checks what ranks clusters: weights, stickiness, items, whether each score is published, and the pace."""

from collections.abc import Iterable, Iterator
from math import gcd

from dsf_wire.dimension import PLACEHOLDERS, can_yield, placeholders
from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.hub.pace import HOLD_SPAN, MAX_TERMS, MOVES_SCORE
from gitops_dsf.hub.points import points_of, points_text
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.apps import ScoredApplication
from gitops_dsf.repository.model.declared import Item, RankingItem
from gitops_dsf.repository.model.foreign import RawPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rankings import (
    choose,
    expressible,
    hold_weights,
    is_paced,
    nearest,
    nearest_weights,
    ranked_by,
    reach,
    spans,
)
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.resolve.rules.target_clusters import choosable, eligible
from gitops_dsf.resolve.scorer import EffectiveScorer


@rule()
def weights_count(context: Context) -> Iterator[Diagnostic]:
    """OCM does not run a prioritizer of weight 0. If all weights are 0, nothing ranks the clusters."""
    for item in context.declared.rankings:
        scores = item.value.spec.scores
        if scores and not any(score.weight for score in scores):
            position = item.at("spec", "scores", 0, "weight")
            hint = "give a score a weight from 1 to 10; a Placement without scores ranks by nothing, too"
            yield codes.BAD_VALUE.at(
                position, "every weight is 0: nothing ranks the clusters", hint
            )
            continue
        for index, score in enumerate(scores):
            if score.weight == 0:
                position = item.at("spec", "scores", index, "weight")
                message = f"with weight 0 the score {score.scorer} has no effect"
                yield codes.ZERO_WEIGHT.at(
                    position, message, "remove the entry, or give it a weight"
                )


@rule()
def stickiness_keeps(context: Context) -> Iterator[Diagnostic]:
    """With stickiness 0 a point of difference moves an application."""
    for item in context.declared.rankings:
        spec = item.value.spec
        if spec.stickiness == 0 and any(score.weight for score in spec.scores):
            message = "with stickiness 0 the decision changes as soon as another cluster is one point better"
            hint = "write the points of a lead that is worth a move"
            yield codes.NO_STEADY.at(item.at("spec", "stickiness"), message, hint)


@rule()
def stickiness_can_be_expressed(context: Context) -> Iterator[Diagnostic]:
    """OCM's weights are integers of at most 10, so not every stickiness can be expressed."""
    for item in context.declared.rankings:
        spec = item.value.spec
        weights = [score.weight for score in spec.scores]
        if not any(weights) or choose(spec.stickiness, weights) is not None:
            continue
        hint = f"write {' or '.join(map(str, nearest(spec.stickiness, weights)))}"
        message = f"a stickiness of {spec.stickiness} points cannot be expressed with these weights"
        message = f"{message} (OCM allows whole numbers up to 10)"
        yield codes.STICKINESS.at(item.at("spec", "stickiness"), message, hint)


@rule()
def stickiness_can_be_overcome(context: Context) -> Iterator[Diagnostic]:
    """A stickiness above the largest lead that the scores allow keeps an application where it is first.

    Where every eligible cluster is chosen, scores move nothing anyway.
    """
    for item in context.declared.rankings:
        spec = item.value.spec
        weights = [score.weight for score in spec.scores]
        known = [
            context.scorers[score.scorer]
            for score in spec.scores
            if score.scorer in context.scorers
        ]
        if (
            spec.placement.number_of_clusters is None
            or len(known) < len(weights)
            or not any(weights)
        ):
            continue
        lead = reach(weights, [width(scorer) for scorer in known]) / sum(map(abs, weights))
        if spec.stickiness <= lead:
            continue
        message = (
            f"the scores of two clusters differ by at most {lead:g}, so no cluster ever leads by"
            f" {spec.stickiness} points: the application stays where it is first"
        )
        possible = max(value for value in expressible(weights) if value <= lead)
        wider = "give the scorers a scoreRange with outputs further apart"
        hint = f"write {possible} or less, or {wider}" if possible else wider
        yield codes.UNREACHABLE_STICKINESS.at(item.at("spec", "stickiness"), message, hint)


def width(scorer: EffectiveScorer) -> int:
    """By how many points the scores of two clusters can differ that both have one."""
    low, high = scorer.published
    return high - low


@rule()
def dimensions_can_match(context: Context) -> Iterator[Diagnostic]:
    """The requested item must be one that the scorer's format yields on every cluster."""
    for item, path, score in context.ranked:
        scorer = context.scorers.get(score.scorer)
        if scorer is None or not scorer.score_name:
            continue
        template = scorer.spec.score_dimension_format
        if any(item.name not in PLACEHOLDERS for item in placeholders(template)):
            continue  # the format is invalid
        name = scorer.score_name
        if score.dimension is None:
            if scorer.only_item is None:
                open_ = "which of them ranks the clusters is not fixed"
                message = f"{score.scorer} names its items {template}: {open_}"
                hint = "write dimension: with one item name that every cluster publishes"
                hint = f"{hint}, or a scoreDimensionFormat without placeholders"
                yield codes.DIMENSION.at(item.at(*path, "scorer"), message, hint)
        elif not can_yield(template, score.dimension, score_name=name):
            fixed = scorer.only_item
            message = (
                f"{score.scorer} names its items {template}, which never gives {score.dimension}"
            )
            form = f"write a name of the form {template}"
            hint = f"write {fixed}, or leave dimension out" if fixed is not None else form
            yield codes.DIMENSION.at(item.at(*path, "dimension"), message, hint)


@rule()
def missing_scores_lose(context: Context) -> Iterator[Diagnostic]:
    """A missing score counts as 0 (docs/decisions/scheduler.md#what-the-scores-do-not-say)."""
    hint = (
        "give the scorer a scoreRange (output 1..100; swapped outputs make lower better), or write"
        " onMissingScore: Exclude"
    )
    for item, path, score in context.ranked:
        scorer = context.complete.get(score.scorer)
        message = "" if scorer is None else how_zero_wins(scorer, score.weight)
        if message and item.value.spec.on_missing_score != "Exclude":
            yield codes.MISSING_BEATS_REAL.at(item.at(*path, "scorer"), message, hint)


def how_zero_wins(scorer: EffectiveScorer, weight: int) -> str:
    """How a cluster without the score beats clusters that have it; empty if it never does."""
    low, high = scorer.published
    if weight > 0 and low < 0:
        beats = "a cluster without the score counts as 0: it beats real ones"
        return f"{scorer.name} can publish {low}, and {beats}"
    if weight < 0 and high > 0:
        return f"with a negative weight a cluster without the score (0) beats those with {high}"
    return ""


@rule(needs=("ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig"))
def scores_are_published(context: Context) -> Iterator[Diagnostic]:
    """At least one cluster that may be chosen must publish each score of a ranking or a raw Placement."""
    for ranking, path, score in context.ranked:
        scorer = context.complete.get(score.scorer)
        if scorer is not None:
            clusters = eligible(context, ranking)
            yield from _unpublished(context, scorer, ranking, (*path, "scorer"), clusters=clusters)
    scorers = {scorer.resource_name: scorer for scorer in context.complete.values()}
    for item in context.declared.placements:
        choice = choosable(context, item)
        for place, name in resources_ranked_by(item.document):
            if name in scorers:
                yield from _unpublished(context, scorers[name], item, place, clusters=choice)


def resources_ranked_by(document: Document) -> Iterator[tuple[Path, str]]:
    """The AddOnPlacementScores that the prioritizers of a raw Placement read, and where they are named."""
    for place in document.items("spec", "prioritizerPolicy", "configurations"):
        where = (*place, "scoreCoordinate", "addOn", "resourceName")
        name = value_at(document.data, where)
        if isinstance(name, str):
            yield where, name


def _unpublished(
    context: Context,
    scorer: EffectiveScorer,
    item: RankingItem | Item[RawPlacement],
    path: Path,
    *,
    clusters: frozenset[str] | None,
) -> Iterator[Diagnostic]:
    """Reports a score at `path` that none of `clusters` publishes; None if it is not certain which count."""
    is_raw = item.document.kind == "Placement"
    if scorer.spec.score_destination == "None":
        message = f"{scorer.name} has scoreDestination None: it publishes no score that could rank clusters"
        hint = "write scoreDestination: AddOnPlacementScore in the scorer"
        yield codes.SCORE_NOT_RUNNING.at(item.at(*path), message, hint)
    elif scorer.spec.suspend:
        message = f"{scorer.name} is suspended: its scores are removed everywhere"
        hint = f"remove the score {'from this Placement' if is_raw else 'here'} while the scorer is suspended"
        yield codes.SCORE_SUSPENDED.at(item.at(*path), message, hint)
    elif clusters and clusters.isdisjoint(context.target_clusters[scorer.name]):
        which = f"that {item.name} may choose" if is_raw else f"that are eligible for {item.name}"
        message = f"{scorer.name} runs on none of the {len(clusters)} clusters {which}"
        hint = "correct its clusterSelector or the masks, or choose other clusters"
        yield codes.SCORE_NOT_RUNNING.at(item.at(*path), message, hint)


@rule()
def weights_hold(context: Context) -> Iterator[Diagnostic]:
    """A difference of scores that reaches what an item gives would decide where a paced Placement goes."""
    for item in context.declared.rankings:
        scores = ranked_by(item, context.scorers)
        if not is_paced(item, context.settings) or not scores:
            continue
        if len(scores) > MAX_TERMS:
            message = (
                f"{len(scores)} scores rank it, and a paced Placement holds with up to {MAX_TERMS}"
            )
            position = item.at("spec", "scores", MAX_TERMS)
            yield codes.PACE_WEIGHTS.at(position, message, "remove some, or write moves.pace: None")
            continue
        weights, found = [score.weight for score in scores], spans(scores, context.scorers)
        if hold_weights(weights, found) is not None:
            continue
        near = nearest_weights(weights, found)
        total = sum(map(abs, weights))
        # What holds is a difference of OCM's sum, with the same proportions in the smallest whole numbers.
        held = points_text(points_of(HOLD_SPAN - 1, total // (gcd(*weights) or 1)))
        differ = points_text(points_of(reach(weights, found), total))
        message = (
            f"with the weights {_listed(weights)} the scores can differ by {differ} points, and a paced"
            f" Placement holds up to {held}"
        )
        ways = [f"write the weights {_listed(near)}"] if near else []
        if max(found) > 100:
            ways.append("give the scorers a scoreRange, which spans 100 points instead of 200")
        ways.append("write moves.pace: None")
        yield codes.PACE_WEIGHTS.at(
            item.at("spec", "scores", 0, "weight"), message, ", or ".join(ways)
        )


@rule(needs=(SETTINGS,))
def somebody_keeps_the_pace(context: Context) -> Iterator[Diagnostic]:
    """Without the reconciler, paced applications would never move by their scores."""
    if context.settings.pace is None:
        return
    position = context.repository.at("spec", "pace")
    if context.is_upstream:
        message = (
            "the reconciler keeps the pace, and with delivery.mode UpstreamController there is none"
        )
        hint = "write delivery.mode: ManifestWork, or remove pace"
        yield codes.PACE_WITHOUT_RECONCILER.at(position, message, hint)
    elif not context.settings.reconciler.enabled:
        message = "the reconciler keeps the pace, and reconciler.enabled is false: no application would move"
        hint = "write reconciler.enabled: true, or remove pace"
        yield codes.PACE_WITHOUT_RECONCILER.at(position, message, hint)


@rule(needs=("FleetRepository",))
def demands_count(context: Context) -> Iterator[Diagnostic]:
    """A demand is assumed for moves of paced applications, and for nothing else."""
    for ranking in context.declared.rankings:
        if is_paced(ranking, context.settings):
            continue
        for index, score in enumerate(ranking.value.spec.scores):
            if score.demand:
                path: Path = ("spec", "scores", index, "demand")
                yield _demand_without_effect(ranking, path, context)


def _demand_without_effect(ranking: RankingItem, path: Path, context: Context) -> Diagnostic:
    """Why the demand at `path` has no effect, as the ranking is not paced."""
    position = ranking.at(*path)
    if not isinstance(ranking.value, ScoredApplication):
        return codes.PACE_FIELD.at(
            position,
            "demand has no effect: a ScoredPlacement is not paced",
            "remove it",
            edits=(Edit(path),),
        )
    if context.settings.pace is None:
        return codes.PACE_FIELD.at(
            position,
            "demand has no effect: gitops-dsf.yaml has no spec.pace",
            "write spec.pace there, or remove it",
        )
    if ranking.value.spec.moves.pace == "None":
        return codes.PACE_FIELD.at(
            position,
            "demand has no effect: moves.pace is None",
            "remove it, or write moves.pace: Fleet",
        )
    return codes.PACE_FIELD.at(
        position,
        "demand has no effect: an application on every eligible cluster does not move",
        "write placement.numberOfClusters, or remove it",
    )


@rule(needs=("FleetRepository", "ScoredPlacement"))
def paces_count(context: Context) -> Iterator[Diagnostic]:
    """With spec.pace, an application is paced that chooses some of its clusters by a ranking of its own."""
    if context.settings.pace is None:
        return
    for item in context.declared.applications:
        moves, rules = item.value.spec.moves, item.value.spec.placement
        if moves.pace == "None" or is_paced(item, context.settings):
            continue
        why = "without placement.numberOfClusters it runs on every eligible cluster"
        if rules.ref is not None:
            why = "it follows a ScoredPlacement, which is not paced"
        place: Path = ("spec", "moves", "pace")
        written = item.document.has(place)
        message = f"the pace has no effect on {item.name}: {why}"
        hint = (
            "write moves.pace: None"
            if rules.ref
            else "write placement.numberOfClusters, or moves.pace: None"
        )
        # What nobody wrote for the application may be meant.
        severity = None if written else Severity.NOTICE
        position = item.at(*place) if written else item.position
        yield codes.PACE_FIELD.at(position, message, hint, severity=severity)


@rule()
def the_score_of_moves_is_ours(context: Context) -> Iterator[Diagnostic]:
    """A scorer whose scores have this name would move applications."""
    for scorer in context.scorers.values():
        if scorer.score_name and scorer.resource_name == MOVES_SCORE:
            message = f"the AddOnPlacementScore {MOVES_SCORE} carries out paced moves"
            yield codes.BAD_VALUE.at(
                scorer.at("scoring.params.name"), message, "give the score another name"
            )


def _listed(weights: Iterable[int]) -> str:
    return ", ".join(map(str, weights))
