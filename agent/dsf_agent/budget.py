"""How many bytes of large answers are held at one time, over all scorers: what bounds the agent's memory.

A cycle holds its series until they are scored, so a scoring API that hangs holds them, too. Bytes count as
they arrive. Nobody waits while it holds something, so nobody waits for ever: a cycle whose answer finds no
room beside the others lets go of all it has, and starts again once there is room for more. That is never a
failure of the scorer, so it happens outside every time-out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from dsf_agent.errors import CallError
from dsf_agent.reasons import Reason

FREE_BYTES: Final = 1 << 20
"""Answers that are smaller than this never queue and are not counted: hundreds of them fit beside a large
one.
"""
GROWTH: Final = 2
"""How much more room than it had a cycle asks for when it starts again."""


class NoRoomError(Exception):
    """An answer found no room beside those of others. ``wanted`` bytes are what to ask for next."""

    def __init__(self, wanted: int) -> None:
        super().__init__(f"no room beside other answers; {wanted} bytes are wanted")
        self.wanted = wanted


class Budget:
    """Room for large answers, given away in the order of the askers."""

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._line: deque[asyncio.Event] = deque()

    def share(self) -> "Share":
        """The share of one scorer, which holds nothing yet."""
        return Share(self)

    @asynccontextmanager
    async def room(self, expected: int | None) -> "AsyncIterator[Share]":
        """A new share with room for about this many bytes; see Share.room."""
        share = self.share()
        async with share.room(expected):
            yield share

    async def wait(self, expected: int | None) -> None:
        """Until there is room for about so many bytes."""
        if expected is None:
            await self._turn(lambda: self.used < self.limit, newcomer=True)
        elif expected > FREE_BYTES:
            await self._turn(lambda: self.used == 0 or self.used + expected <= self.limit)

    async def _turn(self, fits: Callable[[], bool], *, newcomer: bool = False) -> None:
        if fits() and (newcomer or not self._line):
            return
        called = asyncio.Event()
        self._line.append(called)
        try:
            while not (fits() and (newcomer or self._line[0] is called)):
                called.clear()
                await called.wait()
        finally:
            self._line.remove(called)
            self._call()

    def charge(self, change: int) -> None:
        """Counts bytes that are held from now on, or are no longer where the change is negative."""
        self.used += change
        if change < 0:
            self._call()

    def _call(self) -> None:
        for called in self._line:
            called.set()


class Share:
    """What one scorer holds of the budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size = 0
        """Bytes that are there."""
        self._counted = 0
        """Bytes that count: those that are there, or that were expected, without those that are free."""

    @asynccontextmanager
    async def room(self, expected: int | None) -> AsyncIterator[None]:
        """Room for about this many bytes until the end; more than the whole budget waits until it is alone.

        None is for a first answer, whose size nobody knows: it waits only while the budget is used up, and
        for nobody in line.
        """
        await self._budget.wait(expected)
        self._count(min(expected or 0, self._budget.limit))
        try:
            yield
        finally:
            self._size = 0
            self._count(0)

    def arrives(self, size: int) -> None:
        """So many bytes more are about to be kept. Never waits. Raises NoRoomError when they do not fit
        beside what others hold, CallError when they would not fit alone.
        """
        self._size += size
        counted = _counted(self._size)
        if counted <= self._counted:
            return
        others = self._budget.used - self._counted
        if counted > self._budget.limit:
            msg = (
                f"the answers of one cycle have more than {self._budget.limit} bytes together"
                " (--max-bytes-in-flight)"
            )
            raise CallError(msg, reason=Reason.TOO_LARGE)
        if others + counted > self._budget.limit:
            raise NoRoomError(GROWTH * self._size)
        self._count(counted)

    def holds(self, size: int) -> None:
        """The answers turned out to have this size; what was expected beyond stays counted. Never waits."""
        self._size = size
        self._count(max(self._counted, size))

    def _count(self, size: int) -> None:
        counted = _counted(size)
        change, self._counted = counted - self._counted, counted
        self._budget.charge(change)


def _counted(size: int) -> int:
    return size if size > FREE_BYTES else 0
