"""Waiting for what has no event of its own."""

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Final

LONGEST_STEP: Final = 0.1


async def until(condition: Callable[[], object], *, what: str = "", seconds: float = 60) -> None:
    """Asks until the answer is true, and awaits answers that are coroutines. AssertionError with `what` after
    so many seconds.

    The limit is a safety net for a test that hangs; no test rests on it.
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
        step = min(step * 1.1, LONGEST_STEP)


async def for_a_while(seconds: float) -> None:
    """Lets the other tasks of the loop work for this long, in small steps: each of them gets a turn, however
    late one step ends.
    """
    for _ in range(20):
        await asyncio.sleep(seconds / 20)
