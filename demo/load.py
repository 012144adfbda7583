"""The load of the clusters, which the demo changes."""

import math
import zlib
from dataclasses import dataclass, field
from typing import Final

NOISE_PERCENT: Final = 0.8


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A linear change of the load in percent. Times are Unix seconds."""

    start: float
    seconds: float
    before: float
    after: float

    def at(self, when: float) -> float:
        """The percentage at a time at or after the start."""
        part = 1.0 if self.seconds <= 0 else min((when - self.start) / self.seconds, 1.0)
        return self.before + part * (self.after - self.before)


@dataclass(kw_only=True)
class ClusterLoad:
    """CPU use of one cluster as a function of time. A given time always has the same value."""

    cluster: str
    percent: float
    """Before the first change."""
    instance_type: str
    cores: int
    turns: list[Turn] = field(default_factory=list)

    def turn(self, to: float, *, seconds: float, now: float) -> None:
        """Starts a change of the load to ``to`` percent within ``seconds``."""
        self.turns.append(
            Turn(start=now, seconds=seconds, before=self.mean(now), after=min(max(to, 0.0), 100.0))
        )

    def mean(self, when: float) -> float:
        """The percentage without noise."""
        for turn in reversed(self.turns):
            if when >= turn.start:
                return turn.at(when)
        return self.percent

    def at(self, when: float) -> float:
        """The percentage with a little noise, 0 to 100."""
        phase = zlib.crc32(self.cluster.encode()) % 7
        noise = NOISE_PERCENT * (math.sin(when / 1.9 + phase) + math.sin(when / 0.7 + 2 * phase)) / 2
        return min(max(self.mean(when) + noise, 0.0), 100.0)
