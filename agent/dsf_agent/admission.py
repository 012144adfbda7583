"""Who may talk at one time: a number of calls per origin (scheme, host and port).

Scorers whose last call gave no answer share half of the turns, so peers that hang leave the other half to
those that answer. Waiting here is never a failure of the scorer that waits, so it happens outside every
time-out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Admission:
    """Turns per origin. Within a group they are given in the order of the askers; those who got answers come
    first.
    """

    def __init__(self, *, per_origin: int) -> None:
        self._per_origin = per_origin
        self._origins: dict[str, _Origin] = {}

    @asynccontextmanager
    async def origin(self, name: str, *, doubtful: bool = False) -> AsyncIterator[None]:
        """A turn at this origin. ``doubtful``: the last call of this asker gave no answer."""
        origin = self._origins.setdefault(name, _Origin(most=self._per_origin))
        try:
            await origin.enter(doubtful)
            try:
                yield
            finally:
                origin.leave(doubtful)
        finally:
            if origin.idle:
                self._origins.pop(name, None)


class _Origin:
    """The index of a pair is whether it is about doubtful askers."""

    def __init__(self, *, most: int) -> None:
        self._most = most, (most + 1) // 2
        self._busy = [0, 0]
        self._lines: tuple[deque[asyncio.Future[None]], deque[asyncio.Future[None]]] = deque(), deque()

    @property
    def idle(self) -> bool:
        return not any(self._busy) and not any(self._lines)

    async def enter(self, doubtful: bool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines[doubtful]
        line.append(turn)
        self._call()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was granted at that very moment.
                self.leave(doubtful)
            elif turn in line:
                line.remove(turn)
            raise

    def leave(self, doubtful: bool) -> None:
        self._busy[doubtful] -= 1
        self._call()

    def _call(self) -> None:
        for doubtful, line in enumerate(self._lines):
            while line and sum(self._busy) < self._most[0] and self._busy[doubtful] < self._most[doubtful]:
                turn = line.popleft()
                if not turn.cancelled():
                    self._busy[doubtful] += 1
                    turn.set_result(None)
