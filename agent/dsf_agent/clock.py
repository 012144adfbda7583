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
    """The hub's wall clock, learnt from the Date header of its answers and carried on by the monotonic clock.

    OCM compares validUntil with the hub's clock (ocm pkg/placement/plugins/addon), so a spoke whose clock is minutes off, or jumps,
    would publish scores that are born expired or live too long.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[float, float] | None = None
        self._offset: float | None = None

    @property
    def offset(self) -> float | None:
        """Hub minus local wall clock, in seconds, when the hub last answered; None before its first answer."""
        return self._offset

    def observe(self, remote: float) -> None:
        """The hub says that it is this time now (Unix seconds)."""
        self._seen = (remote, self._clock.monotonic())
        self._offset = remote - self._clock.wall()

    def wall(self) -> float:
        """The hub's time; this machine's before the hub's first answer."""
        if self._seen is None:
            return self._clock.wall()
        remote, then = self._seen
        return remote + (self._clock.monotonic() - then)
