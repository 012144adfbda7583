"""Starts cycles of a scorer when its cluster changed, but not too often."""

import asyncio
from typing import Final

from dsf_runtime.clock import monotonic

SETTLE_SECONDS: Final = 1.0
"""The time for which further changes are collected after the first one.

A rollout changes many pods together.
"""
GAP_SECONDS: Final = 10.0
"""Least time between the starts of two cycles of a scorer if a change caused the second one."""


class Trigger:
    """Starts the cycles of one scorer when measures may have changed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._started = 0.0

    def changed(self) -> None:
        """Notes a change of the cluster."""
        self._changed.set()

    def started(self) -> None:
        """Notes that a cycle starts, which takes all changes so far into account.

        Call it before ``wait``.
        """
        # Before the cycle reads: a change during it starts another one.
        self._changed.clear()
        self._started = monotonic()

    async def wait(self) -> None:
        """Returns when a cycle should start because of a change."""
        await self._changed.wait()
        rest = self._started + GAP_SECONDS - monotonic()
        await asyncio.sleep(max(SETTLE_SECONDS, rest))
