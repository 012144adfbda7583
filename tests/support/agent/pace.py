"""Whether calls keep their beat, judged fairly on a machine that other processes use as well."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from tests.support.agent.http import Seen

STEP: Final = 0.02
SLACK: Final = 0.4
"""Part of the interval by which a gap may differ."""


class Pace:
    """Measures how long this thread was kept from running although it was due.

    The CPU that the thread used itself is not forgiven, so an agent that holds its event loop still fails.
    """

    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []

    async def run(self) -> None:
        """For ever; the samples hold the loop's time and seconds."""
        loop = asyncio.get_running_loop()
        while True:
            wall, cpu = loop.time(), time.thread_time()
            await asyncio.sleep(STEP)
            late = loop.time() - wall - STEP - (time.thread_time() - cpu)
            if late > 0.002:
                self._taken.append((loop.time(), late))

    def taken(self, start: float, end: float) -> float:
        """Seconds that others took between two times of the loop."""
        return sum(late for at, late in self._taken if start <= at <= end + STEP + late)

    def check(self, calls: Sequence[Seen], *, interval: float, least: int = 1) -> None:
        """AssertionError unless there are enough gaps and each is an interval long."""
        gaps = [(before.at, after.at) for before, after in itertools.pairwise(calls)]
        assert len(gaps) >= least, len(gaps)
        for start, end in gaps:
            # A late call shortens the gap that follows, hence the interval before.
            slack = SLACK * interval + self.taken(start - interval, end)
            assert interval - slack < end - start < interval + slack, (end - start, slack)


@asynccontextmanager
async def pace() -> AsyncIterator[Pace]:
    """Measures while the block runs."""
    measured = Pace()
    task = asyncio.create_task(measured.run(), name="pace")
    try:
        yield measured
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
