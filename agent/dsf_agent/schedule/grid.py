"""When a scorer runs: at once, then on a fixed grid that differs between clusters. Pure."""

import math
from dataclasses import dataclass


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
