"""Tests written as coroutines: each runs in an event loop of its own, and waits for what has no event."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import ParamSpec

P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """A decorator; fixtures are handed on."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def for_a_while(seconds: float) -> None:
    """Gives the other tasks of the loop this time, in small steps: had the machine stood for all of one sleep, they would have had none."""
    for _ in range(20):
        await asyncio.sleep(seconds / 20)


async def until(look: Callable[[], object], *, seconds: float = 60) -> None:
    """Waits for `look` to be true; the limit is for machines that do much else, and no test rests on it. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not look():  # noqa: ASYNC110 - what is looked at has no event
            await asyncio.sleep(0.01)
