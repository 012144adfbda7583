"""How many bytes of large answers are held at one time, over all scorers: what bounds the agent's memory.

A cycle holds its series until they are scored, so a scoring API that hangs holds them, too. Waiting here is
never a failure of the scorer that waits, so it happens outside every time-out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

FREE_BYTES: Final = 1 << 20
"""Answers that are smaller than this never queue and are not counted: hundreds of them fit beside a large
one.
"""


class Budget:
    """Room for large answers, given away in the order of the askers."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._line: deque[asyncio.Event] = deque()

    @asynccontextmanager
    async def room(self, expected: int | None) -> "AsyncIterator[Share]":
        """Room for about this many bytes; more than the whole budget waits until it is alone.

        None is for a first answer, whose size nobody knows: it waits only while the budget is used up, and
        for nobody in line.
        """
        share = Share(self)
        if expected is None:
            await self._turn(lambda: self._used < self._limit, newcomer=True)
        elif expected > FREE_BYTES:
            await self._turn(lambda: self._used == 0 or self._used + expected <= self._limit)
            share.holds(expected)
        try:
            yield share
        finally:
            share.holds(0)

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
        self._used += change
        if change < 0:
            self._call()

    def _call(self) -> None:
        for called in self._line:
            called.set()


class Share:
    """What one cycle holds of the budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held = 0

    def holds(self, size: int) -> None:
        """The answers turned out to have this size. Never waits: the bytes are there already."""
        counted = size if size > FREE_BYTES else 0
        change, self._held = counted - self._held, counted
        self._budget.charge(change)
