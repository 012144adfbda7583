"""Waiting for an event, but not for ever."""

import asyncio


async def until(event: asyncio.Event, *, seconds: float) -> bool:
    """Whether the event came within this time.

    Not ``asyncio.wait_for``: before Python 3.12 it swallows a cancellation that meets the event, so that a publisher whose entry was
    edited at that moment would go on writing the scores of the old entry, and a process that is asked to end would not.
    """
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
