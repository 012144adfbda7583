"""Assumed load: what a move changes about scores that have not measured it yet.

An application that arrives takes `demand` points of a score, and gives them back where it leaves. A score
that reads the mean of a range of R seconds, and is published D seconds after it was measured, shows nothing
of it for D seconds, and then a share that grows linearly over R seconds. The rest is assumed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_dsf.hub.pace import PacedRanking, Term
from gitops_dsf.hub.scores import Score, Scores
from gitops_dsf.pacing.ledger import Move
from gitops_dsf.simulator.prioritizers import MAX_SCORE


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift:
    """What is assumed about one score of one cluster."""

    cluster: str
    resource: str
    dimension: str
    points: float
    """Added to the published score."""


def shifts_of(move: Move, ranking: PacedRanking, *, now: float) -> Iterable[Shift]:
    """What a move changes that is not measured yet."""
    for term in ranking.terms:
        share = unmeasured(move, term, now=now)
        if term.demand and term.weight and share:
            # Where a lower score is better, an arrival raises the score.
            points = term.demand * share * (1 if term.weight > 0 else -1)
            yield Shift(cluster=move.target, resource=term.resource, dimension=term.dimension, points=-points)
            if move.source:
                yield Shift(
                    cluster=move.source, resource=term.resource, dimension=term.dimension, points=points
                )


def unmeasured(move: Move, term: Term, *, now: float) -> float:
    """The share of a move that a score does not show yet, between 0 and 1."""
    if move.under_way:
        return 1.0
    elapsed = now - move.phase_since - term.delay
    if elapsed < 0:
        return 1.0
    return max(0.0, 1.0 - elapsed / term.range) if term.range else 0.0


def summed(shifts: Iterable[Shift]) -> Mapping[tuple[str, str, str], int]:
    """The points that are assumed, by resource, dimension and cluster."""
    found: dict[tuple[str, str, str], float] = {}
    for each in shifts:
        key = each.resource, each.dimension, each.cluster
        found[key] = found.get(key, 0.0) + each.points
    return {key: round(points) for key, points in found.items()}


def assume(scores: Scores, shifts: Iterable[Shift]) -> Scores:
    """The scores with the assumed load, within -100 and 100. A cluster without the score stays as it is."""
    found = dict[str, Mapping[str, Score]](scores)
    copied: dict[str, dict[str, Score]] = {}
    for (resource, dimension, cluster), points in summed(shifts).items():
        column = copied.get(resource) or dict(found.get(resource, {}))
        score = column.get(cluster)
        if score is not None and score.get(dimension) is not None:
            column[cluster] = _shifted(score, dimension, points)
            copied[resource] = column
    return found | copied


def _shifted(score: Score, dimension: str, points: int) -> Score:
    values = tuple(
        max(-MAX_SCORE, min(MAX_SCORE, value + points)) if name == dimension else value
        for name, value in score.items()
    )
    return Score(score.valid_until, score.names, values, score.raw, score.on_hub)
