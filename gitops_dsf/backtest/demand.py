"""TODO."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.hub.pace import PacedTerm

LEAST_CASES: Final = 5


SHORTEST_WINDOW: Final = 600.0
"""Seconds of scores that are compared, before and after."""


SURE: Final = 3.0
"""The mean in standard errors: then it is hardly wrong by a factor of two, and moves stay steady."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A recorded move."""

    at: float
    """Unix seconds."""
    joined: tuple[str, ...]
    left: tuple[str, ...]
    exact: bool
    """Whether it happened at that time, and was not found later."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What arrivals took of a score, in points."""

    cases: int
    mean: float
    spread: float
    """The standard deviation of the cases."""

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.spread / math.sqrt(self.cases)


def measure(
    moves: Sequence[Arrival], *, everybody: Iterable[Arrival], term: PacedTerm, columns: GridScores
) -> Measured | None:
    """What the moves of an application took of a score where they arrived; None if they do not tell.
    `everybody` are the moves of all applications, with these.

    The moves of a replay did not happen, so they say nothing about load. The journal has those that did. A
    case is an arrival on a cluster that no other recorded move entered or left at that time. What else
    happened there is in the spread.
    """
    touched: dict[str, list[float]] = {}
    for each in everybody:
        for cluster in (*each.joined, *each.left):
            touched.setdefault(cluster, []).append(each.at)
    found = [
        taken
        for each in moves
        if each.exact
        for cluster in each.joined
        if (taken := _taken(each.at, cluster, touched, term, columns)) is not None
    ]
    if len(found) < LEAST_CASES:
        return None
    measured = Measured(cases=len(found), mean=fmean(found), spread=stdev(found))
    return measured if measured.mean >= max(0.5, SURE * measured.error) else None


def _taken(
    at: float,
    cluster: str,
    touched: Mapping[str, Sequence[float]],
    term: PacedTerm,
    columns: GridScores,
) -> float | None:
    """The points that one arrival took; None if something else changed the cluster, or scores are missing."""
    late, window = term.delay + term.range, max(SHORTEST_WINDOW, term.range)
    near = [each for each in touched[cluster] if at - window - late < each < at + late + window]
    if len(near) != 1:
        return None
    before = _mean(columns, term, cluster, at - window, at)
    after = _mean(columns, term, cluster, at + late, at + late + window)
    if before is None or after is None:
        return None
    return before - after if term.weight > 0 else after - before


def _mean(
    columns: GridScores, term: PacedTerm, cluster: str, start: float, end: float
) -> float | None:
    """The mean of a score from a time up to another one; None if any point of it has none."""
    grid = columns.grid
    first, last = (math.ceil((at - grid.start) / grid.step) for at in (start, end))
    present = columns.present(term.resource, term.dimension, cluster)
    values = columns.column(term.resource, term.dimension, cluster)
    if first < 0 or last > grid.count or first >= last or present is None or values is None:
        return None
    return float(values[first:last].mean()) if present[first:last].all() else None
