"""Decides a Placement at all points of the grid at once, with numpy.

It covers Placements whose filters do not change, with scores, constant prioritizers and Steady. The decision
of a point depends on the one before it only through Steady, so whole stretches without a move are compared at
once. tests/property/test_backtest_vectorised.py compares it with the simulator, point by point.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.decisions import Decided, DecisionLine
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.lapses import Lapse, Tracks
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.simulator.prioritizers import MAX_SCORE

Ints = npt.NDArray[np.int64]
CELLS: Final = 1_000_000
"""Points times clusters that are looked at together, which bounds the memory."""
FEW: Final = 4
"""Fewer clusters than this are looked for one by one among the best ones."""
FIRST_LOOK: Final = 16
"""Points that are compared after a move. The stretch grows while nothing changes."""


class ScoreColumns:
    """The published scores at the points of a grid, one column for each score and cluster, computed once."""

    def __init__(
        self,
        *,
        tracks: Tracks,
        grid: Grid,
        earlier: Callable[[str, str], float] = lambda _resource, _cluster: 0.0,
    ) -> None:
        """`earlier` says by how many seconds the writes of a score on a cluster are earlier than the tracks
        have them.
        """
        self._tracks = tracks
        self._earlier = earlier
        self._grid = grid
        self._times = np.arange(grid.count, dtype=np.float64) * grid.step + grid.start
        self._known: dict[tuple[str, str, str], npt.NDArray[np.int8]] = {}

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """The times of the points."""
        return self._times

    def column(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.int8] | None:
        """The score at each point; 0 where there is none. None if it is never published."""
        key = (resource, dimension, cluster)
        if key in self._known:
            return self._known[key]
        found = self._written(resource, dimension, cluster)
        if found is not None:
            found[found == ABSENT] = 0
            self._known[key] = found
        return found

    def present(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.bool_] | None:
        """Whether there is a score at each point, expired or not. None if it is never published."""
        found = self._written(resource, dimension, cluster)
        return None if found is None else found != ABSENT

    def _written(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.int8] | None:
        track = self._tracks.get(resource, {}).get(cluster)
        values = track.values.get(dimension) if track is not None else None
        if track is None or values is None:
            return None
        # The first value stands for the time before the first write.
        written = np.concatenate((np.array([ABSENT], dtype=np.int8), np.frombuffer(values, dtype=np.int8)))
        ends = np.full(len(written), len(self._times))
        ends[:-1] = self._first_points(
            np.frombuffer(track.at, dtype=np.float64) - self._earlier(resource, cluster)
        )
        ends[1:] -= ends[:-1]
        found: npt.NDArray[np.int8] = np.repeat(written, ends)
        return found

    def _first_points(self, at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The number of the first point at or after each moment; the number of points if there is none."""
        start, step = self._grid.start, self._grid.step
        numbers = np.ceil((at - start) / step)
        # The division may round to the wrong side of a point.
        unclear = numbers * step + start != at
        if unclear.any():
            near, at = numbers[unclear], at[unclear]
            near -= (near - 1) * step + start >= at
            near += near * step + start < at
            numbers[unclear] = near
        return np.clip(numbers, 0, len(self._times), out=numbers)


