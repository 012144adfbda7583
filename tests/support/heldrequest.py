"""A request that is held on its way to the tests' API server: its sender is frozen, or dies."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class HeldRequest:
    """Holds one request until it is released, and lets all others through: `ApiServer.arrives`."""

    def __init__(self, number: int, *, besides: tuple[str, ...] = ()) -> None:
        """Holds the request of this number, from 1.

        Those that begin with one of `besides` do not count, as `GET` or `POST events`.
        """
        self._number = number
        self._besides = besides
        self.arrived = 0
        """How many requests have arrived that count, with the one that is held."""
        self.held = asyncio.Event()
        """Set when the request has arrived."""
        self.release = asyncio.Event()
        """Set by the test. If it is set from the beginning, the request takes effect at once."""

    async def __call__(self, word: str) -> None:
        """Called with `METHOD plural`."""
        if word.startswith(self._besides) or self.held.is_set():
            return
        self.arrived += 1
        if self.arrived == self._number:
            self.held.set()
            await self.release.wait()

    async def interrupts(self, story: Coroutine[Any, Any, object]) -> bool:
        """Runs a story until the request is held, or to its end. Returns whether it is held."""
        done = asyncio.create_task(story)
        held = asyncio.create_task(self.held.wait())
        await asyncio.wait({done, held}, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        held.cancel()
        return self.held.is_set()
