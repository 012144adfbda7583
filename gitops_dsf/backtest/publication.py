"""What an agent would have published: raw scores to writes of one AddOnPlacementScore.

It applies the functions of the agent: dimension format, aggregation, score range, deadband, minimum interval
and refresh. A point without a result is a failed cycle: the agent stops renewing, and the scores expire.
"""

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dsf_wire import dimension, scorevalue
from dsf_wire.publishrule import Published, Rule, decide
from dsf_wire.scorevalue import Aggregation
from dsf_wire.spread import stable_fraction
from dsf_wire.summary import ScoreRange, Summary
from gitops_dsf.backtest.history import Grid, Labels, Values
from gitops_dsf.backtest.mapping import ABSENT, map_all
from gitops_dsf.backtest.singleitem import NEVER, Scores, SingleItem


@dataclass(frozen=True, kw_only=True)
class Track:
    """The writes of one AddOnPlacementScore, in order of time."""

    ttl: float
    at: "array[float]"
    """Unix seconds of each write. The scores of a write count until `at + ttl`."""
    values: Mapping[str, "array[int]"]
    """Aligned with `at`, by item name; ABSENT where a write has no such item."""

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def expiries(self) -> tuple[tuple[float, float], ...]:
        """The validUntil of each write that expires before the next one, and the time of the next one;
        infinity if there is none.
        """
        if not self.at:
            return ()
        times = np.frombuffer(self.at, dtype=np.float64)
        late = np.flatnonzero(np.diff(times) > self.ttl)
        found = zip((times[late] + self.ttl).tolist(), times[late + 1].tolist(), strict=True)
        return (*found, (self.at[-1] + self.ttl, NEVER))


@dataclass(kw_only=True)
class _Writes:
    at: "array[float]" = field(default_factory=lambda: array("d"))
    values: dict[str, "array[int]"] = field(default_factory=dict)

    def add(self, at: float, items: Mapping[str, int], wanted: Sequence[str] | None) -> None:
        for name in items if wanted is None else wanted:
            column = self.values.get(name)
            if column is None:
                column = self.values[name] = array("b", [ABSENT]) * len(self.at)
            column.append(items.get(name, ABSENT))
        self.at.append(at)
        for column in self.values.values():
            if len(column) < len(self.at):
                column.append(ABSENT)


class Publication:
    """Folds the results of one scorer on one cluster, page by page.

    `keep` names the items whose values are kept; all of them if it is None. The deadband looks at all.
    """

    def __init__(
        self, *, scorer: Summary, cluster: str, grid: Grid, keep: Sequence[str] | None = None
    ) -> None:
        self._scorer = scorer
        self._cluster = cluster
        self._grid = grid
        self._keep = keep
        self._rule = Rule.of(scorer, jitter=stable_fraction(cluster, scorer.score_name, "refresh"))
        self._aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
        self._names: dict[Labels, str] = {}
        self._writes = _Writes()
        self._published: Published | None = None
        self._wanted: Mapping[str, int] | None = None
        self._due = NEVER
        """When the wanted items are written, if no new results come before."""

    def track(self) -> Track:
        """The writes up to now."""
        return Track(ttl=self._rule.ttl, at=self._writes.at, values=self._writes.values)

    def add(self, first: int, results: Mapping[Labels, Values]) -> None:
        """Takes the results at consecutive points of the grid, from `first` on."""
        single = next(iter(results.items())) if len(results) == 1 else None
        if single is not None and self._one_item(single[0]):
            self._add_single(first, self._name(single[0]), map_all(single[1], self._scorer.score_range))
            return
        for number, items in enumerate(self._items(results), first):
            self._step(self._grid.at(number), items)

    def finish(self) -> None:
        """Adds the writes that are due until the end of the grid."""
        self._write_due(self._grid.end)

    def _one_item(self, labels: Labels) -> bool:
        """Whether the object has had no other item than that of these labels."""
        published = self._published.values if self._published else {}
        wanted = self._wanted or {}
        return {*published, *wanted} <= {self._name(labels)} and self._name(labels) != ""

    def _name(self, labels: Labels) -> str:
        name = self._names.get(labels)
        if name is None:
            name = self._names[labels] = dimension.fill(
                self._scorer.score_dimension_format,
                cluster=self._cluster,
                score_name=self._scorer.score_name,
                labels=dict(zip(dimension.LABELS, labels, strict=True)),
            )
        return name

    def _items(self, results: Mapping[Labels, Values]) -> Iterator[dict[str, int] | None]:
        """The items at each point; None where the cycle failed."""
        columns = [(self._name(labels), values.tolist()) for labels, values in results.items()]
        for number in range(max((len(values) for _, values in columns), default=0)):
            raw: dict[str, list[float]] = {}
            for name, values in columns:
                score = values[number]
                if name and math.isfinite(score):
                    raw.setdefault(name, []).append(score)
            yield self._mapped(raw, self._scorer.score_range) or None

    def _mapped(self, raw: Mapping[str, Sequence[float]], score_range: ScoreRange | None) -> dict[str, int]:
        found = {}
        for name in sorted(raw):
            score = scorevalue.aggregate(raw[name], self._aggregation)
            if math.isfinite(score):
                found[name] = scorevalue.map_score(score, score_range).value
        return found

    def _step(self, now: float, items: Mapping[str, int] | None) -> None:
        """One cycle."""
        if self._due < now:
            self._write_due(now)
        self._wanted = items
        if items is None:
            self._due = NEVER
            return
        self._due = decide(items, self._published, rule=self._rule).at
        if self._due <= now:
            self._write(now)

    def _write_due(self, now: float) -> None:
        """Writes what becomes due before `now`: changes after the minimum interval, and refreshes."""
        while self._due < now:
            self._write(self._due)

    def _write(self, now: float) -> None:
        items = self._wanted or {}
        self._writes.add(now, items, self._keep)
        self._published = Published(values=items, written=now, valid_until=now + self._rule.ttl)
        self._due = decide(items, self._published, rule=self._rule).at

    def _add_single(self, first: int, name: str, scores: Scores) -> None:
        """The same as `_step` for an object with one item, without a call for each point."""
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
