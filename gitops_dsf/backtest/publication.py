"""What an agent would have published: pages of raw scores to writes of one AddOnPlacementScore.

A point without a result is a failed cycle: the agent stops renewing, and the scores expire.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from dsf_wire.publishrule import Published
from dsf_wire.summary import Summary
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.history import Values
from gitops_dsf.backtest.mapping import map_all
from gitops_dsf.backtest.publisher import Labels, Publisher
from gitops_dsf.backtest.singleitem import Scores, SingleItem
from gitops_dsf.backtest.track import ABSENT, NEVER, Track


class LongTrack(Track):
    """Tens of thousands of writes."""

    @cached_property
    def expiries(self) -> tuple[tuple[float, float], ...]:
        """The same as for any track, with numpy."""
        if not self.at:
            return ()
        times = np.frombuffer(self.at, dtype=np.float64)
        late = np.flatnonzero(np.diff(times) > self.ttl)
        found = zip((times[late] + self.ttl).tolist(), times[late + 1].tolist(), strict=True)
        return (*found, (self.at[-1] + self.ttl, NEVER))


class Publication(Publisher):
    """Folds the results of one scorer on one cluster, page by page."""

    def __init__(
        self, *, scorer: Summary, cluster: str, grid: Grid, keep: Sequence[str] | None = None
    ) -> None:
        super().__init__(scorer=scorer, cluster=cluster, keep=keep)
        self._grid = grid

    def track(self) -> Track:
        """The writes up to now."""
        return LongTrack(ttl=self._rule.ttl, at=self._writes.at, values=self._writes.values)

    def add(self, first: int, results: Mapping[Labels, Values]) -> None:
        """Takes the results at consecutive points of the grid, from `first` on."""
        single = next(iter(results.items())) if len(results) == 1 else None
        if single is not None and self._one_item(single[0]):
            self._add_single(first, self.name(single[0]), map_all(single[1], self._scorer.score_range))
            return
        columns = [(labels, values.tolist()) for labels, values in results.items()]
        for number in range(max((len(values) for _, values in columns), default=0)):
            items = self.items((labels, values[number]) for labels, values in columns)
            self.step(self._grid.at(first + number), items)

    def finish(self) -> None:
        """Adds the writes that are due until the end of the grid."""
        self.write_due(self._grid.end)

    def _one_item(self, labels: Labels) -> bool:
        """Whether the object has had no other item than that of these labels."""
        published = self._published.values if self._published else {}
        wanted = self._wanted or {}
        return {*published, *wanted} <= {self.name(labels)} and self.name(labels) != ""

    def _add_single(self, first: int, name: str, scores: Scores) -> None:
        """The same as `step` for an object with one item, without a call for each point."""
        published, wanted = self._published, self._wanted
        item = SingleItem(
            rule=self._rule,
            grid=self._grid,
            last=published.values.get(name, ABSENT) if published else ABSENT,
            written=published.written if published else -NEVER,
            wanted=wanted.get(name, ABSENT) if wanted else ABSENT,
            due=self._due,
        )
        item.add(first, scores)
        self._keep_single(name, item.times, item.column)
        if item.last != ABSENT:
            self._published = Published(
                values={name: item.last}, written=item.written, valid_until=item.written + self._rule.ttl
            )
        self._wanted = None if item.wanted == ABSENT else {name: item.wanted}
        self._due = item.due

    def _keep_single(self, name: str, times: "array[float]", column: "array[int]") -> None:
        writes = self._writes
        if not times:
            return
        if self._keep is None or name in self._keep:
            writes.values.setdefault(name, array("b", [ABSENT]) * len(writes.at)).extend(column)
        writes.at.extend(times)
        for other in self._keep or ():
            if other != name:
                missing = array("b", [ABSENT]) * len(times)
                writes.values.setdefault(other, array("b", [ABSENT]) * (len(writes.at) - len(times))).extend(
                    missing
                )
