"""The scores of clusters over time, as lines that a page draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.expiry import score_expiries
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.run import Backtest
from gitops_dsf.backtest.sums import sum_blocks

MAX_LINES: Final = 5
MAX_POINTS: Final = 240
"""Upper limit of points of each line; each is the mean of its stretch of time."""
_Means = npt.NDArray[np.float64]


class LinePoint(NamedTuple):
    """A point of a line."""

    seconds: float
    """Seconds since the start of the page's charts."""
    value: float
    """The weighted mean of the scores, in points."""


@dataclass(frozen=True, kw_only=True)
class ScoreLines:
    """The scores of some clusters over time."""

    lines: Mapping[str, Sequence[LinePoint]]
    """Lines by cluster."""
    bounds: Sequence[Sequence[LinePoint]]
    """The value that another cluster must reach to take over; empty without stickiness."""
    stickiness: float
    """Points by which it must be better."""


def score_lines(backtest: Backtest, key: str, named: Sequence[str], *, start: float) -> ScoreLines:
    """The lines of a Placement: of the named clusters, then of those with the highest scores.

    `start` is that of the page's charts, in Unix seconds.
    """
    prepared = backtest.placements[key]
    grid = backtest.grid
    # Points of the grid in one point of a line.
    size = max(1, math.ceil(grid.count / MAX_POINTS))
    means = _means(backtest, prepared, size=size)
    times = [grid.start - start + row * size * grid.step for row in range(len(means))]
    # The named clusters had the application, so their lines explain the decisions.
    lines: dict[str, Sequence[LinePoint]] = {}
    for name in _clusters(prepared, named, means):
        lines[name] = _line(times, means[:, prepared.names.index(name)])
    stickiness = 100 * prepared.steady / prepared.total_weight
    bounds: list[Sequence[LinePoint]] = []
    if stickiness:
        for held in backtest.lines[key].held(end=grid.count):
            columns: list[int] = []
            for name in held.clusters:
                if name in prepared.names:
                    columns.append(prepared.names.index(name))
            first = math.ceil(held.first / size)
            end = math.ceil(held.end / size)
            if columns and first < end:
                # If there are several clusters, the weakest is left first.
                weakest = means[first:end, columns].min(axis=1) + stickiness
                bounds.append(_line(times[first:end], weakest))
    return ScoreLines(lines=lines, bounds=bounds, stickiness=stickiness)


def _means(backtest: Backtest, prepared: PreparedPlacement, *, size: int) -> _Means:
    """The points of each candidate, a row for each stretch of `size` points of the grid."""
    grid = backtest.grid
    rows = math.ceil(grid.count / size)
    totals = np.zeros((rows, len(prepared.candidates)))
    points = np.zeros((rows, 1))
    expiries = score_expiries(prepared, backtest.scores.tracks, grid=grid)
    for block in sum_blocks(prepared, backtest.scores, expiries):
        rows_of_points = (np.arange(len(block.sums)) + block.first) // size
        np.add.at(totals, rows_of_points, block.sums)
        np.add.at(points, rows_of_points, 1)
    means: _Means = totals / points / prepared.total_weight
    return means


def _clusters(prepared: PreparedPlacement, named: Sequence[str], means: _Means) -> Sequence[str]:
    """The clusters that get a line, in order."""
    clusters = [name for name in named if name in prepared.names]
    if prepared.names:
        best_first = np.argsort(-means.mean(axis=0), kind="stable")
        clusters.extend(prepared.names[column] for column in best_first.tolist())
    return tuple(dict.fromkeys(clusters))[:MAX_LINES]


def _line(times: Sequence[float], values: npt.NDArray[np.float64]) -> Sequence[LinePoint]:
    return list(map(LinePoint, times, values.tolist()))
