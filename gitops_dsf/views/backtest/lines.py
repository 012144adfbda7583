"""The scores of the clusters of a Placement over time, few enough to draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gitops_dsf.backtest.lapses import lapses
from gitops_dsf.backtest.vectorised import SumBlocks
from gitops_dsf.views.backtest.build import Result

MOST_CLUSTERS: Final = 5
MOST_POINTS: Final = 240
"""Of each line; each is the mean of its stretch of time."""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Points are seconds since the start of the grid, and the weighted mean of the scores."""

    clusters: Sequence[str]
    points: Mapping[str, Sequence[tuple[float, float]]]
    low: float
    high: float


def lines_of(result: Result, key: str, named: Sequence[str]) -> Lines:
    """The lines of one Placement: of the clusters that are named first, then of those with the highest
    scores.
    """
    contest, grid = result.contests[key], result.grid
    size = max(1, -(-grid.count // MOST_POINTS))
    width = len(contest.candidates)
    means = np.zeros((-(-grid.count // size), width))
    points = np.zeros((len(means), 1))
    for first, sums in SumBlocks(contest, result.columns, lapses(contest, result.tracks, grid=grid)):
        places = (np.arange(len(sums)) + first) // size
        np.add.at(means, places, sums)
        np.add.at(points, places, 1)
    means = means / points / contest.total_weight
    chosen = [name for name in named if name in contest.names]
    best = [contest.names[place] for place in np.argsort(-means.mean(axis=0), kind="stable")] if width else []
    clusters = list(dict.fromkeys([*chosen, *best]))[:MOST_CLUSTERS]
    columns = [contest.names.index(name) for name in clusters]
    shown = means[:, columns]
    return Lines(
        clusters=clusters,
        points={
            name: [(place * size * grid.step, float(value)) for place, value in enumerate(means[:, column])]
            for name, column in zip(clusters, columns, strict=True)
        },
        low=float(min(0.0, shown.min())) if clusters else 0.0,
        high=float(max(10.0, shown.max())) if clusters else 10.0,
    )
