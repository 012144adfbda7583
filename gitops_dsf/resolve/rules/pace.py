"""Checks paced moves: the pace must be kept, hold against scores, and concern an application."""

from collections.abc import Iterable, Iterator
from math import gcd

from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.hub.pace import HOLD_SPAN, MAX_TERMS, MOVES_SCORE
from gitops_dsf.hub.points import points_of, points_text
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import RankingItem
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.repository.model.ranking import Score
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.paced_rankings import hold_weights, is_paced, nearest_weights, reach
from gitops_dsf.resolve.ranked_scores import ranked_by
from gitops_dsf.resolve.rankings import multi_kueue_of
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_SCORED_SPAN = 100
"""The points that a scorer with a scoreRange spans at most; without one it spans 200."""


@rule()
def weights_hold(context: Context) -> Iterator[Diagnostic]:
    """Scores must not outweigh the items by which a paced Placement holds and moves."""
    for ranking in context.declared.rankings:
        scores = ranked_by(ranking, context.scorers, context.external_scores)
        if not is_paced(ranking, context.settings) or not scores:
            continue
        if len(scores) > MAX_TERMS:
            yield codes.PACE_WEIGHTS.at(
                ranking.at("spec", "scores", MAX_TERMS),
                f"{len(scores)} scores rank it; a paced Placement can have at most {MAX_TERMS}",
                "remove some, or write moves.pace: None",
            )
            continue
        weights = [score.weight for score in scores]
        score_spans = [score.span for score in scores]
        # The reconciler holds a Placement by Steady. The scores must never add up to as much: OCM
        # 1.2.1 breaks a tie by the name of the cluster.
        if hold_weights(weights, score_spans) is None:
            yield _cannot_hold(ranking, weights, score_spans, mapped=not context.is_upstream)


@rule(needs=(SETTINGS,))
def somebody_keeps_the_pace(context: Context) -> Iterator[Diagnostic]:
    """Finds a pace without a reconciler: paced applications would never move by their scores."""
    if context.settings.pace is not None and not context.settings.reconciler.enabled:
        yield codes.PACE_WITHOUT_RECONCILER.at(
            context.repository.at("spec", "pace"),
            "the reconciler keeps the pace, and reconciler.enabled is false: no application would"
            " move",
            "write reconciler.enabled: true, or remove pace",
        )


@rule(needs=("FleetRepository",))
def it_is_known_when_scores_have_measured(context: Context) -> Iterator[Diagnostic]:
    """Moves must not follow scores that do not show the last move yet."""
    for ranking, path, score in context.ranked:
        if not (score.demand or is_paced(ranking, context.settings)):
            continue
        scorer = context.scorers.get(score.scorer or "")
        if score.add_on is not None:
            yield from _unknown_add_on(context, ranking, path, score, score.add_on)
        elif scorer is not None and context.config_is_unseen(scorer):
            yield codes.UNKNOWN_MEASUREMENT.at(
                ranking.at(*path, "scorer"),
                f"moves wait until {scorer.name} has measured the last one, and its /config, which"
                " upstream's controller reads, may set any interval",
                f"run gitops-dsf sync --scorer {scorer.name}, so that a lock has the interval",
            )


@rule(needs=("FleetRepository",))
def demands_count(context: Context) -> Iterator[Diagnostic]:
    """A demand is assumed for moves of paced applications and for jobs, and for nothing else."""
    for ranking in context.declared.rankings:
        if is_paced(ranking, context.settings) or multi_kueue_of(ranking) is not None:
            continue
        for index, score in enumerate(ranking.value.spec.scores):
            if score.demand:
                path: FieldPath = ("spec", "scores", index, "demand")
                yield _demand_without_effect(ranking, path, context)


