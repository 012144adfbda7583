"""A grid of moments, the writes of one AddOnPlacementScore, as an agent makes them of its cycles, and the
decisions of one Placement. Without numpy, because `test` replays with it and needs no extra.
"""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

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
