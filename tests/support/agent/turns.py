"""Whether work leaves the loop to others."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def with_turns(work: Awaitable[T]) -> tuple[T, int]:
    """What the work gives, and how many turns another task had meanwhile."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    try:
        return await work, turns
    finally:
        task.cancel()
