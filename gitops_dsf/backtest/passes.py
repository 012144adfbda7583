"""Decides a Placement pass by pass, from sums of its scores that are computed for many passes at once.

It covers what depends on decisions: Balance, taints with NoSelectIfNew, Steady with a negative weight, and
tolerations that run out. tests/property/test_backtest.py compares it with the simulator.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.contest import Contest
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.hubdecisions import HubDecisions
from gitops_dsf.backtest.lapses import Tracks
from gitops_dsf.backtest.track import ABSENT
from gitops_dsf.simulator.prioritizers import MAX_SCORE, balance
from gitops_dsf.simulator.taints import filter_tainted

Ints = npt.NDArray[np.int64]
CELLS: Final = 200_000
"""Passes times clusters whose sums are computed together, which bounds the memory."""


class Passes:
    """The passes of one Placement, in order. `triggers` are their times by number of the point."""

    def __init__(
        self, contest: Contest, *, tracks: Tracks, grid: Grid, triggers: Mapping[int, float]
    ) -> None:
        self._contest = contest
        numbers = sorted(triggers)
        times = [triggers[number] for number in numbers]
        self._sums = _Sums(contest, tracks=tracks, grid=grid, numbers=numbers, times=times)
        self._times = times
        self._names = np.array([contest.state.names[each] for each in contest.matched], dtype=object)
        self._all: Ints = np.arange(len(contest.matched), dtype=np.int64)
        self._tainted = not contest.state.tainted.isdisjoint(contest.matched)
        self._places = {cluster: place for place, cluster in enumerate(contest.matched)}
        self._constants: dict[bytes, Ints] = {}
        self._next = 0
        self._own: frozenset[str] | None = None
        self._steady: Ints = np.empty(0, dtype=np.int64)
        """What Steady adds to each matched cluster while the decision is `_own`."""
        self._balance: Ints = np.zeros(len(contest.matched), dtype=np.int64)
        self._balanced = -1
        """The version of the decisions with which `_balance` was computed."""

    def decide(self, decisions: HubDecisions) -> tuple[tuple[str, ...], float]:
        """The next pass: the chosen clusters in order of name, and the score points that they are behind."""
        contest, number = self._contest, self._next
        self._next += 1
        own = decisions.of(contest.key)
        places = self._filtered(number, own)
        count = len(places) if contest.count is None else min(contest.count, len(places))
        sums = self._sums.row(number)[places] + self._constant(places)
        if count in (0, len(places)):
            return tuple(self._names[places[:count]]), 0.0
        chosen = _best(sums + self._preferred(own, decisions)[places], count)
        behind = int(sums[_best(sums, count)].sum() - sums[chosen].sum())
        return tuple(self._names[places[chosen]]), behind / contest.total_weight

    def _filtered(self, number: int, own: frozenset[str]) -> Ints:
        """The clusters that pass the filters, as places among the matched ones."""
        contest, eligible = self._contest, self._sums.eligible(number)
        places = self._all if eligible is None else self._all[eligible]
        if not self._tainted:
            return places
        left, _ = filter_tainted(
            [contest.matched[place] for place in places],
            placement=contest.placement,
            state=contest.state,
            own=own,
            now=datetime.fromtimestamp(self._times[number], UTC),
        )
        return np.array([self._places[cluster] for cluster in left], dtype=np.int64)

    def _constant(self, places: Ints) -> Ints:
        """The sum of the prioritizers that compare the clusters that pass the filters."""
        key = places.tobytes()
        found = self._constants.get(key)
        if found is None:
            clusters = [self._contest.matched[place] for place in places]
            found = self._constants[key] = np.array(self._contest.constant_of(clusters), dtype=np.int64)
        return found

    def _preferred(self, own: frozenset[str], decisions: HubDecisions) -> Ints:
        """What Steady and Balance add to each matched cluster."""
        contest = self._contest
        if contest.balance and self._balanced != decisions.version:
            others = decisions.others(contest.key)
            self._balance = np.array(balance(others, self._names.tolist()), dtype=np.int64) * contest.balance
            self._balanced = decisions.version
        if own is not self._own:
            self._own = own
            self._steady = np.array([name in own for name in self._names], dtype=np.int64) * (
                MAX_SCORE * contest.steady
            )
        return self._balance + self._steady


def _best(sums: Ints, count: int) -> Ints:
    """Places of the best clusters, in order. Among equal sums the first one wins."""
    width = len(sums)
    keys = sums * width + np.arange(width - 1, -1, -1, dtype=np.int64)
    return np.sort(np.argpartition(keys, width - count)[width - count :])


class _Sums:
    """The weighted sums of the scores of the matched clusters in each pass, computed block by block."""

    def __init__(
        self, contest: Contest, *, tracks: Tracks, grid: Grid, numbers: Sequence[int], times: Sequence[float]
    ) -> None:
        self._contest = contest
        self._tracks = tracks
        self._points = grid.start + np.array(numbers, dtype=np.float64) * grid.step
        self._times = np.array(times, dtype=np.float64)
        self._first = 0
        self._sums: Ints = np.empty((0, len(contest.matched)), dtype=np.int64)
        self._eligible: npt.NDArray[np.bool_] | None = None

    def row(self, number: int) -> Ints:
        """The sums of a pass."""
        if number - self._first >= len(self._sums):
            self._compute(number)
        found: Ints = self._sums[number - self._first]
        return found

    def eligible(self, number: int) -> npt.NDArray[np.bool_] | None:
        """Which of the matched clusters have the required scores in a pass; None if none are required."""
        self.row(number)
        return None if self._eligible is None else self._eligible[number - self._first]

    def _compute(self, first: int) -> None:
        contest, width = self._contest, len(self._contest.matched)
        last = first + max(1, CELLS // max(1, width))
        points, times = self._points[first:last], self._times[first:last]
        self._first = first
        self._sums = np.zeros((len(points), width), dtype=np.int64)
        self._eligible = np.ones((len(points), width), dtype=np.bool_) if contest.required else None
        for place, cluster in enumerate(contest.matched):
            name = contest.state.names[cluster]
            for resource in {term.resource for term in contest.terms} | {
                each for each, _ in contest.required
            }:
                self._add(place, resource, name, points, times)

    def _add(
        self,
        place: int,
        resource: str,
        cluster: str,
        points: npt.NDArray[np.float64],
        times: npt.NDArray[np.float64],
    ) -> None:
        """Adds an AddOnPlacementScore to the sums."""
        track = self._tracks.get(resource, {}).get(cluster)
        items = track.values if track is not None else {}
        required = [name for other, name in self._contest.required if other == resource]
        if self._eligible is not None and not items.keys() >= set(required):
            self._eligible[:, place] = False
        if track is None:
            return
        written = np.frombuffer(track.at, dtype=np.float64)
        # The first value stands for the time before the first write.
        last = np.searchsorted(written, points, side="right")
        counted = times <= np.concatenate(([np.inf], written + track.ttl))[last]
        nothing = np.array([ABSENT], dtype=np.int8)
        columns = {
            name: np.concatenate((nothing, np.frombuffer(values, dtype=np.int8)))[last]
            for name, values in items.items()
        }
        for term in self._contest.terms:
            if term.resource == resource and term.score in columns:
                column = columns[term.score]
                values = np.where(counted & (column != ABSENT), column, 0)
                self._sums[:, place] += values * np.int64(term.weight)
        for name in required:
            if self._eligible is not None and name in columns:
                self._eligible[:, place] &= columns[name] != ABSENT
