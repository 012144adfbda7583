"""Why a decision changes, or may change, in one sentence that is part of the JSON output.

A number of points stands in a reason only where it is known, or as the two bounds between which it
will be.
"""

from collections.abc import Iterator

from gitops_dsf.hub.points import mean_weight, points_range_text
from gitops_dsf.resolve.next_score import NextScore
from gitops_dsf.simulator import Outcome, Verdict, explain
from gitops_dsf.simulator.certainty import Certainty, certainty
from gitops_dsf.simulator.scheduler import as_people_wrote
from gitops_dsf.views.preview.verdictpairs import VerdictPair
from gitops_dsf.wording import choice_text, names_text


def sums_by_people(pair: VerdictPair) -> Certainty | None:
    """The bounds of all sums by the weights that people wrote; None if every score is known."""
    if pair.certainty is None or pair.after is None:
        return None
    return certainty(as_people_wrote(pair.after), pair.unknown)


def is_bounded(pair: VerdictPair) -> bool:
    """Whether present scores bound every unknown score that decides about a Placement."""
    if pair.after is None:
        return False
    return all(cell.bounded for _, cell in _unknown_scores(pair, pair.after))


def reason_of(pair: VerdictPair, origin: tuple[str, ...], target: tuple[str, ...]) -> str:
    """Why a known decision changes, by the first cluster that it leaves, else that it moves to."""
    verdict = pair.after
    if verdict is None:
        return "the Placement is removed"
    if verdict.outcome is not Outcome.SCHEDULED or verdict.ranking is None:
        return verdict.notes[0] if verdict.notes else str(verdict.outcome)
    by_scores = as_people_wrote(verdict)
    # People ask why a Placement leaves. A new one leaves nothing, so they ask why it goes there.
    cluster = (origin or target)[0]
    bounds = sums_by_people(pair)
    if bounds is None or cluster not in bounds.sums:
        reason = _explained(by_scores, cluster)
    else:
        # The verdict has the middle of the bounds, which nobody should read as known.
        reason = _bounded_reason(pair, by_scores, bounds, (*target[:1], *origin[:1]))
    if pair.before is not None and target and not by_scores.chosen.issuperset(target):
        # A paced Placement ranks by items of moves, so it can go where the scores do not lead.
        return f"{reason}; {names_text(target)} is where the reconciler planned that it goes"
    return reason


def open_reason(
    pair: VerdictPair, verdict: Verdict, *, possible: tuple[str, ...], places: int | None
) -> str:
    """Which scores are unknown, and which clusters could be selected because of that.

    `places` of the `possible` clusters are selected; None if that is not known either.
    """
    causes = "; ".join(_causes(pair, verdict)) or "scores are not known"
    bounds = sums_by_people(pair)
    count = 0 if pair.certainty is None else len(pair.certainty.possible)
    is_known = pair.before is not None and verdict.chosen == pair.before.chosen
    if not is_bounded(pair) and is_known:
        return (
            f"{causes}, so any of {count} clusters may be selected; by the present scores it would"
            " stay"
        )
    choice = choice_text(possible, places or 0)
    if bounds is None or not choice or not is_bounded(pair):
        return f"{causes}, so any of {count} clusters may be selected"
    weight = mean_weight(as_people_wrote(verdict).prioritizers)
    points: list[str] = []
    for cluster in possible:
        points.append(points_range_text(bounds.sums[cluster], weight))
    return f"{causes}; {choice}: {' and '.join(points)} points"


def _bounded_reason(
    pair: VerdictPair, verdict: Verdict, bounds: Certainty, clusters: tuple[str, ...]
) -> str:
    """Between which bounds the points of these clusters will be, as far as they are ranked."""
    causes = "; ".join(_causes(pair, verdict))
    weight = mean_weight(verdict.prioritizers)
    points: list[str] = []
    for cluster in clusters:
        if cluster in bounds.sums:
            points.append(f"{cluster} {points_range_text(bounds.sums[cluster], weight)} points")
    return f"{causes}; {', '.join(points)}"


def _causes(pair: VerdictPair, verdict: Verdict) -> list[str]:
    """Why scores of candidates are unknown, each cause once, in order of prioritizers."""
    causes = {}
    for resource, cell in _unknown_scores(pair, verdict):
        causes[f"{resource}: {cell.why}"] = True
    return list(causes)


def _unknown_scores(pair: VerdictPair, verdict: Verdict) -> Iterator[tuple[str, NextScore]]:
    """Unknown scores of candidates by which the Placement ranks, each with its name."""
    candidates = frozenset(verdict.candidates)
    for result in verdict.prioritizers:
        resource = result.prioritizer.resource
        for cluster, cell in pair.unknown.get(resource, {}).items():
            if cluster in candidates:
                yield resource, cell


def _explained(verdict: Verdict, cluster: str) -> str:
    # The simulator knows nothing of a cluster that is not in the state, so it explains nothing.
    if cluster not in verdict.state.positions:
        return f"{cluster} is no longer in clusters/"
    explanation = explain(verdict, cluster)
    if explanation.filter:
        return f"{cluster}: dropped by {explanation.filter}: {explanation.reason}"
    return f"{cluster}: {explanation.reason}"
