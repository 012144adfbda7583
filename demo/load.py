"""The load of the clusters, which the demo changes."""

import math
import zlib
from dataclasses import dataclass, field
from typing import Final

import numpy as np

NOISE_PERCENT: Final = 0.8


@dataclass(kw_only=True)
class ClusterLoad:
    """CPU use of one cluster as a function of time. A given time always has the same value."""

    cluster: str
    percent: float
    """Before the first change."""
    instance_type: str
    cores: int
    points: list[tuple[float, float]] = field(default_factory=list)
    """Unix seconds and percentages, between which the load changes evenly."""

    def turn(self, to: float, *, seconds: float, now: float) -> None:
        """Starts a change of the load to ``to`` percent within ``seconds``."""
        past = [point for point in self.points if point[0] < now]
        self.points = [*past, (now, self.mean(now)), (now + seconds, to)]

    def mean(self, when: float) -> float:
        """The percentage without noise."""
        if not self.points:
            return self.percent
        times, percents = zip(*self.points, strict=True)
        return float(np.interp(when, times, percents))

    def at(self, when: float) -> float:
        """The percentage with a little noise, 0 to 100."""
        phase = zlib.crc32(self.cluster.encode()) % 7
        noise = NOISE_PERCENT * (math.sin(when / 1.9 + phase) + math.sin(when / 0.7 + 2 * phase)) / 2
        return min(max(self.mean(when) + noise, 0.0), 100.0)
