"""Estimated failures of the checks of moves where a Placement would have run.

Not guaranteed: that the application was there. The scores of the past show how it did where it
really ran, and a backtest decides where it would have run.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.gridscores import GridColumn, GridScores
from gitops_dsf.backtest.result import VerifierEstimate
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.hub.pace import VerifiedBy


class _Stay(NamedTuple):
    """A Placement on a cluster, and the lowest score with which that is good."""

    cluster: str
    first: int
    """The first point at which the score has measured it."""
    end: int
    at_least: int


class _Arrival(NamedTuple):
    """The time when a cluster's score has measured the application, and the lowest good score."""

    measured_from: int
    """A point of the grid."""
    at_least: int | None
    """The lowest good score; None if the score of the old copy is unknown."""


def estimate(line: DecisionLine, check: VerifiedBy, scores: GridScores) -> VerifierEstimate:
    """The number of times that a check would have failed for the decisions of a Placement."""

    # An application that flaps is on the same few clusters again and again.
    @cache
    def known(cluster: str) -> GridColumn | None:
        return scores.known(check.resource, check.dimension, cluster)

    step = scores.grid.step
    points = 0
    failing = 0
    failures = 0
    least = max(1, math.ceil(check.for_seconds / step))
    for stay in _stays(line, check, scores.grid, known):
        column = known(stay.cluster)
        if column is None:
            continue
        values = column[stay.first : stay.end]
        is_known = values != ABSENT
        points += int(np.count_nonzero(is_known))
        for length in _stretches(is_known & (values < stay.at_least)):
            if length >= least:
                failing += length
                failures += 1
    return VerifierEstimate(
        scorer=check.scorer,
        dimension=check.dimension,
        at_least=check.at_least,
        no_worse_than=check.no_worse_than,
        for_seconds=check.for_seconds,
        seconds=points * step,
        failing_seconds=failing * step,
        failures=failures,
    )


def not_known(check: VerifiedBy, reason: str) -> VerifierEstimate:
    """The estimate for a score whose past is unknown."""
    return VerifierEstimate(
        scorer=check.scorer,
        dimension=check.dimension,
        at_least=check.at_least,
        no_worse_than=check.no_worse_than,
        for_seconds=check.for_seconds,
        seconds=0.0,
        failing_seconds=0.0,
        failures=0,
        unknown=reason,
    )


def _stays(
    line: DecisionLine,
    check: VerifiedBy,
    grid: TimeGrid,
    known: Callable[[str], GridColumn | None],
) -> Iterator[_Stay]:
    """The time of the Placement on each cluster of each decision.

    `known` gives the score of the check on a cluster.
    """
    measured = math.ceil(check.measured_after / grid.step)
    # The first decision is not an arrival: the application was there before.
    arrivals: dict[str, _Arrival] = {}
    before: Sequence[str] | None = None
    for held in line.held(end=grid.count):
        remaining: dict[str, _Arrival] = {}
        for cluster in held.clusters:
            if cluster in arrivals:
                remaining[cluster] = arrivals[cluster]
            elif before is None:
                remaining[cluster] = _Arrival(held.first, check.at_least)
            else:
                left = [name for name in before if name not in held.clusters]
                bound = check.at_least
                if bound is None:
                    bound = _bound_of_move(left, check, known, at=held.first)
                remaining[cluster] = _Arrival(held.first + measured, bound)
        arrivals = remaining
        before = held.clusters
        for cluster, arrival in arrivals.items():
            first = max(held.first, arrival.measured_from)
            if arrival.at_least is not None and first < held.end:
                yield _Stay(cluster, first, held.end, arrival.at_least)


def _bound_of_move(
    left: Sequence[str],
    check: VerifiedBy,
    known: Callable[[str], GridColumn | None],
    *,
    at: int,
) -> int | None:
    """The score of the old copy before a move, less the allowed points; None if it is unknown."""
    for cluster in left:
        column = known(cluster)
        # The point before: the score at the point of the move may show already that it left.
        if column is not None and at > 0 and column[at - 1] != ABSENT:
            return int(column[at - 1]) - (check.no_worse_than or 0)
    return None


def _stretches(is_low: npt.NDArray[np.bool_]) -> Iterator[int]:
    """The lengths of the runs of true values, in points."""
    # False on both sides, so that a run at the beginning or the end of the time has two edges, too.
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_low, [False]))))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield int(end - start)
