"""What an agent would have published: pages of raw scores to writes of one AddOnPlacementScore.

A point without a result is a failed cycle: the agent stops renewing, and the scores expire.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from dsf_wire.publishrule import Published
from dsf_wire.summary import ScoreRange, Summary
from gitops_dsf.backtest import singleitem
from gitops_dsf.backtest.grid import Grid
from gitops_dsf.backtest.history import Results, Values
from gitops_dsf.backtest.mapping import map_all
from gitops_dsf.backtest.publisher import Labels, Publisher
from gitops_dsf.backtest.singleitem import SingleItem
from gitops_dsf.backtest.track import ABSENT, NEVER, Track

CELLS: Final = 40_000
"""Points of all clusters that are mapped and folded together. They fit into the cache of a processor."""


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

    @property
    def score_range(self) -> ScoreRange | None:
        """The range that raw scores are mapped from."""
        return self._scorer.score_range

    def track(self) -> Track:
        """The writes up to now."""
        return LongTrack(ttl=self._rule.ttl, at=self._writes.at, values=self._writes.values)

    def add(self, first: int, results: Mapping[Labels, Values]) -> None:
        """Takes the results at consecutive points of the grid, from `first` on, cycle by cycle."""
        columns = [(labels, values.tolist()) for labels, values in results.items()]
        for number in range(max((len(values) for _, values in columns), default=0)):
            items = self.items((labels, values[number]) for labels, values in columns)
            self.step(self._grid.at(first + number), items)

    def finish(self) -> None:
        """Adds the writes that are due until the end of the grid."""
        self.write_due(self._grid.end)

    def single(self, results: Mapping[Labels, Values]) -> SingleItem | None:
        """The item of the object if it has had no other one, and these results are of it."""
        if len(results) != 1:
            return None
        (labels,) = results
        name, published, wanted = self.name(labels), self._published, self._wanted
        if (
            not name
            or (published and published.values.keys() != {name})
            or (wanted and wanted.keys() != {name})
        ):
            return None
        return SingleItem(
            name=name,
            rule=self._rule,
            grid=self._grid,
            last=published.values[name] if published else ABSENT,
            written=published.written if published else -NEVER,
            wanted=wanted[name] if wanted else ABSENT,
            due=self._due,
        )

    def keep_single(self, item: SingleItem) -> None:
        """Takes over the state of the item and its writes."""
        self._keep_writes(item.name, item.times, item.column)
        if item.last != ABSENT:
            self._published = Published(
                values={item.name: item.last}, written=item.written, valid_until=item.written + self._rule.ttl
            )
        self._wanted = None if item.wanted == ABSENT else {item.name: item.wanted}
        self._due = item.due

    def _keep_writes(self, name: str, times: "array[float]", column: "array[int]") -> None:
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


def add_page(publications: Mapping[str, Publication], first: int, results: Results) -> None:
    """Takes the results at consecutive points of the grid, from `first` on, for one scorer on several
    clusters.
    """
    items: list[tuple[Publication, SingleItem]] = []
    rows: list[Values] = []
    for cluster, publication in publications.items():
        item = publication.single(results[cluster])
        if item is None:
            publication.add(first, results[cluster])
        else:
            items.append((publication, item))
            rows += results[cluster].values()
    if not items:
        return
    score_range = items[0][0].score_range
    size = max(1, CELLS // max(1, len(rows[0])))
    for begin in range(0, len(items), size):
        group = items[begin : begin + size]
        scores = map_all(np.stack(rows[begin : begin + size]), score_range)
        singleitem.add([item for _, item in group], first, scores)
        for publication, item in group:
            publication.keep_single(item)
