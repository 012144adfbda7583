"""From series of a metric store to raw scores at the points of a grid, and on to what an agent publishes:
writes of one AddOnPlacementScore. A point without a result is a failed cycle: the agent stops renewing, and
the scores expire.
"""

from array import array
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.publishrule import Published
from dsf_wire.summary import ScoreRange, Summary
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.publisher import Labels, ReplayedPublisher
from gitops_dsf.backtest.rawscores import Values
from gitops_dsf.backtest.track import ABSENT, NEVER

FAR: Final = 1000
"""In place of a score that was never written. It differs from every score by more than any deadband."""
Scores = npt.NDArray[np.int8]
"""Published scores at consecutive points; ABSENT where the cycle failed."""


class GridPublisher(ReplayedPublisher):
    """Folds the results of one scorer on one cluster, page by page."""

    def __init__(self, *, scorer: Summary, cluster: str, grid: TimeGrid) -> None:
        super().__init__(scorer=scorer, cluster=cluster)
        self._grid = grid

    def add(self, first: int, results: Mapping[Labels, Values]) -> None:
        """Takes the results at consecutive points of the grid, from `first` on."""
        if name := self._only_item(results):
            (raw,) = results.values()
            self._add_scores(first, name, map_all(raw, self._scorer.score_range))
            return
        columns = [(labels, values.tolist()) for labels, values in results.items()]
        for number in range(max((len(values) for _, values in columns), default=0)):
            items = self.items((labels, values[number]) for labels, values in columns)
            self.step(self._grid.at(first + number), items)

    def finish(self) -> None:
        """Adds the writes that are due until the end of the grid."""
        self.write_due(self._grid.end)

    def _only_item(self, results: Mapping[Labels, Values]) -> str:
        """The item of the object if it has had no other one, and these results are of it; else empty."""
        if len(results) != 1:
            return ""
        (labels,) = results
        name, published = self.name(labels), self._published
        known = {*(published.values if published else ()), *(self._wanted or ())}
        return name if known <= {name} else ""

    def _add_scores(self, first: int, name: str, scores: Scores) -> None:
        """Takes the scores of the only item at consecutive points of the grid, from `first` on. This is the
        agent's rule in one loop: millions of calls of it would take ten times as long.
        """
        deadband, refresh = max(1, self._rule.deadband), self._rule.refresh
        delay = min(self._rule.min_interval, refresh)
        moments = (
            self._grid.at(first) + np.arange(len(scores), dtype=np.float64) * self._grid.step
        ).tolist()
        published, due = self._published, self._due
        last, written = (published.values[name], published.written) if published else (FAR, -NEVER)
        wanted = self._wanted[name] if self._wanted else ABSENT
        times, column = list[float](), list[int]()
        for now, score in zip(moments, scores.tolist(), strict=True):
            while due < now:
                times.append(due)
                column.append(wanted)
                last, written, due = wanted, due, due + refresh
            wanted = score
            if score == ABSENT:
                due = NEVER
                continue
            due = written + (refresh if -deadband < score - last < deadband else delay)
            if due <= now:
                times.append(now)
                column.append(score)
                last, written, due = score, now, now + refresh
        if times:
            self.track.extend(array("d", times), {name: array("b", column)})
            self._published = Published(
                values={name: last}, written=written, valid_until=written + self._rule.ttl
            )
        self._wanted = None if wanted == ABSENT else {name: wanted}
        self._due = due


def map_all(raw: Values, score_range: ScoreRange | None) -> Scores:
    """Published scores of raw ones, those of dsf_wire.scorevalue.map_score; ABSENT for what is not finite."""
    finite = np.isfinite(raw)
    values = np.where(finite, raw, 0.0)
    low, high = float(SCORE_MIN), float(SCORE_MAX)
    mapped = values
    if score_range is not None:
        first, last = float(score_range.output_min), float(score_range.output_max)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = first + (values - score_range.min) * (last - first) / (
                score_range.max - score_range.min
            )
        # inf - inf at the limits of the float range: the raw score itself shows which limit it is.
        mapped = np.where(
            np.isnan(mapped), np.where(values <= score_range.min, first, last), mapped
        )
        low, high = max(low, min(first, last)), min(high, max(first, last))
    held = np.floor(np.minimum(np.maximum(mapped, low), high)).astype(np.int8)
    return np.where(finite, held, np.int8(ABSENT))
