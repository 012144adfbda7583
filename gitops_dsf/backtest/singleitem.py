"""The writes of AddOnPlacementScores with one item, without a call of the agent's rule for each point.

After a write at the time w, the rule gives each later point the time at which it is written: w + delay if its
score has changed, else w + refresh. The next write is that of the first point whose time comes before the
next point. tests/property/test_backtest.py compares this with the agent's rule, point by point.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from dsf_wire.publishrule import Rule
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.track import ABSENT, NEVER

MOST_LAGS: Final = 6
"""How many points ahead the next change is looked up for all points of a page at once."""
FAR: Final = 1000
"""In place of a missing score. It differs from every score by more than any deadband."""

BYTE: Final = 255
"""The largest number of a byte."""

Scores = npt.NDArray[np.int8]
"""Published scores at consecutive points, or rows of them; ABSENT where the cycle failed."""
Mask = npt.NDArray[np.bool_]


@dataclass(kw_only=True, slots=True)
class SingleItem:
    """The state of the item after the points that it has taken, and its writes."""

    name: str
    rule: Rule
    grid: Grid
    last: int
    """The score that was written last; ABSENT if there is none."""
    written: float
    """When; -infinity if never."""
    wanted: int
    """The score of the last point."""
    due: float
    """When it is written if no other point comes before."""
    times: "array[float]" = field(default_factory=lambda: array("d"))
    """Unix seconds of each write."""
    column: "array[int]" = field(default_factory=lambda: array("b"))
    """The scores, aligned with `times`."""

    def take(self, first: int, scores: Scores, *, ahead: "Ahead", row: int) -> None:
        """Takes the scores at consecutive points of the grid, from `first` on. Keeps the writes between two
        points, and lets `ahead` mark the points that are written at their own time.
        """
        absent = np.flatnonzero(scores == ABSENT).tolist()
        values = scores.data
        begin = 0
        for end in (*absent, len(values)):
            if begin < end:
                self._write_due(self.grid.at(first + begin))
                self._fold(first, values, ahead, row * ahead.width, begin=begin, end=end)
            if end < len(values):
                self._write_due(self.grid.at(first + end))
                self.wanted, self.due = ABSENT, NEVER
            begin = end + 1

    def merge(self, first: int, scores: Scores, places: npt.NDArray[np.int64]) -> None:
        """Keeps the writes of these points at their own time."""
        times = self.grid.at(first) + places * float(self.grid.step)
        column = scores[places]
        if self.times:
            times = np.concatenate((times, np.array(self.times)))
            order = np.argsort(times, kind="stable")
            times, column = times[order], np.concatenate((column, np.array(self.column)))[order]
        self.times, self.column = array("d", times.tobytes()), array("b", column.tobytes())

    def _write_due(self, now: float) -> None:
        """Writes the score of the last point as often as it is due before `now`."""
        while self.due < now:
            self._write(self.due, self.wanted)
            self.due = self.written + self.rule.refresh

    def _write(self, at: float, score: int) -> None:
        self.written, self.last = at, score
        self.times.append(at)
        self.column.append(score)

    def _fold(
        self, first: int, values: Sequence[int], ahead: "Ahead", offset: int, *, begin: int, end: int
    ) -> None:
        """Takes the points from `begin` on, before `end`. All of them have a score. `offset` is the number of
        the first point in `ahead`.
        """
        step, start = self.grid.step, self.grid.at(first)
        deadband, refresh, delay = _deadband(self.rule), self.rule.refresh, _delay(self.rule)
        last, written, latest = self.last, self.written, start + (end - 1) * step
        place, on_grid = begin, last == ABSENT
        unchanged, changed = begin, begin  # the first points that may be written
        while True:
            if on_grid:
                place = ahead.write(offset + place) - offset
                written, last = start + place * step, values[place]
                unchanged, changed = place, place + ahead.changes[offset + place]
            ready, due = written + delay, written + refresh
            refreshed = int((due - start) // step)
            if refreshed < unchanged:  # noqa: PLR1730 - max() takes three times as long
                refreshed = unchanged
            place = int((ready - start) // step)
            if place < changed:  # noqa: PLR1730
                place = changed
            stop = refreshed if refreshed < end else end - 1
            while place <= stop and -deadband < values[place] - last < deadband:
                place += 1
            if place > stop:
                place, ready = refreshed, due
            at = start + place * step
            on_grid = ready <= at
            if place >= end or at > latest or ready > latest:
                break
            if not on_grid:
                written, last = ready, values[place]
                unchanged, changed = place, place + ahead.changes[offset + place]
                self.times.append(written)
                self.column.append(last)
        self.last, self.written, self.wanted = last, written, values[end - 1]
        self.due = written + (delay if abs(self.wanted - last) >= deadband else refresh)


class Ahead:
    """Looks ahead from all points of all rows of scores at once, and collects the points that are written at
    their own time. The points of all rows are numbered through.
    """

    def __init__(self, scores: Scores, rule: Rule, *, step: float, refresh: float) -> None:
        """All rows have this rule; `refresh` is the shortest time until one of them is refreshed."""
        rows, count = scores.shape
        delay = _delay(rule)
        nearest = max(1, min(int(delay // step), BYTE - MOST_LAGS))
        farthest = max(nearest, min(int(refresh // step), nearest + MOST_LAGS - 1))
        # After each row there is a missing score, so that nothing leads from one row to the next.
        self.width: Final = count + 1
        table = np.full((rows, self.width), FAR, dtype=np.int16)
        np.copyto(table[:, :-1], scores, where=scores != ABSENT)
        lags = _lags(table.reshape(-1), nearest, farthest, _deadband(rule))
        self.changes: Final = np.where(lags, lags, np.uint8(farthest + 1)).tobytes()
        """How many points after each point its score changes. If that is far, how many it has not changed."""
        if refresh < farthest * step or (delay > step and delay != nearest * step):
            # The write after one at the time of a point is at another time.
            lags = np.zeros_like(lags)
        leaps = lags != 1
        self._points = np.flatnonzero(leaps)
        self._lags = lags[self._points]
        numbers = np.cumsum(leaps, dtype=np.int32)
        numbers -= leaps
        self._number = numbers.data
        """For each point, the number of the first leap from there on. A leap is a point after which, if it is
        written at its own time, the next point is not written at its own time."""
        self._following: list[int] = np.where(self._lags, numbers[self._points + self._lags], -1).tolist()
        """For each leap, the number of the leap that follows it; -1 if it is the last of its chain."""
        self._leapt: list[int] = []
        self._written = np.zeros(rows * self.width, dtype=np.bool_)

    def write(self, point: int) -> int:
        """Writes a point at its own time, and all that follow it in the same way. Returns the last one."""
        number, following = self._number[point], self._following
        while (after := following[number]) >= 0:
            self._leapt.append(number)
            number = after
        last = int(self._points[number])
        self._written[point : last + 1] = True
        return last

    def places(self) -> list[npt.NDArray[np.int64]]:
        """The points of each row that are written at their own time, counted from its beginning."""
        leapt = np.array(self._leapt, dtype=np.int64)
        points, lags = self._points[leapt], self._lags[leapt]
        for passed in range(1, int(lags.max(initial=1))):
            self._written[points[lags > passed] + passed] = False
        written = np.flatnonzero(self._written)
        starts = range(0, len(self._written), self.width)
        bounds = [*np.searchsorted(written, starts).tolist(), len(written)]
        return [
            written[begin:end] - start for start, (begin, end) in zip(starts, pairwise(bounds), strict=True)
        ]


def _lags(scores: npt.NDArray[np.int16], nearest: int, farthest: int, deadband: int) -> npt.NDArray[np.uint8]:
    """How many points after each point its score has changed, at least `nearest`; 0 if it has not until
    `farthest`, or until a missing score.
    """
    # The nearer the change, the higher the number; 0 if there is none.
    nearness = np.zeros(len(scores), dtype=np.uint8)
    for lag in range(nearest, min(farthest, len(scores) - 1) + 1):
        changed = np.abs(scores[lag:] - scores[:-lag]) >= deadband
        np.maximum(
            nearness[:-lag], changed.view(np.uint8) * np.uint8(farthest + 1 - lag), out=nearness[:-lag]
        )
    lags = np.where(nearness, np.uint8(farthest + 1) - nearness, np.uint8(0))
    missing = np.flatnonzero(scores == FAR)
    for lag in range(farthest + 1):
        before = missing[missing >= lag] - lag
        lags[before[lags[before] >= lag]] = 0
    return lags


def add(items: Sequence[SingleItem], first: int, scores: Scores) -> None:
    """Takes a row of scores for each item, at consecutive points of the grid, from `first` on. The rules of
    the items differ only in their jitter.
    """
    refresh = min(item.rule.refresh for item in items)
    ahead = Ahead(scores, items[0].rule, step=items[0].grid.step, refresh=refresh)
    for row, item in enumerate(items):
        item.take(first, scores[row], ahead=ahead, row=row)
    for row, (item, places) in enumerate(zip(items, ahead.places(), strict=True)):
        item.merge(first, scores[row], places)


def _deadband(rule: Rule) -> int:
    return max(1, rule.deadband)


def _delay(rule: Rule) -> float:
    """Seconds between a write and the next one, if the score changes."""
    return min(rule.min_interval, rule.refresh)
