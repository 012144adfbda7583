"""An honest server that sends every answer in chunks."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from tests.support.agent.http import Handler, Stream, chunk

PAUSE_TURNS: Final = 40
"""Turns of the event loop in a pause. The client, in the same loop, reads all that was sent meanwhile."""


def chunked(body: bytes, *, size: int, pauses: int = 0) -> Handler:
    """For HttpFake: answers this body. With ``pauses`` it waits after each of the first chunks."""

    async def pieces() -> AsyncIterator[bytes]:
        for number, at in enumerate(range(0, len(body), size)):
            yield chunk(body[at : at + size])
            if number < pauses:
                for _ in range(PAUSE_TURNS):
                    await asyncio.sleep(0)
        yield chunk(b"")

    return lambda _seen: Stream(pieces=pieces())
