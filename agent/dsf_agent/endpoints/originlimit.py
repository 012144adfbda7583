"""Limits the number of concurrent calls per origin (scheme, host and port).

Scorers whose last call got no answer share half of the slots. So peers that hang leave the other half to
peers that answer. Waiting for a slot is no failure of a scorer, so it does not count towards a time-out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class OriginLimit:
    """Slots per origin. Callers that got answers come first, and within each group the order is that of the
    requests.
    """

    def __init__(self, *, per_origin: int) -> None:
        self._per_origin = per_origin
        self._origins: dict[str, _Origin] = {}

    @asynccontextmanager
    async def slot(self, name: str, *, unresponsive: bool = False) -> AsyncIterator[None]:
        """Holds a slot of this origin. ``unresponsive`` means that the last call of this caller got no
        answer.
        """
        origin = self._origins.setdefault(name, _Origin(most=self._per_origin))
        try:
            await origin.enter(unresponsive)
            try:
                yield
            finally:
                origin.leave(unresponsive)
        finally:
            if origin.idle:
                self._origins.pop(name, None)


class _Origin:
    """Index 0 of each pair is for callers that got answers, index 1 for unresponsive ones."""

    def __init__(self, *, most: int) -> None:
        self._most = most, (most + 1) // 2
        self._busy = [0, 0]
        self._queues: tuple[deque[asyncio.Future[None]], deque[asyncio.Future[None]]] = deque(), deque()

    @property
    def idle(self) -> bool:
        return not any(self._busy) and not any(self._queues)

    async def enter(self, unresponsive: bool) -> None:
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._queues[unresponsive]
        queue.append(slot)
        self._grant()
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():
                # The slot was given to this caller just before the cancellation.
                self.leave(unresponsive)
            elif slot in queue:
                queue.remove(slot)
            raise

    def leave(self, unresponsive: bool) -> None:
        self._busy[unresponsive] -= 1
        self._grant()

    def _grant(self) -> None:
        for unresponsive, queue in enumerate(self._queues):
            while (
                queue
                and sum(self._busy) < self._most[0]
                and self._busy[unresponsive] < self._most[unresponsive]
            ):
                slot = queue.popleft()
                if not slot.cancelled():
                    self._busy[unresponsive] += 1
                    slot.set_result(None)
