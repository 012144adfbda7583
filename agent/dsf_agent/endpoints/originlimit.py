"""Limits the number of concurrent calls per origin (scheme, host and port).

Scorers whose last call got no answer share half of the slots. So peers that hang leave the other half to
peers that answer. Waiting for a slot is no failure of a scorer, so it does not count towards a time-out.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from weakref import WeakValueDictionary


class _Origin:
    """The slots of one origin."""

    def __init__(self, most: int) -> None:
        self.all = asyncio.Semaphore(most)
        self.of_unresponsive = asyncio.Semaphore((most + 1) // 2)


class OriginLimit:
    """Slots per origin, in the order of the requests."""

    def __init__(self, *, per_origin: int) -> None:
        self._per_origin = per_origin
        self._origins: WeakValueDictionary[str, _Origin] = WeakValueDictionary()
        """Those that somebody uses or waits for."""

    @asynccontextmanager
    async def slot(self, name: str, *, unresponsive: bool = False) -> AsyncIterator[None]:
        """Holds a slot of this origin. ``unresponsive`` means that the last call of this caller got no
        answer.
        """
        origin = self._origins.get(name)
        if origin is None:
            origin = self._origins[name] = _Origin(self._per_origin)
        async with origin.of_unresponsive if unresponsive else nullcontext(), origin.all:
            yield
