"""A grid of moments, the writes of one AddOnPlacementScore, and the decisions of one Placement."""

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

from gitops_dsf.hub.flapping import Change


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

    def changes(self, grid: Grid) -> Iterator[Change]:
        """The changes, in order of time. The first decision is none."""
        for before, after in zip(self.decided, self.decided[1:], strict=False):
            old, new = set(before.clusters), set(after.clusters)
            yield Change(
                at=grid.at(after.number), left=tuple(sorted(old - new)), joined=tuple(sorted(new - old))
            )
