"""Many scoring APIs of which some hang: in the loop of a test, or in a process of their own, where they cost
the caller nothing.

`python manypages.py GOOD HANGING` prints the URLs of all and of those that hang as JSON, and serves until its
standard input ends.
"""

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

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


@contextmanager
def many_pages(*, good: int, hanging: int) -> Iterator[tuple[list[str], set[str]]]:
    """The same from a process of their own."""
    command = [sys.executable, __file__, str(good), str(hanging)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        urls, silent = json.loads(process.stdout.readline())
        try:
            yield urls, set(silent)
        finally:
            process.stdin.close()


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


async def _serve(good: int, hanging: int) -> None:
    async with serving(good=good, hanging=hanging) as (urls, silent):
        sys.stdout.write(json.dumps([urls, sorted(silent)]) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
