"""The writes of one AddOnPlacementScore over time."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

ABSENT: Final = -128
"""In place of a score where there is none."""
NEVER: Final = math.inf


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
        found = [
            (written + self.ttl, following)
            for written, following in zip(self.at, self.at[1:], strict=False)
            if following - written > self.ttl
        ]
        if self.at:
            found.append((self.at[-1] + self.ttl, NEVER))
        return tuple(found)


@dataclass(kw_only=True)
class Writes:
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
