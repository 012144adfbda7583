"""The order of clusters for Kueue over time, by the rules that the reconciler follows. With numpy.

Not guaranteed: that jobs would have gone there. The jobs of the past are not known, so no load of
theirs is assumed, and a cluster leaves the list as soon as it is not eligible.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.decisions import DecisionLine
from gitops_dsf.backtest.figures import DAY, is_short
from gitops_dsf.backtest.gridscores import GridColumn, GridScores
from gitops_dsf.backtest.result import OrderFigures
from gitops_dsf.backtest.sums import MAX_CELLS
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.hub.multikueue import MAX_CLUSTERS, MultiKueueOrder
from gitops_dsf.multikueue.order import OrderInputs, next_order

NOBODY: Final = frozenset[str]()
LOOK_AHEAD: Final = 256
"""Points that are looked at together for the next change of a list."""

PointsGrid = npt.NDArray[np.float64]
"""A row for each point of the grid, and a column for each cluster; NaN where a score expired."""


def order_figures(
    line: DecisionLine,
    order: MultiKueueOrder,
    scores: GridScores,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> OrderFigures | None:
    """The figures of the order of the clusters; None if it was stopped."""
    grid = scores.grid
    replay = _OrderReplay(order, scores)
    for held in line.held(end=grid.count):
        if not replay.follow(held.clusters, first=held.first, end=held.end, stop=stop):
            return None
    changes_per_day = None
    if not is_short(grid):
        changes_per_day = replay.changes / ((grid.end - grid.start) / DAY)
    seconds_first: dict[str, float] = {}
    for name, count in replay.points_first.most_common():
        seconds_first[name] = count * grid.step
    return OrderFigures(
        config=order.config,
        changes=replay.changes,
        changes_per_day=changes_per_day,
        seconds_first=seconds_first,
        most_left_out=replay.most_left_out,
    )


class _OrderReplay:
    """The list of one MultiKueueConfig, from change to change."""

    def __init__(self, order: MultiKueueOrder, scores: GridScores) -> None:
        self._order = order
        self._grid = scores.grid
        self._points = _ClusterPoints(order, scores)
        self._names: tuple[str, ...] = ()
        """The list."""
        self._due = 0
        """The point from which on it may be ordered again."""
        self._ordered_at: float | None = None
        self.changes = 0
        """How often it was reordered."""
        self.points_first: Counter[str] = Counter()
        """Points of the grid at the front, by cluster."""
        self.most_left_out = 0

    def follow(
        self, clusters: Sequence[str], *, first: int, end: int, stop: Callable[[], bool]
    ) -> bool:
        """Follows a decision from a point of the grid on, before another one.

        Returns whether it came to the end.
        """
        number = first
        while number < end:
            if stop():
                return False
            self._pass(clusters, number)
            following = self._next_pass(clusters, number, end)
            if self._names:
                self.points_first[self._names[0]] += following - number
            number = following
        return True

    def _pass(self, clusters: Sequence[str], number: int) -> None:
        """The list that the reconciler would have written at this point."""
        eligible = frozenset(clusters)
        now = self._grid.at(number)
        inputs = OrderInputs(
            shown=self._names,
            last_written=self._names,
            decided=eligible,
            served=eligible,
            # No job is known, so no cluster is busy, and a cluster that left the decision leaves
            # the list.
            gone=NOBODY,
            busy=NOBODY,
            points=self._points.at(clusters, number),
            stickiness=self._order.stickiness,
            ordered_at=self._ordered_at,
            now=now,
            reorder_seconds=self._order.reorder_seconds,
        )
        following = next_order(inputs)
        self.most_left_out = max(self.most_left_out, len(following.left_out))
        if following.is_ordered and following.names != self._names:
            # The first list is not a change.
            self.changes += bool(self._names)
            self._ordered_at = now
            self._due = number + math.ceil(self._order.reorder_seconds / self._grid.step)
        self._names = following.names

    def _next_pass(self, clusters: Sequence[str], number: int, end: int) -> int:
        """The next point at which a pass may change the list, or the end."""
        first = max(number + 1, self._due)
        if not clusters:
            # Without an eligible cluster the list stays.
            return end
        columns: dict[str, int] = {}
        others: list[int] = []
        for column, name in enumerate(clusters):
            columns[name] = column
            if name not in self._names:
                others.append(column)
        if not columns.keys() >= set(self._names):
            # A cluster that is not eligible leaves as soon as the list may be ordered.
            return min(first, end)
        listed = [columns[name] for name in self._names]
        if others and len(listed) < MAX_CLUSTERS:
            return min(first, end)
        while first < end:
            until = min(first + LOOK_AHEAD, end)
            may_change = self._may_change(
                self._points.block(clusters, first, until), listed, others
            )
            if may_change.any():
                return first + int(may_change.argmax())
            first = until
        return end

    def _may_change(
        self, points: PointsGrid, listed: Sequence[int], others: Sequence[int]
    ) -> npt.NDArray[np.bool_]:
        """The points at which a cluster leads enough, or a score has expired."""
        # Neighbours in the list change only with expired scores, which keep their index.
        may_change: npt.NDArray[np.bool_] = np.asarray(np.isnan(points).any(axis=1))
        leads = points[:, listed[1:]] - points[:, listed[:-1]]
        may_change |= self._is_enough(leads).any(axis=1)
        if others:
            # A cluster without a place leads the weakest one of the list.
            best = points[:, others].max(axis=1, keepdims=True)
            weakest = points[:, listed].min(axis=1, keepdims=True)
            may_change |= self._is_enough(best - weakest).any(axis=1)
        return may_change

    def _is_enough(self, leads: PointsGrid) -> npt.NDArray[np.bool_]:
        enough: npt.NDArray[np.bool_] = (leads > 0) & (leads >= self._order.stickiness)
        return enough


class _ClusterPoints:
    """The points of clusters, computed in blocks, which bounds the memory."""

    def __init__(self, order: MultiKueueOrder, scores: GridScores) -> None:
        self._order = order
        self._scores = scores
        self._columns: dict[tuple[str, str, str], GridColumn] = {}
        self._block: tuple[Sequence[str], int, PointsGrid] | None = None
        """The clusters, the first point and the points of the last block."""

    def at(self, clusters: Sequence[str], number: int) -> dict[str, float]:
        """The points at one point of the grid, without clusters whose scores have expired."""
        points: dict[str, float] = {}
        row = self.block(clusters, number, number + 1)[0]
        for name, value in zip(clusters, row.tolist(), strict=True):
            if not math.isnan(value):
                points[name] = value
        return points

    def block(self, clusters: Sequence[str], first: int, end: int) -> PointsGrid:
        """The points from one point of the grid on, before another."""
        if self._block is not None:
            of_clusters, start, points = self._block
            if of_clusters == clusters and start <= first and end <= start + len(points):
                return points[first - start : end - start]
        rows = max(end - first, LOOK_AHEAD, MAX_CELLS // max(1, len(clusters)))
        until = min(first + rows, self._scores.grid.count)
        points = self._computed(clusters, first, until)
        self._block = (clusters, first, points)
        return points[: end - first]

    def _computed(self, clusters: Sequence[str], first: int, end: int) -> PointsGrid:
        points: PointsGrid = np.zeros((end - first, len(clusters)), dtype=np.float64)
        for column, cluster in enumerate(clusters):
            for term in self._order.terms:
                values = self._column(term.resource, term.dimension, cluster)[first:end]
                points[:, column] += values.astype(np.float64) * term.weight
                points[values == ABSENT, column] = np.nan
        # As `gitops_dsf.hub.points.points_of` rounds.
        rounded: PointsGrid = np.round(100 * points / self._order.total_weight) / 100
        return rounded

    def _column(self, resource: str, dimension: str, cluster: str) -> GridColumn:
        """A score at each point: 0 where it is missing, and ABSENT where it has expired."""
        key = (resource, dimension, cluster)
        if key not in self._columns:
            column = self._scores.known(resource, dimension, cluster)
            present = self._scores.present(resource, dimension, cluster)
            if column is None or present is None:
                column = np.zeros(self._scores.grid.count, dtype=np.int8)
            else:
                # Before its first write a score is missing, which OCM counts as 0. Only a score
                # that was there can expire.
                column[(column == ABSENT) & ~present] = 0
            self._columns[key] = column
        return self._columns[key]
