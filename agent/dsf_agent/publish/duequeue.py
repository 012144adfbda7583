"""A queue of items by the time at which they are due.

Each item has at most one due time. A new one replaces the old one. Among items that are due at the
same time, the one with the lowest rank comes first, and with equal ranks the one that was planned
first.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from dsf_runtime.clock import happens_within

T = TypeVar("T")

NOW: Final = 0.0
"""A due time that is always over."""


@dataclass(order=True, slots=True)
class _DueTime(Generic[T]):
    at: float
    rank: int
    number: int
    """Tells equal ones apart, so that items are never compared."""
    item: T = field(compare=False)


class DueQueue(Generic[T]):
    """Items with their due times, in Unix seconds of ``wall``.

    Items are distinguished by their identity.
    """

    def __init__(self, *, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._heap: list[_DueTime[T]] = []
        """The due times, including replaced ones. Those are dropped when they are reached."""
        self._current: dict[int, _DueTime[T]] = {}
        """The one due time of each item, by the item's id. It keeps the item alive."""
        self._numbers = itertools.count()
        self._earlier = asyncio.Event()
        """Set when the next due time may be earlier than the one that ``take`` waits for."""

    def __len__(self) -> int:
        """The number of due times that are kept, replaced ones included."""
        return len(self._heap)

    def plan(self, item: T, *, at: float, rank: int) -> None:
        """Sets when an item is due. ``NOW`` puts it before all that have a real time."""
        current = self._current.get(id(item))
        # A score is planned in every cycle, mostly for the same time. Without this the heap would
        # grow by each of them.
        if current is not None and current.at == at:
            return
        due = _DueTime(at=at, rank=rank, number=next(self._numbers), item=item)
        self._current[id(item)] = due
        heapq.heappush(self._heap, due)
        if self._heap[0] is due:
            self._earlier.set()

    def drop(self, item: T) -> None:
        """Takes an item out before it is due."""
        self._current.pop(id(item), None)

    def is_planned(self, item: T) -> bool:
        """Whether the item has a due time."""
        return id(item) in self._current

    def is_due(self, item: T) -> bool:
        """Whether the due time of the item is over."""
        due = self._current.get(id(item))
        return due is not None and due.at <= self._wall()

    async def take(self) -> T:
        """Waits until an item is due, and takes it out.

        It has no due time until it is planned again.
        """
        while True:
            self._drop_replaced()
            seconds: float | None = None
            if self._heap:
                seconds = self._heap[0].at - self._wall()
                if seconds <= 0:
                    due = heapq.heappop(self._heap)
                    del self._current[id(due.item)]
                    return due.item
            # A wait ends when something earlier is planned, and no task has to poll.
            self._earlier.clear()
            await happens_within(self._earlier, seconds=seconds)

    def _drop_replaced(self) -> None:
        while self._heap and self._current.get(id(self._heap[0].item)) is not self._heap[0]:
            heapq.heappop(self._heap)
