"""Points of a score that an application takes where it runs, measured at its arrivals.

The moves of a replay did not happen, so they show nothing about load. The journal has the moves
that did.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.hub.pace import PacedTerm

MIN_CASES: Final = 5
MIN_WINDOW: Final = 600.0
"""Seconds of scores that are compared, before and after."""
SURE: Final = 3.0
"""Standard errors in the mean: then it is hardly wrong by a factor of two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A recorded move."""

    at: float
    """Unix seconds."""
    joined: tuple[str, ...]
    left: tuple[str, ...]
    exact: bool
    """Whether it happened at that time, and was not noticed later."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredDemand:
    """The points of a score that arrivals took."""

    cases: int
    mean: float
    spread: float
    """The standard deviation of the cases."""

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.spread / math.sqrt(self.cases)


def measure(
    moves: Sequence[Arrival], *, everybody: Iterable[Arrival], term: PacedTerm, scores: GridScores
) -> MeasuredDemand | None:
    """The points that an application took at its arrivals; None if its moves do not show that.

    `everybody` are the moves of all applications, with these. A case is an arrival on a cluster
    that no other recorded move entered or left at that time. Other events there are in the spread.
    """
    # Departures, too: they give load back.
    touched: dict[str, list[float]] = {}
    for move in everybody:
        for cluster in (*move.joined, *move.left):
            touched.setdefault(cluster, []).append(move.at)
    cases: list[float] = []
    for move in moves:
        if not move.exact:
            continue
        for cluster in move.joined:
            points = _points_taken(move.at, cluster, touched, term=term, scores=scores)
            if points is not None:
                cases.append(points)
    if len(cases) < MIN_CASES:
        return None
    measured = MeasuredDemand(cases=len(cases), mean=fmean(cases), spread=stdev(cases))
    # Below half a point a demand would be rounded to 0.
    return measured if measured.mean >= max(0.5, SURE * measured.error) else None


def _points_taken(
    arrival: float,
    cluster: str,
    touched: Mapping[str, Sequence[float]],
    *,
    term: PacedTerm,
    scores: GridScores,
) -> float | None:
    """The points that one arrival took.

    None if something else changed the cluster, or scores are missing.
    """
    # Only after this time do the scores show all of the arrival.
    measured_after = term.delay + term.range
    window = max(MIN_WINDOW, term.range)
    earliest = arrival - window - measured_after
    latest = arrival + measured_after + window
    near = [moment for moment in touched[cluster] if earliest < moment < latest]
    # The arrival itself is one of them.
    if len(near) != 1:
        return None
    before = _mean(scores, term, cluster, start=arrival - window, end=arrival)
    after = _mean(scores, term, cluster, start=arrival + measured_after, end=latest)
    if before is None or after is None:
        return None
    # Where a lower score is better, an arrival raises the score.
    return before - after if term.weight > 0 else after - before


def _mean(
    scores: GridScores, term: PacedTerm, cluster: str, *, start: float, end: float
) -> float | None:
    """The mean of a score from a time up to another one; None if any point of it has none."""
    grid = scores.grid
    first = math.ceil((start - grid.start) / grid.step)
    last = math.ceil((end - grid.start) / grid.step)
    present = scores.present(term.resource, term.dimension, cluster)
    values = scores.column(term.resource, term.dimension, cluster)
    if first < 0 or last > grid.count or first >= last or present is None or values is None:
        return None
    return float(values[first:last].mean()) if present[first:last].all() else None
