"""Decides paced Placements together, point by point: what the scores ask for begins by the pace.

`gitops_dsf.pacing.admit` admits the moves, as in the reconciler. Only the desired moves are computed here, with
numpy, because the simulator would take minutes. tests/property/test_backtest_paced.py compares them.

OCM follows an admission at once, and the handover is done at the next point: nobody knows how long it would
have taken. The scores of the past do not show the load of these moves, so it is assumed until they would.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.expiry import ScoreExpiry, tracks_of
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.vectorised import CELLS, Ints, stretches, sum_blocks
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.assumptions import AssumedShift, summed
from gitops_dsf.pacing.desired import DesiredMove, Paced, best_swap
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, remembered
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState
from gitops_dsf.simulator.prioritizers import MAX_SCORE

OUT: Final = -(2**40)
"""The sum of a cluster that is not eligible: below every other one."""
NOBODY: Final = 2**62
"""Above every rank."""
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """A time for which the scores asked for a move of a Placement, and the pace did not let it begin."""

    seconds: float
    began: bool
    """Whether a move followed. Otherwise the scores no longer asked for one, or the span was over."""


@dataclass(frozen=True, kw_only=True)
class PacedLine:
    """What one Placement decided, and what it waited for."""

    line: DecisionLine
    waits: tuple[Wait, ...]


class PacedReplay:
    """Replays the paced Placements of one hub together."""

    def __init__(
        self,
        contests: Iterable[PreparedPlacement],
        *,
        paced: Mapping[str, Paced],
        pace: Pace,
        state: HubState,
        columns: GridScores,
    ) -> None:
        """`contests` are those of the Placements as people wrote them, and none is special."""
        self._contests = sorted(contests, key=lambda each: each.key)
        keys = [each.key for each in self._contests]
        self._paced = {key: paced[key] for key in keys}
        self._pace, self._state, self._columns = pace, state, columns
        self._table = _Table(self._contests, self._paced, columns)
        self._remembered = remembered(pace, (each.ranking for each in self._paced.values()))
        self._decided: list[list[GridDecision]] = [[] for _ in keys]
        self._lost = [0] * len(keys)
        self._since: dict[str, float] = {}
        """Since when a Placement waits."""
        self._waits: dict[str, list[Wait]] = {key: [] for key in keys}
        self.ledger = Ledger()
        """The moves that are under way at the last point, and those that ended a short time before."""

    def run(self, *, stop: Callable[[], bool] = lambda: False) -> Mapping[str, PacedLine]:
        """What the Placements decided, by namespace/name; nothing if `stop` became true before the end."""
        for _ in self.points():
            if stop():
                return {}
        end, count = self._columns.grid.end, self._columns.grid.count
        for key in [*self._since]:
            self._stop_waiting(key, end, began=False)
        found = {}
        for each, decided, lost in zip(self._contests, self._decided, self._lost, strict=True):
            regret = lost / each.total_weight / count
            line = DecisionLine(key=each.key, decided=tuple(decided), regret=regret)
            found[each.key] = PacedLine(line=line, waits=tuple(self._waits[each.key]))
        return found

    def points(self) -> Iterator[int]:
        """Decides point by point. Yields the number of each when it is decided."""
        count, before = self._columns.grid.count, np.zeros(0, dtype=np.bool_)
        for first, sums in self._table.blocks():
            for row in range(len(sums)):
                eligible = sums[row] > OUT
                if not np.array_equal(eligible, before):
                    before = eligible
                    self._decide_at_once(first + row, sums[row])
                self._admit(first + row, sums[row])
                yield first + row
            self._add_regret(first, min(first + len(sums), count), sums)

    def _decide_at_once(self, number: int, sums: Ints) -> None:
        """Whatever the pace, OCM replaces clusters that are no longer eligible, and fills up a decision."""
        now, table = self._columns.grid.at(number), self._table
        for row, each in enumerate(self._contests):
            old = table.members[row]
            count = min(table.wanted[row], int((sums[row] > OUT).sum()))
            held = old & (sums[row] > OUT)
            if self._decided[row] and held.sum() == old.sum() == count:
                continue
            ranks = np.where(held, NOBODY, table.ranks(sums[row]))
            chosen = np.zeros(len(old), dtype=np.bool_)
            chosen[np.argsort(-ranks)[:count]] = True
            first = not self._decided[row]
            table.members[row] = chosen
            self._keep(row, number)
            if first:
                continue
            left = sorted(
                (table.names[place] for place in np.flatnonzero(old & ~chosen)), reverse=True
            )
            for place in np.flatnonzero(chosen & ~old):
                move = LedgerMove(
                    each.key,
                    left.pop() if left else "",
                    table.names[place],
                    since=now,
                    phase=Phase.HANDOVER,
                    phase_since=now,
                    admitted=False,
                )
                self.ledger = self.ledger.adding([move])

    def _admit(self, number: int, sums: Ints) -> None:
        now = self._columns.grid.at(number)
        ended = (
            each.entered(Phase.ENDED, now) if each.under_way and each.since < now else each
            for each in self.ledger.moves
        )
        ledger = msgspec.structs.replace(self.ledger, moves=tuple(ended))
        self.ledger = ledger.pruned(kept=self._remembered, now=now)
        situation = Situation(
            hub=self._state,
            paced=self._paced,
            ledger=self.ledger,
            pace=self._pace,
            now=datetime.fromtimestamp(now, UTC),
        )
        found = admit(situation, _DesiredMoves(self._table, sums, number))
        for desired in found.moves:
            row = self._table.rows[desired.placement]
            self._table.members[row, self._table.places[desired.source]] = False
            self._table.members[row, self._table.places[desired.target]] = True
            self._keep(row, number)
            self._stop_waiting(desired.placement, now, began=True)
        self.ledger = self.ledger.adding(move_of(desired, now) for desired in found.moves)
        waiting = {each.move.placement for each in found.waiting}
        for key in [key for key in self._since if key not in waiting]:
            self._stop_waiting(key, now, began=False)
        for key in waiting:
            self._since.setdefault(key, now)

    def _stop_waiting(self, key: str, now: float, *, began: bool) -> None:
        since = self._since.pop(key, None)
        if since is not None:
            self._waits[key].append(Wait(seconds=now - since, began=began))

    def _keep(self, row: int, number: int) -> None:
        """Notes the decision, as it is now."""
        decided = self._decided[row]
        clusters = tuple(
            self._table.names[place] for place in np.flatnonzero(self._table.members[row])
        )
        if decided and decided[-1].number == number:
            decided.pop()
        if not decided or decided[-1].clusters != clusters:
            decided.append(GridDecision(number=number, clusters=clusters))

    def _add_regret(self, first: int, last: int, sums: Ints) -> None:
        for row, decided in enumerate(self._decided):
            until = last
            for each in reversed(decided):
                if each.clusters and each.number < until:
                    since = max(first, each.number)
                    part = sums[since - first : until - first, row]
                    chosen = part[:, [self._table.places[name] for name in each.clusters]].sum()
                    self._lost[row] += int(_best(part, len(each.clusters)).sum() - chosen)
                until = min(until, each.number)
                if until <= first:
                    break


class _Table:
    """The Placements as rows, the clusters as columns in order of name, and who is where."""

    def __init__(
        self, contests: Sequence[PreparedPlacement], paced: Mapping[str, Paced], columns: GridScores
    ) -> None:
        self.contests, self.columns = contests, columns
        self.paced = [paced[each.key] for each in contests]
        self.rows = {each.key: row for row, each in enumerate(contests)}
        self.names = sorted({name for each in contests for name in each.names})
        self.places = {name: place for place, name in enumerate(self.names)}
        self.width = max(1, len(self.names))
        self.members: Bools = np.zeros((len(contests), len(self.names)), dtype=np.bool_)
        # A paced Placement names a number of clusters.
        self.wanted = [each.placement.spec.number_of_clusters or 0 for each in contests]
        self.bonus = np.array([each.steady for each in contests], dtype=np.int64) * MAX_SCORE
        """What Steady gives each Placement."""
        self.least = np.array([_least(each) for each in self.paced], dtype=np.int64)
        """By how much another cluster must have the larger sum for a move."""
        self._ties = np.arange(len(self.names) - 1, -1, -1, dtype=np.int64)
        self._weights: dict[tuple[str, str], Ints] = {}
        for row, each in enumerate(contests):
            for term in each.terms:
                found = self._weights.setdefault(
                    (term.resource, term.score), np.zeros(len(contests), dtype=np.int64)
                )
                found[row] += term.weight

    def ranks(self, sums: Ints) -> Ints:
        """Sums that are never equal: of equal ones the first name wins."""
        return sums * self.width + self._ties

    def weights(self, resource: str, dimension: str) -> Ints:
        """The weight of a score for each Placement."""
        found = self._weights.get((resource, dimension))
        return np.zeros(len(self.contests), dtype=np.int64) if found is None else found

    def blocks(self) -> Iterator[tuple[int, Ints]]:
        """Sums of consecutive points: the number of the first one, and rows of Placements by point."""
        count = self.columns.grid.count
        size = max(1, 2 * CELLS // max(1, len(self.contests) * self.width))
        parts = [
            (replace(each, candidates=candidates), row, found, since, until)
            for row, each in enumerate(self.contests)
            for found in [tuple(_expired(each, self.columns))]
            for since, until, candidates in stretches(each, self.columns)
        ]
        for first in range(0, count, size):
            last = min(first + size, count)
            sums = np.full((last - first, len(self.contests), len(self.names)), OUT, dtype=np.int64)
            for part, row, found, since, until in parts:
                low, high = max(first, since), min(last, until)
                places = [self.places[name] for name in part.names]
                if low < high and places:
                    for number, block in sum_blocks(
                        part, self.columns, found, first=low, last=high
                    ):
                        sums[number - first : number - first + len(block), row, places] = block
            yield first, sums

    def counted(self, resource: str, dimension: str, cluster: str, number: int) -> int | None:
        """The score of a cluster at a point; None if there is none, or it has expired."""
        track = self.columns.tracks.get(resource, {}).get(cluster)
        column = self.columns.column(resource, dimension, cluster)
        present = self.columns.present(resource, dimension, cluster)
        if track is None or column is None or present is None or not present[number]:
            return None
        now = self.columns.grid.at(number)
        if any(until < now < renewed for until, renewed in track.expiries):
            return None
        return int(column[number])


class _DesiredMoves:
    """The desired moves at one point."""

    def __init__(self, table: _Table, sums: Ints, number: int) -> None:
        self._table, self._sums, self._number = table, sums, number

    def asking(self, shifts: Sequence[AssumedShift]) -> Iterable[str]:
        """Those for which another cluster may be before one of the decision, in order."""
        table = self._table
        high = low = table.ranks(self._sums)
        if shifts:
            # A score within its limits may change less.
            high, low = high.copy(), low.copy()
            for (resource, dimension, cluster), points in summed(shifts).items():
                place = table.places.get(cluster)
                if place is not None and points:
                    change = table.weights(resource, dimension) * points * table.width
                    high[:, place] += np.maximum(change, 0)
                    low[:, place] += np.minimum(change, 0)
        inside = np.where(table.members, low, NOBODY).min(axis=1, initial=NOBODY)
        outside = np.where(table.members, -NOBODY, high).max(axis=1, initial=-NOBODY)
        asking = outside > inside + table.bonus * table.width
        asking &= outside // table.width - inside // table.width >= table.least
        return [table.contests[row].key for row in np.flatnonzero(asking).tolist()]

    def of(self, key: str, shifts: Sequence[AssumedShift]) -> DesiredMove | None:
        """The same as `gitops_dsf.pacing.desired.desired_move`."""
        table = self._table
        row = table.rows[key]
        sums, members = self._sums[row].copy(), table.members[row]
        wanted = table.wanted[row]
        if int(members.sum()) != wanted:
            return None
        for (resource, dimension, cluster), points in summed(shifts).items():
            weight, place = int(table.weights(resource, dimension)[row]), table.places.get(cluster)
            if weight and points and place is not None and sums[place] > OUT:
                score = table.counted(resource, dimension, cluster, self._number)
                if score is not None:
                    shifted = max(-MAX_SCORE, min(MAX_SCORE, score + points))
                    sums[place] += weight * (shifted - score)
        ranks = table.ranks(sums + np.where(members, table.bonus[row], 0))
        chosen = np.zeros(len(members), dtype=np.bool_)
        chosen[np.argsort(-ranks)[:wanted]] = True
        return best_swap(
            table.paced[row],
            left=[table.names[place] for place in np.flatnonzero(members & ~chosen)],
            joined=[table.names[place] for place in np.flatnonzero(chosen & ~members)],
            sums={
                table.names[place]: int(sums[place]) for place in np.flatnonzero(members != chosen)
            },
        )


def _least(paced: Paced) -> int:
    """A move must gain twice the load of the Placement, less its stickiness, and less 1 for rounding."""
    ranking = paced.ranking
    return math.floor(2 * ranking.load * ranking.total_weight) - MAX_SCORE * ranking.steady - 1


def _expired(contest: PreparedPlacement, columns: GridScores) -> Iterator[ScoreExpiry]:
    """The reconciler counts a score as 0 as soon as it has expired."""
    for resource, cluster, track in tracks_of(contest, columns.tracks, contest.candidates):
        for until, renewed in track.expiries:
            yield ScoreExpiry(
                resource=resource,
                cluster=cluster,
                noticed=math.nextafter(until, math.inf),
                renewed=renewed,
            )


def _best(sums: Ints, count: int) -> Ints:
    """The largest sums of each point, so many as are chosen."""
    if count == 1:
        found: Ints = sums.max(axis=1)
        return found
    rest = sums.shape[1] - count
    best: Ints = np.partition(sums, rest, axis=1)[:, rest:] if rest else sums
    return best