class SumBlocks:
    """The weighted sums of the candidates of a Placement, without Steady, block by block."""

    def __init__(
        self,
        contest: Contest,
        columns: ScoreColumns,
        found: Sequence[Lapse],
        *,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Covers the points from `first` on, before `last`."""
        self._contest = contest
        self._columns = columns
        self._range = (first, len(columns.times) if last is None else last)
        places = {name: place for place, name in enumerate(contest.names)}
        self._lapses = [
            (
                *np.searchsorted(columns.times, (lapse.noticed, lapse.renewed), side="left").tolist(),
                lapse,
                place,
            )
            for lapse in found
            if (place := places.get(lapse.cluster)) is not None
        ]

    def __iter__(self) -> Iterator[tuple[int, Ints]]:
        """The number of the first point of a block, and its sums: a row for each point, a column for each
        candidate.
        """
        width = len(self._contest.candidates)
        step = max(1, CELLS // max(1, width))
        start, end = self._range
        for first in range(start, end, step):
            yield first, self._block(first, min(first + step, end))

    def _block(self, first: int, last: int) -> Ints:
        contest, columns = self._contest, self._columns
        block = np.empty((last - first, len(contest.candidates)), dtype=np.int64)
        block[:] = np.asarray(contest.constant, dtype=np.int64)
        for term in contest.terms:
            for place, name in enumerate(contest.names):
                column = columns.column(term.resource, term.score, name)
                if column is not None:
                    block[:, place] += column[first:last] * np.int64(term.weight)
        for begin, end, lapse, place in self._lapses:
            if begin >= last or end <= first:
                continue
            for term in contest.terms:
                column = columns.column(term.resource, term.score, lapse.cluster)
                if term.resource == lapse.resource and column is not None:
                    low, high = max(begin, first), min(end, last)
                    block[low - first : high - first, place] -= column[low:high] * np.int64(term.weight)
        return block


class _Ranks:
    """How the candidates rank at consecutive points, without the bonus of Steady."""

    def __init__(self, sums: Ints, multiplier: int, count: int) -> None:
        """`count` clusters are chosen, which must be fewer than there are candidates."""
        width = sums.shape[1]
        # Among equal sums the first name wins.
        self.keys: Ints = sums * (multiplier * width) + np.arange(width - 1, -1, -1, dtype=np.int64)
        self.leaders: Ints = _first_few(self.keys, count + 1) if count < FEW else _first(self.keys, count + 1)
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


class Fold:
    """Decides the points of one Placement in order.

    The scores are multiplied by `multiplier`, and clusters of the decision get 100 x `steady`, which must not
    be negative.
    """

    def __init__(
        self, contest: Contest, *, multiplier: int, steady: int, current: Collection[str] | None = None
    ) -> None:
        self._contest = contest
        self._width = len(contest.candidates)
        self._multiplier = multiplier
        self._bonus = steady * MAX_SCORE * max(1, self._width)
        self._chosen: Ints | None = None
        self._current = frozenset(current) if current is not None else None
        self._decided: list[Decided] = []
        self._lost = 0
        """Sum of the regret of all points, before it is divided by the weights."""

    def add(self, first: int, sums: Ints) -> None:
        """Takes the sums of consecutive points, from number `first` on."""
        count = self._count
        if count == 0 or self._width == 0:
            self._decide(first, np.empty(0, dtype=np.int64))
            return
        if count == self._width:
            self._decide(first, np.arange(self._width))
            return
        ranks = _Ranks(sums, self._multiplier, count)
        if self._chosen is None:
            self._decide(first, self._best(ranks.keys[0], self._known()))
        chosen, rows = [self._members()], [0]
        while (row := self._next_move(ranks, rows[-1], chosen[-1])) is not None:
            # A single one has lost to the leader.
            chosen.append(ranks.leaders[row, :1] if count == 1 else self._best(ranks.keys[row], chosen[-1]))
            rows.append(row)
            self._keep(first + row, chosen[-1])
        lengths = np.diff(rows, append=len(sums))
        points = np.take_along_axis(sums, np.repeat(np.stack(chosen), lengths, axis=0), axis=1)
        self._lost += int(ranks.best.sum() - points.sum())

    @property
    def decided(self) -> Sequence[Decided]:
        """The decisions up to now."""
        return self._decided

    @property
    def lost(self) -> float:
        """The regret of all points together, in score points."""
        return self._lost / self._contest.total_weight

    @property
    def _count(self) -> int:
        wanted = self._contest.count
        return self._width if wanted is None else min(wanted, self._width)

    def _members(self) -> Ints:
        return np.empty(0, dtype=np.int64) if self._chosen is None else self._chosen

    def _known(self) -> Ints:
        """Places of the decision that was there before the first point."""
        known = self._current or frozenset()
        return np.array(
            [place for place, name in enumerate(self._contest.names) if name in known], dtype=np.int64
        )

    def _best(self, keys: Ints, members: Ints) -> Ints:
        ranked = keys.copy()
        ranked[members] += self._bonus
        count = self._count
        return np.sort(np.argpartition(ranked, self._width - count)[self._width - count :])

    def _next_move(self, ranks: "_Ranks", row: int, members: Ints) -> int | None:
        """The first row from `row` on in which another cluster ranks before a member."""
        is_outside = np.ones(self._width, dtype=np.bool_)
        is_outside[members] = False
        stretch = FIRST_LOOK
        while row < len(ranks.keys):
            look = slice(row, row + stretch)
            if len(members) < FEW:
                inside = reduce(np.minimum, [ranks.keys[look, place] for place in members.tolist()])
            else:
                inside = ranks.keys[look].take(members, axis=1).min(axis=1)
            before = ranks.leading[look] > (inside + self._bonus)[:, np.newaxis]
            before &= is_outside.take(ranks.leaders[look])
            at = int(before.argmax())
            if before.reshape(-1)[at]:
                return row + at // len(before[0])
            row += stretch
            stretch *= 4
        return None

    def _decide(self, number: int, chosen: Ints) -> None:
        if self._chosen is None or not np.array_equal(chosen, self._chosen):
            self._keep(number, chosen)

    def _keep(self, number: int, chosen: Ints) -> None:
        names = self._contest.names
        self._chosen = chosen
        self._decided.append(
            Decided(number=number, clusters=tuple([names[place] for place in chosen.tolist()]))
        )


def decide(
    contest: Contest,
    *,
    columns: ScoreColumns,
    found: Sequence[Lapse],
    multiplier: int = 1,
    steady: int,
    current: Collection[str] | None = None,
) -> DecisionLine:
    """All decisions of one Placement. `current` is the decision before the first point."""
    decided: list[Decided] = []
    lost = 0.0
    for first, last, candidates in stretches(contest, columns):
        part = replace(
            contest,
            candidates=candidates,
            constant=contest.constant_of(candidates),
        )
        fold = Fold(
            part, multiplier=multiplier, steady=steady, current=decided[-1].clusters if decided else current
        )
        for number, sums in SumBlocks(part, columns, found, first=first, last=last):
            fold.add(number, sums)
        lost += fold.lost
        decided += [
            each
            for each in fold.decided
            if not decided or each is not fold.decided[0] or each.clusters != decided[-1].clusters
        ]
    return DecisionLine(key=contest.key, decided=tuple(decided), regret=lost / len(columns.times))


def stretches(contest: Contest, columns: ScoreColumns) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Consecutive points with the same eligible candidates: the first one, the one after the last, and the
    candidates.
    """
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
        yield first, last, tuple(np.asarray(contest.candidates, dtype=np.int64)[eligible[first]].tolist())
