"""A grid of moments, the writes of one AddOnPlacementScore, as an agent makes them of its cycles, and the
decisions of one Placement. Without numpy, because `test` replays with it and needs no extra.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

from dsf_wire import dimension, scorevalue
from dsf_wire.publishrule import Published, Rule, decide, stable_fraction
from dsf_wire.scorevalue import Aggregation
from dsf_wire.summary import Summary
from gitops_dsf.hub.moves.flapping import DecisionChange


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The moments `start + number * step`, for numbers below `count`. Times are seconds since 1970."""

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        if not self.step > 0 or self.count < 1:
            msg = f"a grid needs a positive step and at least one point, not {self.step} and {self.count}"
            raise ValueError(msg)

    def at(self, number: int) -> float:
        """The time of a point."""
        return self.start + number * self.step

    @property
    def end(self) -> float:
        """The time of the last point."""
        return self.at(self.count - 1)


ABSENT: Final = -128
"""In place of a score where there is none."""
NEVER: Final = math.inf

Tracks = Mapping[str, Mapping[str, "Track"]]
"""By name of the AddOnPlacementScore, then by cluster."""


@dataclass(frozen=True, kw_only=True)
class Track:
    """The writes of one AddOnPlacementScore, in order of time."""

    ttl: float
    at: "array[float]" = field(default_factory=lambda: array("d"))
    """Unix seconds of each write. The scores of a write count until `at + ttl`."""
    values: "dict[str, array[int]]" = field(default_factory=dict)
    """Aligned with `at`, by item name; ABSENT where a write has no such item."""

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def expiries(self) -> tuple[tuple[float, float], ...]:
        """Each validUntil before the next write, and the time of that or infinity; once all are known."""
        found = [
            (written + self.ttl, following)
            for written, following in pairwise(self.at)
            if following - written > self.ttl
        ]
        if self.at:
            found.append((self.at[-1] + self.ttl, NEVER))
        return tuple(found)

    def add(self, at: float, items: Mapping[str, int]) -> None:
        """Adds a write."""
        self.extend(array("d", [at]), {name: array("b", [value]) for name, value in items.items()})

    def extend(self, times: "array[float]", columns: "Mapping[str, array[int]]") -> None:
        """Adds consecutive writes with the same items."""
        for name in columns:
            if name not in self.values:
                self.values[name] = array("b", [ABSENT]) * len(self.at)
        absent = array("b", [ABSENT]) * len(times)
        for name, column in self.values.items():
            column.extend(columns.get(name, absent))
        self.at.extend(times)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """A decision, which holds from a point of the grid on. Clusters are in order of name."""

    number: int
    clusters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DecisionLine:
    """All decisions of one Placement, in order of time. Equal ones in a row are one."""

    key: str
    """namespace/name."""
    decided: tuple[Decided, ...]
    regret: float
    """Points of the weighted mean behind the best decision, averaged over time, summed over clusters."""

    def changes(self, grid: Grid) -> Iterator[DecisionChange]:
        """The changes, in order of time. The first decision is none."""
        for before, after in zip(self.decided, self.decided[1:], strict=False):
            old, new = set(before.clusters), set(after.clusters)
            yield DecisionChange(
                at=grid.at(after.number),
                left=tuple(sorted(old - new)),
                joined=tuple(sorted(new - old)),
            )


Labels = tuple[str, ...]
"""Labels of a result, in the order of dsf_wire.dimension.LABELS."""


class Publisher:
    """Folds the cycles of one scorer on one cluster, in order of time, by the functions of the agent.
    `published` is what is on the hub before the first cycle.
    """

    def __init__(
        self, *, scorer: Summary, cluster: str, published: Published | None = None
    ) -> None:
        self._scorer = scorer
        self._cluster = cluster
        self._rule = Rule.of(scorer, jitter=stable_fraction(cluster, scorer.score_name, "refresh"))
        self._aggregation = Aggregation(scorer.score_aggregation or Aggregation.LAST)
        self._names: dict[Labels, str] = {}
        self.track = Track(ttl=self._rule.ttl)
        """The writes up to now."""
        self._published = published
        if published is not None:
            self.track.add(published.written, published.values)
        self._wanted: Mapping[str, int] | None = None
        self._due = NEVER
        """When the wanted items are written, if no new results come before."""

    def name(self, labels: Labels) -> str:
        """The item of a result."""
        name = self._names.get(labels)
        if name is None:
            name = self._names[labels] = dimension.fill(
                self._scorer.score_dimension_format,
                cluster=self._cluster,
                score_name=self._scorer.score_name,
                labels=dict(zip(dimension.LABELS, labels, strict=True)),
            )
        return name

    def items(self, results: Iterable[tuple[Labels, float]]) -> dict[str, int] | None:
        """The items of a cycle with these raw scores; None if it fails, because there is no item."""
        raw: dict[str, list[float]] = {}
        for labels, score in results:
            name = self.name(labels)
            if name and math.isfinite(score):
                raw.setdefault(name, []).append(score)
        found = {}
        for name in sorted(raw):
            score = scorevalue.aggregate(raw[name], self._aggregation)
            if math.isfinite(score):
                found[name] = scorevalue.map_score(score, self._scorer.score_range).value
        return found or None

    def step(self, now: float, items: Mapping[str, int] | None) -> None:
        """One cycle with these items; None for a cycle that fails."""
        if self._due < now:
            self.write_due(now)
        self._wanted = items
        if items is None:
            self._due = NEVER
            return
        self._due = decide(items, self._published, rule=self._rule).at
        if self._due <= now:
            self._write(now)

    def write_due(self, now: float) -> None:
        """Writes what becomes due before `now`: changes after the minimum interval, and refreshes."""
        while self._due < now:
            self._write(self._due)

    def _write(self, now: float) -> None:
        items = self._wanted or {}
        self.track.add(now, items)
        self._published = Published(values=items, written=now, valid_until=now + self._rule.ttl)
        self._due = decide(items, self._published, rule=self._rule).at
