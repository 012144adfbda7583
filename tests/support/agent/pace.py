"""Whether a scorer's calls keep their beat, judged fairly on a machine that other processes use as well."""

import itertools
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from dsf_agent.cadence import Cadence, fraction
from tests.support.agent.http import Seen
from tests.support.agent.stolen import stolen

SLACK: Final = 0.4
"""Part of the interval by which a call may be late although nobody took time from it."""
OFTEN: Final = 10
"""One beat in so many may be off: what the machine took is measured beside the calls, not on them. Of a shorter series, one."""


def beat(name: str, *, cluster: str = "c1", interval: float = 1) -> Cadence:
    """When the entry of this name runs (tests.support.agent.configmap), but for its first run, as docs/agent.md has it."""
    return Cadence(interval=interval, phase=interval * fraction(cluster, f"{name}-score", "phase"))


class Pace:
    """Judges calls by the grid of their scorer. ``taken`` gives the seconds that others took between two times."""

    def __init__(self, taken: Callable[[float, float], float]) -> None:
        self._taken = taken

    def check(self, calls: Sequence[Seen], *, cadence: Cadence, least: int = 1) -> None:
        """AssertionError unless there are enough gaps, each call has a beat of its own, and nearly every beat has its call in time.

        A scorer never asks twice in one beat, however late it is: who does was started anew, or counts wrong.
        """
        times = [call.at for call in calls]
        assert len(times) > least, len(times)
        beats = [math.floor((at - cadence.phase) / cadence.interval) for at in times]
        twice = [number for number, following in itertools.pairwise(beats) if following <= number]
        assert not twice, f"two calls in one beat: {self._told(times, cadence)}"
        off = self._late(times, beats, cadence)
        off += self._lost(beats, off, cadence)
        assert len(off) <= max(1, (beats[-1] - beats[0] + 1) // OFTEN), (
            f"off the beat: {[number - beats[0] for number in off]} of {self._told(times, cadence)}"
        )

    def _late(self, times: Sequence[float], beats: Sequence[int], cadence: Cadence) -> list[int]:
        late = []
        for at, number in zip(times, beats, strict=True):
            due = cadence.phase + number * cadence.interval
            if at - due > SLACK * cadence.interval + self._taken(due - cadence.interval, at):
                late.append(number)
        return late

    def _lost(self, beats: Sequence[int], late: Sequence[int], cadence: Cadence) -> list[int]:
        """Beats without a call. The one after a late call is not counted again: two runs keep half an interval between them."""
        lost = []
        for number in sorted(set(range(beats[0], beats[-1])) - set(beats)):
            due = cadence.phase + number * cadence.interval
            taken = self._taken(due - cadence.interval, due + cadence.interval)
            if number - 1 not in late and taken < cadence.interval / 2:
                lost.append(number)
        return lost

    def _told(self, times: Sequence[float], cadence: Cadence) -> str:
        """Every call as its time since the beat of the first, in intervals, and what was taken from it."""
        start = cadence.next(after=times[0] - cadence.interval)
        steps = ((at - start) / cadence.interval for at in times)
        taken = (self._taken(at - cadence.interval, at) for at in times)
        return ", ".join(f"{step:.2f} ({seconds:.2f} s taken)" for step, seconds in zip(steps, taken, strict=True))


@asynccontextmanager
async def pace() -> AsyncIterator[Pace]:
    """Measures while the block runs."""
    async with stolen() as measured:
        yield Pace(measured.between)
