"""Limits the work per turn of the event loop for code that reads bytes of peers.

The peer decides how much work its bytes need: a kilobyte may contain 40 interim responses or 200 chunks. Code
that works on such bytes first asks for a turn and says what the work will cost. Each turn of the loop allows
a fixed amount of work for all peers together, so time-outs fire and other tasks run in between.
"""

import asyncio
from collections import deque
from typing import Final

UNITS: Final = 256
"""Cost that one turn of the loop allows. A line of HTTP framing costs one unit, about 15 microseconds."""


class Turns:
    """Gives turns in the order of the requests."""

    def __init__(self) -> None:
        self._line: deque[tuple[asyncio.Future[None], int]] = deque()
        self._opening = False

    async def take(self, cost: int) -> None:
        """Waits for a turn of the loop with room for this cost. A higher cost than UNITS gets a turn
        alone.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append((turn, cost))
        if not self._opening:
            self._opening = True
            loop.call_soon(self._open)
        await turn

    def _open(self) -> None:
        spent = 0
        while self._line and (not spent or spent + self._line[0][1] <= UNITS):
            turn, cost = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                spent += max(cost, 1)
        if self._line:
            asyncio.get_running_loop().call_soon(self._open)
        else:
            self._opening = False
