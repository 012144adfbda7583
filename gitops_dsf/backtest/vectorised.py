"""Decides a Placement at all points of the grid at once, with numpy.

It covers Placements whose filters do not change, with scores, constant prioritizers and Steady. The decision
of a point depends on the one before it only through Steady, so whole stretches without a move are compared at
once. tests/property/test_backtest.py compares it with the simulator, point by point.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.expiry import ScoreExpiry
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.simulator.prioritizers import MAX_SCORE

Ints = npt.NDArray[np.int64]
CELLS: Final = 1_000_000
"""Points times clusters that are looked at together, which bounds the memory."""
FEW: Final = 4
"""Fewer clusters than this are looked for one by one among the best ones."""
FIRST_LOOK: Final = 16
"""Points that are compared after a move. The stretch grows while nothing changes."""


def sum_blocks(
    contest: PreparedPlacement,
    columns: GridScores,
    found: Sequence[ScoreExpiry],
    *,
    first: int = 0,
    last: int | None = None,
) -> Iterator[tuple[int, Ints]]:
    """The weighted sums of the candidates of a Placement, without Steady, from point `first` on, before
    `last`: the number of the first point of a block, and a row for each point with a column for each
    candidate.
    """
    places = {name: place for place, name in enumerate(contest.names)}
    spans = [
        (
            *np.searchsorted(columns.times, (expiry.noticed, expiry.renewed), side="left").tolist(),
            expiry,
        )
        for expiry in found
        if expiry.cluster in places
    ]
    step = max(1, CELLS // max(1, len(places)))
    end = len(columns.times) if last is None else last
    for start in range(first, end, step):
        stop = min(start + step, end)
        block = np.empty((stop - start, len(places)), dtype=np.int64)
        block[:] = np.asarray(contest.constant, dtype=np.int64)
        for term in contest.terms:
            for name, place in places.items():
                column = columns.column(term.resource, term.score, name)
                if column is not None:
                    block[:, place] += column[start:stop] * np.int64(term.weight)
        for noticed, renewed, expiry in spans:
            low, high = max(noticed, start), min(renewed, stop)
            for term in contest.terms:
                column = columns.column(term.resource, term.score, expiry.cluster)
                if low < high and term.resource == expiry.resource and column is not None:
                    block[low - start : high - start, places[expiry.cluster]] -= column[
                        low:high
                    ] * np.int64(term.weight)
        yield start, block


class _Ranks:
    """How the candidates rank at consecutive points, without the bonus of Steady."""

    def __init__(self, sums: Ints, multiplier: int, count: int) -> None:
        """`count` clusters are chosen, which must be fewer than there are candidates."""
        width = sums.shape[1]
        # Among equal sums the first name wins.
        self.keys: Ints = sums * (multiplier * width) + np.arange(width - 1, -1, -1, dtype=np.int64)
        self.leaders: Ints = (
            _first_few(self.keys, count + 1) if count < FEW else _first(self.keys, count + 1)
        )
        """The best candidates of each point, one more than are chosen, the best first."""
        self.leading: Ints = np.take_along_axis(self.keys, self.leaders, axis=1)
        """Their keys."""
        self.best: Ints = np.take_along_axis(sums, self.leaders[:, :count], axis=1).sum(axis=1)
        """The sum of the best clusters of each point."""


def _first(keys: Ints, count: int) -> Ints:
    """The places of the highest keys of each row, the highest first."""
    rest = keys.shape[1] - count
    places = np.argpartition(keys, rest, axis=1)[:, rest:]
    order = np.argsort(-np.take_along_axis(keys, places, axis=1), axis=1)
    found: Ints = np.take_along_axis(places, order, axis=1)
    return found


def _first_few(keys: Ints, count: int) -> Ints:
    """The same, faster if they are few."""
    found = np.empty((len(keys), count), dtype=np.int64)
    rest, rows = keys.copy(), np.arange(len(keys))
    for number in range(count):
        found[:, number] = rest.argmax(axis=1)
        rest[rows, found[:, number]] = np.iinfo(np.int64).min
    return found


class _Fold:
    """Decides the points of one Placement in order, and adds what it decides to `decided`, which may hold the
    decisions of earlier points.

    The scores are multiplied by `multiplier`, and clusters of the decision get 100 x `steady`, which must not
    be negative.
    """

    def __init__(
        self,
        contest: PreparedPlacement,
        *,
        multiplier: int,
        steady: int,
        decided: list[GridDecision],
    ) -> None:
        self._names = contest.names
        self._width = len(contest.names)
        wanted = contest.placement.spec.number_of_clusters
        self._count = self._width if wanted is None else min(wanted, self._width)
        self._multiplier = multiplier
        self._bonus = steady * MAX_SCORE * max(1, self._width)
        self._decided = decided
        known = decided[-1].clusters if decided else ()
        self._members = np.flatnonzero([name in known for name in contest.names])
        """Places of the clusters of the decision."""

    def add(self, first: int, sums: Ints) -> int:
        """Takes sums of consecutive points from number `first` on. Returns their regret times the weights."""
        if self._count in (0, self._width):
            self._keep(first, np.arange(self._count))
            return 0
        ranks = _Ranks(sums, self._multiplier, self._count)
        chosen, rows = [self._best(ranks.keys[0])], [0]
        self._keep(first, chosen[0])
        while (row := self._next_move(ranks, rows[-1])) is not None:
            # A single one has lost to the leader.
            chosen.append(
                ranks.leaders[row, :1] if self._count == 1 else self._best(ranks.keys[row])
            )
            rows.append(row)
            self._keep(first + row, chosen[-1])
        lengths = np.diff(rows, append=len(sums))
        points = np.take_along_axis(sums, np.repeat(np.stack(chosen), lengths, axis=0), axis=1)
        return int(ranks.best.sum() - points.sum())

    def _best(self, keys: Ints) -> Ints:
        ranked = keys.copy()
        ranked[self._members] += self._bonus
        return np.sort(
            np.argpartition(ranked, self._width - self._count)[self._width - self._count :]
        )

    def _next_move(self, ranks: _Ranks, row: int) -> int | None:
        """The first row from `row` on in which another cluster ranks before a member."""
        is_outside = np.ones(self._width, dtype=np.bool_)
        is_outside[self._members] = False
        stretch = FIRST_LOOK
        while row < len(ranks.keys):
            look = slice(row, row + stretch)
            if self._count < FEW:
                inside = reduce(
                    np.minimum, [ranks.keys[look, place] for place in self._members.tolist()]
                )
            else:
                inside = ranks.keys[look].take(self._members, axis=1).min(axis=1)
            before = ranks.leading[look] > (inside + self._bonus)[:, np.newaxis]
            before &= is_outside.take(ranks.leaders[look])
            at = int(before.argmax())
            if before.reshape(-1)[at]:
                return row + at // len(before[0])
            row += stretch
            stretch *= 4
        return None

    def _keep(self, number: int, chosen: Ints) -> None:
        self._members = chosen
        clusters = tuple([self._names[place] for place in chosen.tolist()])
        if not self._decided or self._decided[-1].clusters != clusters:
            self._decided.append(GridDecision(number=number, clusters=clusters))


def decide(
    contest: PreparedPlacement,
    *,
    columns: GridScores,
    found: Sequence[ScoreExpiry],
    multiplier: int = 1,
    steady: int,
) -> DecisionLine:
    """All decisions of one Placement."""
    decided: list[GridDecision] = []
    lost = 0
    for first, last, candidates in stretches(contest, columns):
        part = replace(contest, candidates=candidates)
        fold = _Fold(part, multiplier=multiplier, steady=steady, decided=decided)
        for number, sums in sum_blocks(part, columns, found, first=first, last=last):
            lost += fold.add(number, sums)
    regret = lost / contest.total_weight / len(columns.times)
    return DecisionLine(key=contest.key, decided=tuple(decided), regret=regret)


def stretches(
    contest: PreparedPlacement, columns: GridScores
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Stretches with the same eligible candidates: the first point, the one after it, and these."""
    count = len(columns.times)
    if not contest.required:
        yield 0, count, contest.candidates
        return
    eligible = np.ones((count, len(contest.candidates)), dtype=np.bool_)
    for place, name in enumerate(contest.names):
        for resource, dimension in contest.required:
            present = columns.present(resource, dimension, name)
            eligible[:, place] &= False if present is None else present
    edges = [0, *(np.flatnonzero((eligible[1:] != eligible[:-1]).any(axis=1)) + 1).tolist(), count]
    for first, last in pairwise(edges):
        yield (
            first,
            last,
            tuple(np.asarray(contest.candidates, dtype=np.int64)[eligible[first]].tolist()),
        )
