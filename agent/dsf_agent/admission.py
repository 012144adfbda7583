"""Who may talk at one time: a number of requests per origin.

Waiting here is never a failure of the scorer that waits, so it happens outside every time-out.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Admission:
    """Semaphores per origin."""

    def __init__(self, *, per_origin: int) -> None:
        self._per_origin = per_origin
        self._origins: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()

    @asynccontextmanager
    async def origin(self, name: str) -> AsyncIterator[None]:
        """A turn at this origin (scheme, host and port). The semaphore lives as long as somebody uses it."""
        semaphore = self._origins.get(name)
        if semaphore is None:
            semaphore = asyncio.Semaphore(self._per_origin)
            self._origins[name] = semaphore
        async with semaphore:
            yield
