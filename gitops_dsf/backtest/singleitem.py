"""The writes of an AddOnPlacementScore with one item, without a call of the agent's rule for each point.

After a write at the time w, the rule gives each later point the time at which it is written: w + delay if its
score has changed, else w + refresh. The next write is that of the first point whose time comes before the
next point. tests/property/test_backtest.py compares this with the agent's rule, point by point.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from dsf_wire.publishrule import Rule
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.track import ABSENT, NEVER

MOST_LAGS: Final = 6
"""How many points ahead the next change is looked up for all points of a page at once."""

Scores = npt.NDArray[np.int8]
"""Published scores at consecutive points; ABSENT where the cycle failed."""


@dataclass(kw_only=True, slots=True)
class SingleItem:
    """The state of the item after the points that it has taken, and its writes."""

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

    def add(self, first: int, scores: Scores) -> None:
        """Takes the scores at consecutive points of the grid, from `first` on."""
        absent = np.flatnonzero(scores == ABSENT).tolist()
        following = [] if absent else _following(scores, self.rule, self.grid.step)
        values = scores.tolist()
        begin = 0
        for end in (*absent, len(values)):
            if begin < end:
                self._write_due(self.grid.at(first + begin))
                places, between = self._fold(first, values, following, begin=begin, end=end)
                self._keep(first, scores, places, between)
            if end < len(values):
                self._write_due(self.grid.at(first + end))
                self.wanted, self.due = ABSENT, NEVER
            begin = end + 1

    def _write_due(self, now: float) -> None:
        """Writes the score of the last point as often as it is due before `now`."""
        while self.due < now:
            self.written, self.last = self.due, self.wanted
            self.times.append(self.written)
            self.column.append(self.last)
            self.due = self.written + self.rule.refresh

    def _fold(
        self, first: int, values: Sequence[int], following: Sequence[int], *, begin: int, end: int
    ) -> tuple[list[int], dict[int, float]]:
        """Takes the points from `begin` on, before `end`. All of them have a score.

        Returns the point of each write, and, by number of the write, those times that are not the time of the
        point.
        """
        step, start = self.grid.step, self.grid.at(first)
        deadband, refresh, delay = _deadband(self.rule), self.rule.refresh, _delay(self.rule)
        last, written, latest = self.last, self.written, start + (end - 1) * step
        places: list[int] = []
        between: dict[int, float] = {}
        place, on_grid = begin, last == ABSENT
        unchanged, changed = begin, begin  # the first points that may be written
        if on_grid:
            places.append(place)
        while True:
            if on_grid:
                while following and (found := following[place]):
                    place = found
                    places.append(place)
                last, written = values[place], start + place * step
                unchanged, changed = place, place + 1
            ready, due = written + delay, written + refresh
            refreshed = max(int((due - start) // step), unchanged)
            place = max(int((ready - start) // step), changed)
            stop = min(refreshed, end - 1)
            while place <= stop and -deadband < values[place] - last < deadband:
                place += 1
            if place > stop:
                place, ready = refreshed, due
            at = start + place * step
            on_grid = ready <= at
            if place >= end or max(at, ready) > latest:
                break
            if not on_grid:
                between[len(places)] = ready
                last, written = values[place], ready
                unchanged, changed = place, place + 1
            places.append(place)
        self.last, self.written, self.wanted = last, written, values[end - 1]
        self.due = written + (delay if abs(self.wanted - last) >= deadband else refresh)
        return places, between

    def _keep(self, first: int, scores: Scores, places: Sequence[int], between: Mapping[int, float]) -> None:
        numbers = np.array(places, dtype=np.int64)
        times = self.grid.at(first) + numbers * float(self.grid.step)
        if between:
            times[list(between)] = list(between.values())
        self.times.frombytes(times.tobytes())
        self.column.frombytes(scores[numbers].tobytes())


def _deadband(rule: Rule) -> int:
    return max(1, rule.deadband)


def _delay(rule: Rule) -> float:
    """Seconds between a write and the next one, if the score changes."""
    return min(rule.min_interval, rule.refresh)


def _following(scores: Scores, rule: Rule, step: float) -> list[int]:
    """For each point, if it is written at its own time: the point that is written next, at its own time, too.
    0 if that is another time, or if it is too far away. Empty if there are no such points.
    """
    delay = _delay(rule)
    nearest = max(1, int(delay // step))
    if delay > step and delay % step:
        return []
    farthest = min(int(rule.refresh // step), nearest + MOST_LAGS - 1, len(scores) - 1)
    wide, deadband = scores.astype(np.int16), np.int16(_deadband(rule))
    # The nearer the next write, the higher the number; 0 if there is none.
    nearness = np.zeros(len(scores), dtype=np.uint8)
    for lag in range(nearest, farthest + 1):
        changed = np.abs(wide[lag:] - wide[:-lag]) >= deadband
        near = changed.view(np.uint8) * np.uint8(farthest + 1 - lag)
        np.maximum(nearness[:-lag], near, out=nearness[:-lag])
    found = np.arange(farthest + 1, farthest + 1 + len(scores)) - nearness
    found *= nearness != 0
    result: list[int] = found.tolist()
    return result
