"""Checks what paced moves need: weights that hold, and a reconciler that admits moves."""

from collections.abc import Iterable, Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.pace import HOLD_SPAN, MOST_TERMS, MOVES_SCORE
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.resolve.context import SETTINGS, Context, needs
from gitops_dsf.resolve.rankings import hold_weights, is_paced, nearest_weights, ranked_by, reach, spans


def weights_hold(context: Context) -> Iterator[Diagnostic]:
    """A difference of scores that reaches what an item gives would decide where a paced Placement goes."""
    for item in context.declared.rankings:
        scores = ranked_by(item, context.scorers)
        if not is_paced(item, context.settings) or not scores:
            continue
        if len(scores) > MOST_TERMS:
            message = f"{len(scores)} scores rank it, and a paced Placement holds with up to {MOST_TERMS}"
            yield codes.PACE_WEIGHTS.at(
                item.at("spec", "scores", MOST_TERMS), message, "remove some, or write moves.pace: None"
            )
            continue
        weights, found = [score.weight for score in scores], spans(scores, context.scorers)
        if hold_weights(weights, found) is not None:
            continue
        near = nearest_weights(weights, found)
        message = (
            f"with the weights {_listed(weights)} the scores can differ by {reach(weights, found)} points,"
            f" and a paced Placement holds up to {HOLD_SPAN - 1}"
        )
        ways = [f"write the weights {_listed(near)}"] if near else []
        if max(found) > 100:
            ways.append("give the scorers a scoreRange, which spans 100 points instead of 200")
        ways.append("write moves.pace: None")
        yield codes.PACE_WEIGHTS.at(item.at("spec", "scores", 0, "weight"), message, ", or ".join(ways))


@needs(SETTINGS)
def somebody_keeps_the_pace(context: Context) -> Iterator[Diagnostic]:
    """Without the reconciler, paced applications would never move by their scores."""
    if context.settings.pace is None:
        return
    position = context.repository.at("spec", "pace")
    if context.is_upstream:
        message = "the reconciler keeps the pace, and with delivery.mode UpstreamController there is none"
        hint = "write delivery.mode: ManifestWork, or remove pace"
        yield codes.PACE_WITHOUT_RECONCILER.at(position, message, hint)
    elif not context.settings.reconciler.enabled:
        message = "the reconciler keeps the pace, and reconciler.enabled is false: no application would move"
        hint = "write reconciler.enabled: true, or remove pace"
        yield codes.PACE_WITHOUT_RECONCILER.at(position, message, hint)


@needs("FleetRepository")
def demands_count(context: Context) -> Iterator[Diagnostic]:
    """A demand is assumed for moves of paced applications, and for nothing else."""
    for item in context.declared.rankings:
        if is_paced(item, context.settings):
            continue
        for index, score in enumerate(item.value.spec.scores):
            if score.demand:
                if not isinstance(item.value, ScoredApplication):
                    why, hint = "a ScoredPlacement is not paced", "remove it"
                elif context.settings.pace is None:
                    why, hint = "gitops-dsf.yaml has no spec.pace", "write spec.pace there, or remove it"
                elif item.value.spec.moves.pace == "None":
                    why, hint = "moves.pace is None", "remove it, or write moves.pace: Fleet"
                else:
                    why = "an application on every eligible cluster does not move"
                    hint = "write placement.numberOfClusters, or remove it"
                position = item.at("spec", "scores", index, "demand")
                yield codes.PACE_FIELD.at(position, f"demand has no effect: {why}", hint)


def the_score_of_moves_is_ours(context: Context) -> Iterator[Diagnostic]:
    """A scorer whose scores have this name would move applications."""
    for scorer in context.scorers.values():
        if scorer.score_name and scorer.resource_name == MOVES_SCORE:
            message = f"the AddOnPlacementScore {MOVES_SCORE} carries out paced moves"
            yield codes.BAD_VALUE.at(scorer.at("scoring.params.name"), message, "give the score another name")


def _listed(weights: Iterable[int]) -> str:
    return ", ".join(map(str, weights))