@rule(needs=("FleetRepository", "ScoredPlacement"))
def paces_count(context: Context) -> Iterator[Diagnostic]:
    """An application is paced if it chooses some of its clusters by a ranking of its own."""
    if context.settings.pace is None:
        return
    for application in context.declared.applications:
        spec = application.value.spec
        if spec.moves.pace == "None" or is_paced(application, context.settings):
            continue
        # Verified moves need the pace, and a finding of their own says so.
        if spec.moves.verify:
            continue
        path: FieldPath = ("spec", "moves", "pace")
        is_written = application.document.has(path)
        position = application.at(*path) if is_written else application.position
        # Without moves.pace, it may be meant that the pace is for other applications.
        severity = None if is_written else Severity.NOTICE
        if spec.placement.ref is not None:
            yield codes.PACE_FIELD.at(
                position,
                f"the pace has no effect on {application.name}: it follows a ScoredPlacement, which"
                " is not paced",
                "write moves.pace: None",
                severity=severity,
            )
        else:
            yield codes.PACE_FIELD.at(
                position,
                f"the pace has no effect on {application.name}: without placement.numberOfClusters"
                " it runs on every eligible cluster",
                "write placement.numberOfClusters, or moves.pace: None",
                severity=severity,
            )


@rule()
def the_score_of_moves_is_ours(context: Context) -> Iterator[Diagnostic]:
    """A scorer whose scores have this name would move applications."""
    for scorer in context.scorers.values():
        if scorer.score_name and scorer.resource_name == MOVES_SCORE:
            yield codes.BAD_VALUE.at(
                scorer.at("scoring.params.name"),
                f"the AddOnPlacementScore {MOVES_SCORE} carries out paced moves",
                "give the score another name",
            )


def _cannot_hold(
    ranking: RankingItem, weights: list[int], score_spans: list[int], *, mapped: bool
) -> Diagnostic:
    """`mapped`: whether a scoreRange has an effect. Upstream's agent maps no scores."""
    total = sum(map(abs, weights))
    # A difference of OCM's sum holds the decision, with the same proportions in the smallest whole
    # numbers.
    divisor = gcd(*weights) or 1
    held = points_text(points_of(HOLD_SPAN - 1, total // divisor))
    difference = points_text(points_of(reach(weights, score_spans), total))
    ways = []
    near = nearest_weights(weights, score_spans)
    if near:
        ways.append(f"write the weights {_listed(near)}")
    if mapped and max(score_spans) > _SCORED_SPAN:
        ways.append("give the scorers a scoreRange, which spans 100 points instead of 200")
    ways.append("write moves.pace: None")
    return codes.PACE_WEIGHTS.at(
        ranking.at("spec", "scores", 0, "weight"),
        f"with the weights {_listed(weights)} the scores can differ by {difference} points, but"
        f" the pace can hold a cluster against at most {held}",
        ", or ".join(ways),
    )


def _unknown_add_on(
    context: Context, ranking: RankingItem, path: FieldPath, score: Score, add_on: AddOnScore
) -> Iterator[Diagnostic]:
    declared = context.external_scores.of(add_on.resource, add_on.name)
    if declared is None or declared.measured_after_seconds is not None:
        return
    if score.demand:
        yield codes.UNKNOWN_MEASUREMENT.at(
            ranking.at(*path, "demand"),
            f"a demand of {add_on} is assumed until it is measured, and nothing says when that is",
            f"write measuredAfterSeconds for {add_on.resource} in spec.externalScores, or"
            " remove demand",
        )
    else:
        yield codes.UNKNOWN_MEASUREMENT.at(
            ranking.at(*path, "addOn"),
            f"paced moves wait until {add_on} has measured the last one, and nothing says when"
            " that is",
            f"write measuredAfterSeconds for {add_on.resource} in spec.externalScores, or"
            " moves.pace: None",
        )


def _demand_without_effect(ranking: RankingItem, path: FieldPath, context: Context) -> Diagnostic:
    """The reason why the demand at `path` has no effect, as the ranking is not paced."""
    position = ranking.at(*path)
    if not isinstance(ranking.value, ScoredApplication):
        return codes.PACE_FIELD.at(
            position,
            "demand has no effect: a ScoredPlacement is not paced, and has no multiKueue",
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


def _listed(weights: Iterable[int]) -> str:
    return ", ".join(map(str, weights))
