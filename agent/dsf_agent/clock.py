"""Time as the agent sees it, injected so that tests can move it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds: ``monotonic`` for pacing, ``wall`` (Unix time) for everything that leaves the process."""

    def monotonic(self) -> float: ...

    def wall(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class OffsetClock:
    """The hub's wall clock as this machine's plus an offset, learnt from the Date header of the hub's answers.

    OCM compares validUntil with the hub's clock (ocm pkg/placement/plugins/addon), so a spoke whose clock is minutes off would
    publish scores that are born expired or live too long.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._offset: float | None = None

    @property
    def offset(self) -> float | None:
        """Hub minus local, in seconds; None before the first answer."""
        return self._offset

    def observe(self, *, remote: float, local: float) -> None:
        self._offset = remote - local

    def wall(self) -> float:
        return self._clock.wall() + (self._offset or 0.0)
