"""Moves that the scores ask of all paced Placements at one point, with numpy.

The answers are those of the simulator, which would take minutes for a backtest.
tests/property/test_backtest_paced.py compares both.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.expiry import ScoreExpiry
from gitops_dsf.backtest.gridscores import GridScores
from gitops_dsf.backtest.placement import PreparedPlacement, tracks_on_candidates
from gitops_dsf.backtest.sums import MAX_CELLS, Ints, SumBlock, stretches, sum_blocks
from gitops_dsf.pacing.assumptions import AssumedShift, summed
from gitops_dsf.pacing.desired import DesiredMove, Paced, best_swap
from gitops_dsf.simulator.prioritizers import MAX_SCORE

OUT: Final = -(2**40)
"""The sum of a cluster that is not eligible: below every other one."""
NOBODY: Final = 2**62
"""Above every rank."""
Bools = npt.NDArray[np.bool_]


class _Part(NamedTuple):
    """A Placement while the same candidates are eligible."""

    row: int
    first: int
    end: int
    prepared: PreparedPlacement
    expiries: Sequence[ScoreExpiry]


class PacedTable:
    """The Placements as rows, the clusters as columns in order of name, and who is where."""

    def __init__(
        self,
        placements: Sequence[PreparedPlacement],
        paced: Mapping[str, Paced],
        scores: GridScores,
    ) -> None:
        self.placements = placements
        self.scores = scores
        self.paced: list[Paced] = []
        self.rows: dict[str, int] = {}
        self.wanted: list[int] = []
        steady: list[int] = []
        least_leads: list[int] = []
        names: set[str] = set()
        for row, prepared in enumerate(placements):
            self.paced.append(paced[prepared.key])
            self.rows[prepared.key] = row
            steady.append(prepared.steady)
            least_leads.append(_least_lead(paced[prepared.key]))
            # A paced Placement names a number of clusters.
            self.wanted.append(prepared.placement.spec.number_of_clusters or 0)
            names.update(prepared.names)
        self.names = sorted(names)
        self.columns = {name: column for column, name in enumerate(self.names)}
        self.width = max(1, len(self.names))
        self.members: Bools = np.zeros((len(placements), len(self.names)), dtype=np.bool_)
        self.bonus = np.array(steady, dtype=np.int64) * MAX_SCORE
        """The points that Steady gives each Placement."""
        self.least = np.array(least_leads, dtype=np.int64)
        """The lead in the sum that another cluster must have for a move."""
        self._ties = np.arange(len(self.names) - 1, -1, -1, dtype=np.int64)
        self._weights: dict[tuple[str, str], Ints] = {}
        for row, prepared in enumerate(placements):
            for term in prepared.terms:
                weights = self._weights.setdefault(
                    (term.resource, term.score), np.zeros(len(placements), dtype=np.int64)
                )
                weights[row] += term.weight

    def ranks(self, sums: Ints) -> Ints:
        """Sums that are never equal: of equal ones the first name wins, as in OCM."""
        return sums * self.width + self._ties

    def weights(self, resource: str, dimension: str) -> Ints:
        """The weight of a score for each Placement."""
        weights = self._weights.get((resource, dimension))
        return np.zeros(len(self.placements), dtype=np.int64) if weights is None else weights

    def clusters_of(self, row: int) -> tuple[str, ...]:
        """The decision of a Placement, in order of name."""
        return self.names_of(self.members[row])

    def names_of(self, columns: Bools) -> tuple[str, ...]:
        """The names of clusters, in order."""
        return tuple([self.names[column] for column in np.flatnonzero(columns).tolist()])

    def blocks(self) -> Iterator[SumBlock]:
        """Sums of consecutive points.

        They have a layer for each point, and there a row for each Placement.
        """
        count = self.scores.grid.count
        size = max(1, 2 * MAX_CELLS // max(1, len(self.placements) * self.width))
        shape = (len(self.placements), len(self.names))
        parts = list(self._parts())
        for first in range(0, count, size):
            end = min(first + size, count)
            # Whoever is in no part is not eligible.
            sums = np.full((end - first, *shape), OUT, dtype=np.int64)
            for part in parts:
                low = max(first, part.first)
                high = min(end, part.end)
                columns = [self.columns[name] for name in part.prepared.names]
                if low >= high or not columns:
                    continue
                blocks = sum_blocks(part.prepared, self.scores, part.expiries, first=low, end=high)
                for block in blocks:
                    start = block.first - first
                    sums[start : start + len(block.sums), part.row, columns] = block.sums
            yield SumBlock(first, sums)

    def _parts(self) -> Iterator[_Part]:
        for row, prepared in enumerate(self.placements):
            expiries = tuple(_expiries(prepared, self.scores))
            for stretch in stretches(prepared, self.scores):
                part = replace(prepared, candidates=stretch.candidates)
                yield _Part(row, stretch.first, stretch.end, part, expiries)

    def counted(self, resource: str, dimension: str, cluster: str, number: int) -> int | None:
        """The score of a cluster at a point; None if there is none, or it has expired."""
        track = self.scores.tracks.get(resource, {}).get(cluster)
        column = self.scores.column(resource, dimension, cluster)
        present = self.scores.present(resource, dimension, cluster)
        if track is None or column is None or present is None or not present[number]:
            return None
        now = self.scores.grid.at(number)
        if any(expiry.until < now < expiry.renewed for expiry in track.expiries):
            return None
        return int(column[number])


class MovesAtPoint:
    """The desired moves at one point: `gitops_dsf.pacing.admit.DesiredMoves` of a backtest."""

    def __init__(self, table: PacedTable, sums: Ints, number: int) -> None:
        self._table = table
        self._sums = sums
        self._number = number

    def asking(self, shifts: Sequence[AssumedShift]) -> Iterable[str]:
        """The Placements for which another cluster may be before one of the decision, in order."""
        table = self._table
        high = low = table.ranks(self._sums)
        if shifts:
            # A score within its limits may change less. So this names too many Placements rather
            # than too few, and `of` decides.
            high = high.copy()
            low = low.copy()
            for (resource, dimension, cluster), points in summed(shifts).items():
                column = table.columns.get(cluster)
                if column is not None and points:
                    change = table.weights(resource, dimension) * points * table.width
                    high[:, column] += np.maximum(change, 0)
                    low[:, column] += np.minimum(change, 0)
        inside = np.where(table.members, low, NOBODY).min(axis=1, initial=NOBODY)
        outside = np.where(table.members, -NOBODY, high).max(axis=1, initial=-NOBODY)
        asking = outside > inside + table.bonus * table.width
        asking &= outside // table.width - inside // table.width >= table.least
        return [table.placements[row].key for row in np.flatnonzero(asking).tolist()]

    def of(
        self, key: str, shifts: Sequence[AssumedShift], *, held: Collection[str] = frozenset()
    ) -> DesiredMove | None:
        """The same as `gitops_dsf.pacing.desired.desired_move`."""
        table = self._table
        row = table.rows[key]
        members = table.members[row]
        wanted = table.wanted[row]
        # OCM fills up such a decision itself.
        if int(members.sum()) != wanted:
            return None
        sums = self._shifted(row, shifts)
        ranks = table.ranks(sums + np.where(members, table.bonus[row], 0))
        for name in held:
            held_column = table.columns.get(name)
            if held_column is not None and not members[held_column]:
                ranks[held_column] = -NOBODY
        chosen = np.zeros(len(members), dtype=np.bool_)
        chosen[np.argsort(-ranks)[:wanted]] = True
        sums_of_moving: dict[str, int] = {}
        for column in np.flatnonzero(members != chosen):
            sums_of_moving[table.names[column]] = int(sums[column])
        return best_swap(
            table.paced[row],
            left=table.names_of(members & ~chosen),
            joined=table.names_of(chosen & ~members),
            sums=sums_of_moving,
        )

    def _shifted(self, row: int, shifts: Sequence[AssumedShift]) -> Ints:
        """The sums of a Placement with the assumed scores."""
        table = self._table
        sums: Ints = self._sums[row].copy()
        for (resource, dimension, cluster), points in summed(shifts).items():
            weight = int(table.weights(resource, dimension)[row])
            column = table.columns.get(cluster)
            if weight and points and column is not None and sums[column] > OUT:
                score = table.counted(resource, dimension, cluster, self._number)
                if score is not None:
                    shifted = max(-MAX_SCORE, min(MAX_SCORE, score + points))
                    sums[column] += weight * (shifted - score)
        return sums


def _least_lead(paced: Paced) -> int:
    """The sum by which a move must gain: twice the load of the Placement, less its stickiness.

    One more is subtracted for rounding.
    """
    ranking = paced.ranking
    return math.floor(2 * ranking.load * ranking.total_weight) - MAX_SCORE * ranking.steady - 1


def _expiries(prepared: PreparedPlacement, scores: GridScores) -> Iterator[ScoreExpiry]:
    """The expiries as the reconciler sees them: at once, while OCM waits for its next pass."""
    for resource, cluster, track in tracks_on_candidates(prepared, scores.tracks):
        for expiry in track.expiries:
            yield ScoreExpiry(
                resource=resource,
                cluster=cluster,
                noticed=math.nextafter(expiry.until, math.inf),
                renewed=expiry.renewed,
            )
