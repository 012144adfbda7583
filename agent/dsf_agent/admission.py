"""Who may talk and hold memory at one time: per origin a number of requests, over all a number of bytes.

Waiting here is never a failure of the scorer that waits, so it happens outside every time-out.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

FREE_BYTES: Final = 1 << 20
"""Answers expected to be smaller than this never queue for bytes: hundreds of them fit beside a large one."""


class Admission:
    """Semaphores per origin and a budget of bytes in flight."""

    def __init__(self, *, per_origin: int, bytes_in_flight: int) -> None:
        self._per_origin = per_origin
        self._budget = bytes_in_flight
        self._used = 0
        self._origins: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()
        self._room = asyncio.Condition()

    @asynccontextmanager
    async def origin(self, name: str) -> AsyncIterator[None]:
        """A turn at this origin (scheme, host and port). The semaphore lives as long as somebody uses it."""
        semaphore = self._origins.get(name)
        if semaphore is None:
            semaphore = asyncio.Semaphore(self._per_origin)
            self._origins[name] = semaphore
        async with semaphore:
            yield

    @asynccontextmanager
    async def bytes(self, expected: int) -> AsyncIterator[None]:
        """Room for an answer of about this many bytes; one larger than the whole budget waits until it is alone."""
        if expected <= FREE_BYTES:
            yield
            return
        async with self._room:
            await self._room.wait_for(lambda: self._used == 0 or self._used + expected <= self._budget)
            self._used += expected
        try:
            yield
        finally:
            self._used -= expected
            async with self._room:
                self._room.notify_all()
