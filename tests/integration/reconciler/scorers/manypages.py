"""Many scoring APIs of which some hang."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

BODY = b'{"name":"cpu"}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
    % (len(BODY), BODY)
)


@asynccontextmanager
async def serving(*, good: int, hanging: int) -> AsyncIterator[tuple[list[str], set[str]]]:
    """URLs of all, and of those that take a request and never answer, which are spread evenly."""
    every, servers = (good + hanging) // max(1, hanging), list[asyncio.Server]()
    urls, silent = list[str](), set[str]()
    try:
        for number in range(good + hanging):
            hangs = number % every == 0 and len(silent) < hanging
            servers.append(await asyncio.start_server(_silent if hangs else _good, "127.0.0.1", 0))
            urls.append(f"http://127.0.0.1:{servers[-1].sockets[0].getsockname()[1]}")
            if hangs:
                silent.add(urls[-1])
        yield urls, silent
    finally:
        for server in servers:
            server.close()


async def _good(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
    writer.close()


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await reader.read(-1)
    writer.close()
