"""Published scores of an agent from whole pages of raw scores, with numpy.

It writes the same as `gitops_dsf.backtest.publisher`, cycle by cycle, but computes the usual case
of one item in one loop. tests/property/test_backtest.py compares both.

A point without a result is a failed cycle: the agent stops renewing, and the scores expire.
"""

from array import array
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.publishrule import PublishedItems
from dsf_wire.summary import ScoreRange, ScorerSummary
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.publisher import ReplayedPublisher
from gitops_dsf.backtest.rawscores import RawValues
from gitops_dsf.backtest.track import ABSENT, NEVER
from gitops_dsf.hub.raw_results import LabelValues

FAR: Final = 1000
"""The number in place of a score that was never written.

It differs from every score by more than any deadband.
"""
PublishedColumn = npt.NDArray[np.int8]
"""Published scores at consecutive points; ABSENT where the cycle failed."""


class GridPublisher(ReplayedPublisher):
    """Folds the raw scores of one scorer on one cluster, page by page."""

    def __init__(self, *, scorer: ScorerSummary, cluster: str, grid: TimeGrid) -> None:
        super().__init__(scorer=scorer, cluster=cluster)
        self._grid = grid

    def add(self, first: int, results: Mapping[LabelValues, RawValues]) -> None:
        """Takes the raw scores at consecutive points of the grid, from `first` on."""
        if name := self._only_item(results):
            (raw,) = results.values()
            self._add_scores(first, name, map_all(raw, self._scorer.score_range))
            return
        columns: list[tuple[LabelValues, list[float]]] = []
        for labels, values in results.items():
            columns.append((labels, values.tolist()))
        # A cluster without results has one row of NaN, so each point is a cycle, if a failed one.
        points = max((len(values) for _, values in columns), default=0)
        for number in range(points):
            items = self.items([(labels, values[number]) for labels, values in columns])
            self.step(self._grid.at(first + number), items)

    def finish(self) -> None:
        """Adds the writes that are due until the end of the grid."""
        self.write_due(self._grid.end)

    def _only_item(self, results: Mapping[LabelValues, RawValues]) -> str:
        """The item of the object; empty if it has had another, or these results are of another."""
        if len(results) != 1:
            return ""
        (labels,) = results
        names = {self.name(labels), *(self._wanted or ())}
        if self._published is not None:
            names.update(self._published.values)
        return names.pop() if len(names) == 1 else ""

    def _add_scores(self, first: int, name: str, scores: PublishedColumn) -> None:
        """Takes the scores of the only item at consecutive points of the grid, from `first` on.

        This is the agent's rule (`dsf_wire.publishrule`) in one loop: millions of calls of it would
        take ten times as long.
        """
        deadband = max(1, self._rule.deadband)
        refresh = self._rule.refresh
        delay = min(self._rule.min_interval, refresh)
        steps = np.arange(len(scores), dtype=np.float64) * self._grid.step
        moments = (self._grid.at(first) + steps).tolist()
        last = FAR
        last_write = -NEVER
        if self._published is not None:
            last = self._published.values[name]
            last_write = self._published.written
        due = self._due
        wanted = self._wanted[name] if self._wanted else ABSENT
        times: list[float] = []
        column: list[int] = []
        for now, score in zip(moments, scores.tolist(), strict=True):
            # The writes that were due since the last point: refreshes, and a change after its
            # minimum interval.
            while due < now:
                times.append(due)
                column.append(wanted)
                last = wanted
                last_write = due
                due += refresh
            wanted = score
            if score == ABSENT:
                # The agent renews nothing after a failed cycle.
                due = NEVER
                continue
            due = last_write + (refresh if -deadband < score - last < deadband else delay)
            if due <= now:
                times.append(now)
                column.append(score)
                last = score
                last_write = now
                due = now + refresh
        if times:
            self.track.extend(array("d", times), {name: array("b", column)})
            self._published = PublishedItems(
                values={name: last}, written=last_write, valid_until=last_write + self._rule.ttl
            )
        self._wanted = None if wanted == ABSENT else {name: wanted}
        self._due = due


def map_all(raw: RawValues, score_range: ScoreRange | None) -> PublishedColumn:
    """The published scores of raw ones; ABSENT for what is not finite.

    They are those of `dsf_wire.scorevalue.map_score`.
    """
    is_finite = np.isfinite(raw)
    values = np.where(is_finite, raw, 0.0)
    low = float(SCORE_MIN)
    high = float(SCORE_MAX)
    mapped = values
    if score_range is not None:
        first = float(score_range.output_min)
        last = float(score_range.output_max)
        width = score_range.max - score_range.min
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = first + (values - score_range.min) * (last - first) / width
        # inf - inf at the limits of the float range: the raw score shows which limit it is.
        limits = np.where(values <= score_range.min, first, last)
        mapped = np.where(np.isnan(mapped), limits, mapped)
        low = max(low, min(first, last))
        high = min(high, max(first, last))
    within = np.floor(np.minimum(np.maximum(mapped, low), high)).astype(np.int8)
    return np.where(is_finite, within, np.int8(ABSENT))
