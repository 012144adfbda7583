"""Decides a Placement at all points of the grid at once, with numpy.

It covers Placements whose filters do not change, with scores, constant prioritizers and Steady. The
decision of a point depends on the one before it only through Steady, so whole stretches without a
move are compared at once.

tests/property/test_backtest.py compares it with the simulator, point by point.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

import numpy as np

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.expiry import ScoreExpiry
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.sums import Ints, stretches, sum_blocks
from gitops_dsf.simulator.prioritizers import MAX_SCORE

FEW: Final = 4
"""Fewer clusters than this are searched one by one among the best ones, which is faster."""
FIRST_STRETCH: Final = 16
"""Points that are compared after a move.

The stretch grows while nothing changes: short ones waste no work where a Placement flaps, long ones
are fast where it stays.
"""


def decide(
    prepared: PreparedPlacement,
    *,
    scores: GridScores,
    expiries: Sequence[ScoreExpiry],
    multiplier: int = 1,
    steady: int,
) -> DecisionLine:
    """All decisions of one Placement.

    The scores are multiplied by `multiplier`, and clusters of the decision get 100 x `steady`,
    which must not be negative.
    """
    decided: list[GridDecision] = []
    lost = 0
    for stretch in stretches(prepared, scores):
        part = replace(prepared, candidates=stretch.candidates)
        fold = _Fold(part, multiplier=multiplier, steady=steady, decided=decided)
        blocks = sum_blocks(part, scores, expiries, first=stretch.first, end=stretch.end)
        for block in blocks:
            lost += fold.add(block.first, block.sums)
    # Sums are whole numbers. One division at the end rounds once.
    regret = lost / prepared.total_weight / len(scores.times)
    return DecisionLine(key=prepared.key, decided=tuple(decided), regret=regret)


class _Fold:
    """Decides the points of one Placement in order.

    It adds what it decides to `decided`, which may hold the decisions of earlier points.
    """

    def __init__(
        self,
        prepared: PreparedPlacement,
        *,
        multiplier: int,
        steady: int,
        decided: list[GridDecision],
    ) -> None:
        self._names = prepared.names
        self._width = len(prepared.names)
        wanted = prepared.placement.spec.number_of_clusters
        self._count = self._width if wanted is None else min(wanted, self._width)
        self._multiplier = multiplier
        self._bonus = steady * MAX_SCORE * max(1, self._width)
        self._decided = decided
        before = decided[-1].clusters if decided else ()
        self._members = np.flatnonzero([name in before for name in prepared.names])
        """Columns of the clusters of the decision."""

    def add(self, first: int, sums: Ints) -> int:
        """Takes the sums of points from `first` on. Returns their regret times the weights."""
        # If all candidates or none are chosen, the scores decide nothing.
        if self._count in (0, self._width):
            self._keep(first, np.arange(self._count))
            return 0
        ranks = _Ranks(sums, self._multiplier, self._count)
        chosen = [self._best(ranks.keys[0])]
        rows = [0]
        self._keep(first, chosen[0])
        while (row := self._next_move(ranks, rows[-1])) is not None:
            # A single cluster has lost to the leader.
            chosen.append(
                ranks.leaders[row, :1] if self._count == 1 else self._best(ranks.keys[row])
            )
            rows.append(row)
            self._keep(first + row, chosen[-1])
        lengths = np.diff(rows, append=len(sums))
        points = np.take_along_axis(sums, np.repeat(np.stack(chosen), lengths, axis=0), axis=1)
        return int(ranks.best.sum() - points.sum())

    def _best(self, keys: Ints) -> Ints:
        """The columns that OCM chooses at one point."""
        ranked = keys.copy()
        ranked[self._members] += self._bonus
        rest = self._width - self._count
        # In order of name, as OCM writes a decision.
        return np.sort(np.argpartition(ranked, rest)[rest:])

    def _next_move(self, ranks: "_Ranks", row: int) -> int | None:
        """The first row from `row` on in which another cluster ranks before a member."""
        is_outside = np.ones(self._width, dtype=np.bool_)
        is_outside[self._members] = False
        length = FIRST_STRETCH
        while row < len(ranks.keys):
            rows = slice(row, row + length)
            if self._count < FEW:
                columns = [ranks.keys[rows, member] for member in self._members.tolist()]
                weakest = reduce(np.minimum, columns)
            else:
                weakest = ranks.keys[rows].take(self._members, axis=1).min(axis=1)
            # The leaders are one more than are chosen. So if a cluster outside beats the weakest
            # member, one of the leaders does.
            is_before = ranks.leading[rows] > (weakest + self._bonus)[:, np.newaxis]
            is_before &= is_outside.take(ranks.leaders[rows])
            first = int(is_before.argmax())
            if is_before.reshape(-1)[first]:
                return row + first // len(is_before[0])
            row += length
            length *= 4
        return None

    def _keep(self, number: int, chosen: Ints) -> None:
        """Notes a decision."""
        self._members = chosen
        clusters = tuple([self._names[column] for column in chosen.tolist()])
        # OCM writes only changed decisions.
        if not self._decided or self._decided[-1].clusters != clusters:
            self._decided.append(GridDecision(number=number, clusters=clusters))


class _Ranks:
    """The ranks of the candidates at consecutive points, without the bonus of Steady."""

    def __init__(self, sums: Ints, multiplier: int, count: int) -> None:
        """`count` clusters are chosen, which must be fewer than there are candidates."""
        width = sums.shape[1]
        # If sums are equal, OCM takes the first name. The candidates are in order of name, so keys
        # that differ by less than one point of a sum decide it.
        self.keys: Ints = sums * (multiplier * width) + np.arange(width - 1, -1, -1, dtype=np.int64)
        self.leaders: Ints = (
            _best_few(self.keys, count + 1) if count < FEW else _best(self.keys, count + 1)
        )
        """The best candidates of each point, one more than are chosen, the best first."""
        self.leading: Ints = np.take_along_axis(self.keys, self.leaders, axis=1)
        """The keys of the leaders."""
        self.best: Ints = np.take_along_axis(sums, self.leaders[:, :count], axis=1).sum(axis=1)
        """The sum of the best clusters of each point."""


def _best(keys: Ints, count: int) -> Ints:
    """The columns of the highest keys of each row, the highest first."""
    rest = keys.shape[1] - count
    highest = np.argpartition(keys, rest, axis=1)[:, rest:]
    order = np.argsort(-np.take_along_axis(keys, highest, axis=1), axis=1)
    ordered: Ints = np.take_along_axis(highest, order, axis=1)
    return ordered


def _best_few(keys: Ints, count: int) -> Ints:
    """The same, faster if they are few."""
    best = np.empty((len(keys), count), dtype=np.int64)
    rest = keys.copy()
    rows = np.arange(len(keys))
    for rank in range(count):
        best[:, rank] = rest.argmax(axis=1)
        rest[rows, best[:, rank]] = np.iinfo(np.int64).min
    return best
