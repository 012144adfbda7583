"""Helpers that wait for conditions without an event."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Final

MAX_STEP_SECONDS: Final = 0.1


async def until(condition: Callable[[], object], *, what: str = "", seconds: float = 120) -> None:
    """Waits until the condition is true; awaits it if it is a coroutine.

    Raises AssertionError with `what` after the given seconds. The limit is a safety net for a test
    that hangs; no test depends on it.
    """
    loop = asyncio.get_running_loop()
    end, step = loop.time() + seconds, 0.01
    while True:
        answer = condition()
        if isawaitable(answer):
            answer = await answer
        if answer:
            return
        assert loop.time() < end, f"not within {seconds:g} s: {what or 'the condition of the test'}"
        await asyncio.sleep(step)
        step = min(step * 1.1, MAX_STEP_SECONDS)


async def for_a_while(seconds: float) -> None:
    """Lets other tasks run for this time in small steps, even if a step ends late."""
    for _ in range(20):
        await asyncio.sleep(seconds / 20)
