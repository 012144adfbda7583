"""The writes of AddOnPlacementScores over time.

Without numpy, because `gitops-dsf test` replays with it and is installed without the extra
`backtest`.
"""

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

ABSENT: Final = -128
"""The number in place of a score where there is none.

No score is so low: -100 is the least that OCM takes.
"""
NEVER: Final = math.inf

Tracks = Mapping[str, Mapping[str, "Track"]]
"""Tracks by name of the AddOnPlacementScore, then by cluster."""


class Expiry(NamedTuple):
    """A validUntil that passes before the next write. Times are Unix seconds."""

    until: float
    renewed: float
    """The next write; infinity if there is none."""


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
    def expiries(self) -> tuple[Expiry, ...]:
        """All expiries, in order. Ask only when all writes are known: the answer is kept."""
        expiries: list[Expiry] = []
        for written_at, next_write in pairwise(self.at):
            if next_write - written_at > self.ttl:
                expiries.append(Expiry(written_at + self.ttl, next_write))
        if self.at:
            expiries.append(Expiry(self.at[-1] + self.ttl, NEVER))
        return tuple(expiries)

    def add(self, at: float, items: Mapping[str, int]) -> None:
        """Adds a write."""
        columns: dict[str, array[int]] = {}
        for name, value in items.items():
            columns[name] = array("b", [value])
        self.extend(array("d", [at]), columns)

    def extend(self, times: "array[float]", columns: "Mapping[str, array[int]]") -> None:
        """Adds consecutive writes with the same items."""
        for name in columns:
            if name not in self.values:
                self.values[name] = array("b", [ABSENT]) * len(self.at)
        # An AddOnPlacementScore is written as a whole, so an item that is not in a write is gone.
        absent = array("b", [ABSENT]) * len(times)
        for name, column in self.values.items():
            column.extend(columns.get(name, absent))
        self.at.extend(times)


def all_tracks(tracks: Tracks) -> Iterator[Track]:
    """The tracks of all scores and clusters."""
    for by_cluster in tracks.values():
        yield from by_cluster.values()
