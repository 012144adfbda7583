"""Assumptions about scores that have not measured the last moves yet. Pure.

A score is measured over a range and published after a delay. Until then the load of a move is
assumed, so that moves do not all go to the cluster that looks best.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from gitops_dsf.hub.pace import PacedRanking, PacedTerm
from gitops_dsf.hub.scores import PublishedScore, Scores
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.simulator.prioritizers import MAX_SCORE


@dataclass(frozen=True, kw_only=True, slots=True)
class AssumedShift:
    """The assumption about one score of one cluster."""

    cluster: str
    resource: str
    dimension: str
    points: float
    """Added to the published score."""
    doubt: float = 0.0
    """The number of these points that the published score may show already. Never negative."""


def shifts_of(move: LedgerMove, ranking: PacedRanking, *, now: float) -> Iterable[AssumedShift]:
    """The changes by a move that may not be measured yet."""
    for term in ranking.terms:
        share = unmeasured(move, term, now=now)
        if not (term.demand and term.weight and share):
            continue
        # Where a lower score is better, an arrival raises the score.
        sign = 1 if term.weight > 0 else -1
        points = term.demand * share * sign
        doubt = term.demand * (share - surely_unmeasured(move, term, now=now))
        for cluster, change in ((move.target, -points), (move.source, points)):
            if cluster:
                yield AssumedShift(
                    cluster=cluster,
                    resource=term.resource,
                    dimension=term.dimension,
                    points=change,
                    doubt=doubt,
                )


def unmeasured(move: LedgerMove, term: PacedTerm, *, now: float) -> float:
    """The largest share of a move that a score may not show yet, between 0 and 1."""
    if move.under_way:
        return 1.0
    elapsed = now - move.phase_since - term.delay
    if elapsed < 0:
        return 1.0
    # A query over a range of ten minutes shows a tenth of a move after each minute. Without a range
    # it shows all of it at once.
    return max(0.0, 1.0 - elapsed / term.range) if term.range else 0.0


def surely_unmeasured(move: LedgerMove, term: PacedTerm, *, now: float) -> float:
    """The share of a move that a score cannot show yet, between 0 and 1.

    `term.delay` is the longest time until a measurement is published; it may also be published at
    once. And from the decision on the new copy may run, and the old one may be gone. Between this
    share and `unmeasured`, it is unknown what a score shows.
    """
    if move.phase is Phase.ADMITTED:
        return 1.0
    if move.phase is Phase.WITHDRAWN:
        # It may never happen, so no share of it is sure.
        return 0.0
    elapsed = now - move.since
    if elapsed <= 0:
        return 1.0
    return max(0.0, 1.0 - elapsed / term.range) if term.range else 0.0


def next_measured(ledger: Ledger, rankings: Mapping[str, PacedRanking], *, now: float) -> float:
    """The time when the assumptions change next by time alone, in seconds since 1970.

    It is infinite if time changes nothing. `rankings` are by namespace/name of the Placement.
    """
    changes = [math.inf]
    for move in ledger.moves:
        ranking = rankings.get(move.placement)
        if ranking is None or move.under_way:
            continue
        for term in ranking.terms:
            begin = move.phase_since + term.delay
            end = begin + term.range
            if not term.demand or now >= end:
                continue
            # While a range measures it little by little, ten computations are enough: an admission
            # of a large fleet takes seconds of CPU.
            changes.append(begin if now < begin else min(end, now + term.range / 10))
    return min(changes)


def summed(shifts: Iterable[AssumedShift]) -> Mapping[tuple[str, str, str], int]:
    """The points that are assumed, by resource, dimension and cluster."""
    sums: dict[tuple[str, str, str], float] = {}
    for shift in shifts:
        key = shift.resource, shift.dimension, shift.cluster
        sums[key] = sums.get(key, 0.0) + shift.points
    return {key: round(points) for key, points in sums.items()}


def assume(scores: Scores, shifts: Iterable[AssumedShift]) -> Scores:
    """The scores with the assumed load, within -100 and 100.

    A cluster without the score stays as it is: a load does not make OCM count a score.
    """
    columns = dict[str, Mapping[str, PublishedScore]](scores)
    copied: dict[str, dict[str, PublishedScore]] = {}
    for (resource, dimension, cluster), points in summed(shifts).items():
        # Only columns that change are copied: a fleet has thousands of clusters in each.
        column = copied.get(resource) or dict(columns.get(resource, {}))
        score = column.get(cluster)
        if score is not None and score.get(dimension) is not None:
            column[cluster] = _shifted(score, dimension, points)
            copied[resource] = column
    return columns | copied


def _shifted(score: PublishedScore, dimension: str, points: int) -> PublishedScore:
    values: list[int] = []
    for name, value in score.items():
        if name == dimension:
            values.append(max(-MAX_SCORE, min(MAX_SCORE, value + points)))
        else:
            values.append(value)
    return replace(score, values=tuple(values))
