"""When a scorer runs: at once, then on a fixed grid that differs between clusters. Pure."""

import hashlib
import math
from dataclasses import dataclass


def stable_fraction(*parts: str) -> float:
    """A number in [0, 1) that depends only on the parts, so it is the same after a restart."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Grid points at ``phase + k * interval`` seconds of a monotonic clock.

    The first run does not wait for the grid. Later runs do, so a thousand clusters that received an edit in
    the same second spread over the whole interval.
    """

    interval: float
    phase: float

    def next(self, *, after: float, least: float = 0.0) -> float:
        """The first grid point that is more than ``least`` seconds after ``after``. Missed points are
        skipped.
        """
        steps = math.floor((after + least - self.phase) / self.interval) + 1
        return self.phase + steps * self.interval
