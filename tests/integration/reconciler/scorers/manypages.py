"""Many scoring APIs in a process of their own, so that they cost the caller nothing: `python manypages.py
GOOD HANGING`.

Prints their ports as one JSON array, those that hang spread evenly, and serves until its standard input ends.
"""

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BODY = b'{"name":"cpu"}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
    % (len(BODY), BODY)
)


@contextmanager
def many_pages(*, good: int, hanging: int) -> Iterator[tuple[list[str], set[str]]]:
    """URLs of all, and of those that take a request and never answer."""
    command = [sys.executable, __file__, str(good), str(hanging)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ports, silent = json.loads(process.stdout.readline())
        try:
            yield (
                [f"http://127.0.0.1:{port}" for port in ports],
                {f"http://127.0.0.1:{port}" for port in silent},
            )
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
    ports, silent = [], []
    every = max(1, (good + hanging) // hanging) if hanging else 0
    for number in range(good + hanging):
        hangs = bool(every) and number % every == 0 and len(silent) < hanging
        server = await asyncio.start_server(_silent if hangs else _good, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        if hangs:
            silent.append(ports[-1])
    sys.stdout.write(json.dumps([ports, silent]) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
