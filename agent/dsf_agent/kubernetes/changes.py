"""Tells scorers that nodes or pods changed, and limits how often they run because of it."""

import asyncio
from typing import Final

from dsf_runtime.clock import Clock

SETTLE_SECONDS: Final = 1.0
"""How long further changes are collected after the first one. A rollout changes many pods together."""
GAP_SECONDS: Final = 10.0
"""Least time between the starts of two cycles of a scorer if a change caused the second one."""


class Changes:
    """Counts the changes of nodes and pods that measures can depend on."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def mark(self) -> None:
        """Call this after each change."""
        self.count += 1
        self._event.set()

    async def beyond(self, count: int) -> None:
        """Returns when there are more changes than this."""
        while self.count <= count:
            self._event.clear()
            await self._event.wait()


class Trigger:
    """Starts the cycles of one scorer when the cluster changed."""

    def __init__(self, *, changes: Changes, clock: Clock) -> None:
        self._changes = changes
        self._clock = clock
        self._seen = changes.count
        self._started = clock.monotonic()

    def started(self) -> None:
        """Call this when a cycle starts. The cycle takes all changes so far into account."""
        self._seen = self._changes.count
        self._started = self._clock.monotonic()

    async def wait(self) -> None:
        """Returns when a cycle should start because of a change."""
        await self._changes.beyond(self._seen)
        rest = self._started + GAP_SECONDS - self._clock.monotonic()
        await self._clock.sleep(max(SETTLE_SECONDS, rest))
