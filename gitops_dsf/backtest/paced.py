"""Decides paced Placements together, point by point: moves that scores ask for begin by the pace.

`gitops_dsf.pacing.admit` admits the moves, as in the reconciler. Only the desired moves are
computed here (`gitops_dsf.backtest.pacedtable`).

OCM follows an admission at once, and the handover is done at the next point: nobody knows how long
it would have taken. The scores of the past do not show the load of these moves, so it is assumed
until they would.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import numpy as np

from gitops_dsf.backtest.decisions import DecisionLine, GridDecision
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.pacedtable import NOBODY, OUT, Bools, MovesAtPoint, PacedTable
from gitops_dsf.backtest.placement import PreparedPlacement
from gitops_dsf.backtest.sums import Ints
from gitops_dsf.hub.pace import PacedRanking
from gitops_dsf.pacing.admit import Situation, admit, move_of
from gitops_dsf.pacing.desired import Paced
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, remembered
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.simulator import HubState


@dataclass(frozen=True, kw_only=True, slots=True)
class PaceWait:
    """A time for which the scores asked for a move of a Placement, and the pace forbade it."""

    seconds: float
    began: bool
    """Whether a move followed. If not, the scores asked for one no longer, or the span was over."""


@dataclass(frozen=True, kw_only=True)
class PacedLine:
    """The decisions of one Placement, and the reasons for which its moves waited."""

    line: DecisionLine
    waits: tuple[PaceWait, ...]


class PacedReplay:
    """Replays the paced Placements of one hub together."""

    def __init__(
        self,
        placements: Iterable[PreparedPlacement],
        *,
        paced: Mapping[str, Paced],
        pace: Pace,
        state: HubState,
        scores: GridScores,
    ) -> None:
        """The Placements are those that people wrote, and none of them is special."""
        self._placements = sorted(placements, key=lambda prepared: prepared.key)
        self._paced: dict[str, Paced] = {}
        self._decided: list[list[GridDecision]] = []
        self._waits: dict[str, list[PaceWait]] = {}
        rankings: list[PacedRanking] = []
        for prepared in self._placements:
            self._paced[prepared.key] = paced[prepared.key]
            rankings.append(paced[prepared.key].ranking)
            self._decided.append([])
            self._waits[prepared.key] = []
        self._pace = pace
        self._state = state
        self._grid = scores.grid
        self._table = PacedTable(self._placements, self._paced, scores)
        self._remembered = remembered(pace, rankings)
        self._lost = [0] * len(self._placements)
        self._waiting_since: dict[str, float] = {}
        self.ledger = Ledger()
        """The moves that are under way at the last point, and those that ended shortly before."""

    def run(self, *, stop: Callable[[], bool] = lambda: False) -> Mapping[str, PacedLine]:
        """The decisions by namespace/name; nothing if `stop` became true before the end."""
        for _ in self.points():
            # Half of a replay would look like a fleet that stopped moving.
            if stop():
                return {}
        for key in tuple(self._waiting_since):
            self._stop_waiting(key, self._grid.end, began=False)
        lines: dict[str, PacedLine] = {}
        for row, prepared in enumerate(self._placements):
            line = DecisionLine(
                key=prepared.key,
                decided=tuple(self._decided[row]),
                regret=self._lost[row] / prepared.total_weight / self._grid.count,
            )
            lines[prepared.key] = PacedLine(line=line, waits=tuple(self._waits[prepared.key]))
        return lines

    def points(self) -> Iterator[int]:
        """Decides point by point. Yields the number of each when it is decided."""
        was_eligible = np.zeros(0, dtype=np.bool_)
        for first, sums in self._table.blocks():
            for row in range(len(sums)):
                is_eligible = sums[row] > OUT
                # At most points, no cluster becomes eligible or ceases to be.
                if not np.array_equal(is_eligible, was_eligible):
                    was_eligible = is_eligible
                    self._decide_at_once(first + row, sums[row])
                self._admit(first + row, sums[row])
                yield first + row
            self._add_regret(first, sums)

    def _decide_at_once(self, number: int, sums: Ints) -> None:
        """Changes decisions as OCM does without asking for the pace.

        It replaces clusters that are no longer eligible, and fills up a decision.
        """
        table = self._table
        for row in range(len(self._placements)):
            is_eligible = sums[row] > OUT
            # A copy, because the row is replaced below, and the moves are the difference to it.
            members = table.members[row].copy()
            count = min(table.wanted[row], int(is_eligible.sum()))
            stays = members & is_eligible
            if self._decided[row] and stays.sum() == members.sum() == count:
                continue
            # A cluster that may stay stays: only the pace exchanges clusters that are eligible.
            ranks = np.where(stays, NOBODY, table.ranks(sums[row]))
            chosen = np.zeros(len(members), dtype=np.bool_)
            chosen[np.argsort(-ranks)[:count]] = True
            is_first = not self._decided[row]
            table.members[row] = chosen
            self._keep(row, number)
            # The first decisions are not moves: the applications ran there before the span.
            if not is_first:
                self._record_own_moves(row, number, before=members, after=chosen)

    def _record_own_moves(self, row: int, number: int, *, before: Bools, after: Bools) -> None:
        """Records the moves that OCM made itself, because they take part of the pace, too."""
        table = self._table
        now = self._grid.at(number)
        sources = sorted(table.names_of(before & ~after), reverse=True)
        for target in table.names_of(after & ~before):
            move = LedgerMove(
                self._placements[row].key,
                # An application that fills up its decision comes from nowhere.
                sources.pop() if sources else "",
                target,
                since=now,
                phase=Phase.HANDOVER,
                phase_since=now,
                admitted=False,
            )
            self.ledger = self.ledger.adding([move])

    def _admit(self, number: int, sums: Ints) -> None:
        """Begins the moves that the pace admits at one point."""
        table = self._table
        now = self._grid.at(number)
        self._end_moves(now)
        situation = Situation(
            hub=self._state,
            paced=self._paced,
            ledger=self.ledger,
            pace=self._pace,
            now=datetime.fromtimestamp(now, UTC),
        )
        admission = admit(situation, MovesAtPoint(table, sums, number))
        for desired in admission.moves:
            row = table.rows[desired.placement]
            table.members[row, table.columns[desired.source]] = False
            table.members[row, table.columns[desired.target]] = True
            self._keep(row, number)
            self._stop_waiting(desired.placement, now, began=True)
        self.ledger = self.ledger.adding(move_of(desired, now) for desired in admission.moves)
        waiting = {waiting.move.placement for waiting in admission.waiting}
        for key in tuple(self._waiting_since):
            if key not in waiting:
                self._stop_waiting(key, now, began=False)
        for key in waiting:
            self._waiting_since.setdefault(key, now)

    def _end_moves(self, now: float) -> None:
        """Ends the moves of earlier points, and forgets those on which nothing depends any more."""
        moves: list[LedgerMove] = []
        for move in self.ledger.moves:
            has_ended = move.under_way and move.since < now
            moves.append(move.entered(Phase.ENDED, now) if has_ended else move)
        ledger = msgspec.structs.replace(self.ledger, moves=tuple(moves))
        self.ledger = ledger.pruned(kept=self._remembered, now=now)

    def _stop_waiting(self, key: str, now: float, *, began: bool) -> None:
        since = self._waiting_since.pop(key, None)
        if since is not None:
            self._waits[key].append(PaceWait(seconds=now - since, began=began))

    def _keep(self, row: int, number: int) -> None:
        """Notes the decision of a Placement, as it is now."""
        decided = self._decided[row]
        clusters = self._table.clusters_of(row)
        # OCM and the pace may both change it at one point. Only what results has lasted.
        if decided and decided[-1].number == number:
            decided.pop()
        if not decided or decided[-1].clusters != clusters:
            decided.append(GridDecision(number=number, clusters=clusters))

    def _add_regret(self, first: int, sums: Ints) -> None:
        """Adds the regret of the decisions at the points of a block that begins at `first`."""
        last = min(first + len(sums), self._grid.count)
        for row, decided in enumerate(self._decided):
            until = last
            for decision in reversed(decided):
                if decision.clusters and decision.number < until:
                    since = max(first, decision.number)
                    part = sums[since - first : until - first, row]
                    columns = [self._table.columns[name] for name in decision.clusters]
                    best = _best(part, len(decision.clusters)).sum()
                    self._lost[row] += int(best - part[:, columns].sum())
                until = min(until, decision.number)
                if until <= first:
                    break


def _best(sums: Ints, count: int) -> Ints:
    """The largest sums of each point, as many as are chosen."""
    if count == 1:
        largest: Ints = sums.max(axis=1)
        return largest
    rest = sums.shape[1] - count
    best: Ints = np.partition(sums, rest, axis=1)[:, rest:] if rest else sums
    return best
