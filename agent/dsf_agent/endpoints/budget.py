"""Limits the bytes of large answers in memory, over all scorers.

A cycle keeps its series until they are scored, also while a scoring API hangs. Bytes count as they
arrive.

No deadlock is possible, because no cycle waits while it has a reservation: one whose answer does
not fit drops everything, and starts again when there is room for more. This is not a failure of the
scorer, so it does not count towards a time-out.

Not limited: answers of up to 1 MB, of which each scorer may have one, and the values that a cycle
computes from its answer.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from dsf_agent.errors import AgentError
from dsf_wire.scored import Reason

T = TypeVar("T")

FREE_BYTES: Final = 1 << 20
"""Answers up to this size are not counted and never wait."""
GROWTH: Final = 2
"""A cycle that starts again asks for this many times the bytes it had."""


class BudgetFullError(Exception):
    """An answer does not fit beside the others.

    ``wanted`` is the number of bytes to ask for next.
    """

    def __init__(self, wanted: int) -> None:
        super().__init__(
            f"the memory budget is used up by other answers; {wanted} bytes are needed"
        )
        self.wanted = wanted


class Budget:
    """Memory for large answers, given to waiting cycles in their order."""

    def __init__(self, *, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.kept: weakref.WeakKeyDictionary[Reservation, int] = weakref.WeakKeyDictionary()
        """Bytes of the texts that scorers keep until their next cycle, without those that keep few.
        """
        self._turn = asyncio.Lock()
        """The turn of those that wait for a known number of bytes: the first one holds it."""
        self.released = asyncio.Event()

    def reservation(self) -> "Reservation":
        """An empty reservation for one scorer."""
        return Reservation(self)

    async def wait(self, expected: int | None) -> None:
        """Waits until there is room for about this many bytes."""
        if expected is None:
            # The first answer of a scorer may have any size, so it waits for no certain room.
            await self._wait_until(lambda: self.used < self.limit)
        elif expected > FREE_BYTES:
            # One at a time, in their order, or small answers would overtake a large one for ever.
            async with self._turn:
                await self._wait_until(lambda: self.used == 0 or self.used + expected <= self.limit)

    async def _wait_until(self, fits: Callable[[], bool]) -> None:
        while not fits():
            # Nothing else runs between the look and this wait, so no release is missed.
            self.released.clear()
            await self.released.wait()


class Reservation:
    """The part of the budget that one scorer uses."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size = 0
        """Bytes in memory."""
        self._needed: int | None = None
        """Bytes that the last cycle needed; None before the first one."""
        self._counted = 0
        """Bytes that count against the budget.

        Those in memory or the expected ones, unless they are few.
        """

    @asynccontextmanager
    async def room(self, expected: int | None) -> AsyncIterator[None]:
        """Reserves about this many bytes until the end of the block.

        More than the whole budget waits until nothing else is reserved. None, for a first answer,
        waits only while the budget is used up.
        """
        await self._budget.wait(expected)
        self._count(min(expected or 0, self._budget.limit))
        try:
            yield
        finally:
            self._size = 0
            self._count(0)

    async def within(self, work: Callable[[], Awaitable[T]]) -> T:
        """Runs a cycle with room as the last one needed.

        If that is too little, it starts again with more.
        """
        expected = self._needed
        while True:
            try:
                async with self.room(expected):
                    return await work()
            except BudgetFullError as error:
                expected = error.wanted

    def add(self, size: int) -> None:
        """Counts bytes. Raises BudgetFullError if they do not fit, AgentError if not even alone."""
        self._size += size
        counted = _counted(self._size)
        if counted <= self._counted:
            return
        others = self._budget.used - self._counted
        # To wait would not help: it does not fit into an empty budget, either.
        if counted > self._budget.limit:
            raise AgentError(
                f"the answers of one cycle have more than {self._budget.limit} bytes together"
                " (--max-bytes-in-flight)",
                reason=Reason.TOO_LARGE,
            )
        if others + counted > self._budget.limit:
            raise BudgetFullError(GROWTH * self._size)
        self._count(counted)

    def set_size(self, size: int) -> None:
        """Sets the size of the answers in memory.

        Bytes that were expected beyond it stay counted.
        """
        self._size = self._needed = size
        self._count(max(self._counted, size))

    def keep(self, size: int) -> None:
        """Counts the kept texts, half of the budget for all scorers that keep much.

        Raises AgentError.
        """
        kept = self._budget.kept
        # Half of it: otherwise what is kept could leave no room for any answer.
        max_bytes = self._budget.limit // 2
        kept.pop(self, None)
        if _counted(size) and sum(kept.values()) + size > max_bytes:
            raise AgentError(
                f"the labels of the results of all scorers have more than {max_bytes} bytes"
                " together (half of --max-bytes-in-flight)",
                reason=Reason.TOO_LARGE,
            )
        if _counted(size):
            kept[self] = size

    def _count(self, size: int) -> None:
        counted = _counted(size)
        change = counted - self._counted
        self._counted = counted
        self._budget.used += change
        if change < 0:
            self._budget.released.set()


def _counted(size: int) -> int:
    """The bytes that count.

    Small answers are free, so that large ones never stop the many small scorers.
    """
    return size if size > FREE_BYTES else 0
