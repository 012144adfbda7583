"""The writes of one AddOnPlacementScore over time."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
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
            for written, following in pairwise(self.at)
            if following - written > self.ttl
        ]
        if self.at:
            found.append((self.at[-1] + self.ttl, NEVER))
        return tuple(found)


@dataclass(kw_only=True)
class Writes:
    """The writes up to now, and their items."""

    at: "array[float]" = field(default_factory=lambda: array("d"))
    values: dict[str, "array[int]"] = field(default_factory=dict)

    def add(self, at: float, items: Mapping[str, int], wanted: Sequence[str] | None) -> None:
        """A write; of its items, those are kept that are wanted, or all."""
        for name in items if wanted is None else wanted:
            self._column(name).append(items.get(name, ABSENT))
        self.at.append(at)
        self._fill()

    def extend(
        self, times: "array[float]", name: str, column: "array[int]", wanted: Sequence[str] | None
    ) -> None:
        """Consecutive writes with one item."""
        for each in (name,) if wanted is None else wanted:
            self._column(each).extend(column if each == name else ())
        self.at.extend(times)
        self._fill()

    def _column(self, name: str) -> "array[int]":
        found = self.values.get(name)
        if found is None:
            found = self.values[name] = array("b", [ABSENT]) * len(self.at)
        return found

    def _fill(self) -> None:
        for column in self.values.values():
            if len(column) < len(self.at):
                column.extend([ABSENT] * (len(self.at) - len(column)))
