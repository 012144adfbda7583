"""The server of both programs' pages, and peers that misbehave."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from dsf_runtime.pages import Page, PageServer
from tests.support.waiting import until

SIZE = 8 << 20


async def test_a_peer_that_reads_nothing_is_dropped() -> None:
    """With the bytes that were written for it. Other peers are served meanwhile."""

    async def large(_accept: str) -> Page:
        return Page(parts=[b"x" * SIZE])

    server = PageServer(host="127.0.0.1", port=0, metrics=large, ready=Page)
    await server.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"Content-Length: {SIZE}".encode() in head
        other, speaker = await asyncio.open_connection("127.0.0.1", server.port)
        speaker.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await other.read()).endswith(b"ok\n")
        speaker.close()
        await until(lambda: not server.connections)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(SIZE)
        writer.close()
    finally:
        await server.close()


SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
COST_SECONDS = 0.005
"""Of the processor, for one scrape. That of an agent with 50,000 series takes longer."""


SERVER = f"""
import asyncio, time
from dsf_runtime.pages import Page, PageServer

async def scrape(_accept):
    end = time.thread_time() + {COST_SECONDS}
    while time.thread_time() < end:
        pass
    return Page(parts=[b"x" * 4096] * 4)

async def main():
    server = PageServer(host="127.0.0.1", port=0, metrics=scrape, ready=Page)
    await server.start()
    print(server.port, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """That of a server in a process of its own, as in both programs."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def flood(port: int, *, pipelined: int) -> None:
    """A connection that never stops to scrape, and that is opened again when it is closed."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer), suppress(OSError):
            writer.write(SCRAPE * pipelined)
            while content := await reader.read(1 << 16):
                writer.write(SCRAPE * content.count(b"HTTP/1.1"))
                await asyncio.sleep(0.01)  # leave the processor to the server


async def probe(port: int) -> bytes:
    """As the kubelet: a connection for each, and a second for the answer."""
    async with asyncio.timeout(1):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return await reader.read()


@pytest.mark.real_time
@pytest.mark.parametrize(("connections", "pipelined"), [(90, 200), (90, 1), (3, 1)])
async def test_scrapes_starve_no_probe(connections: int, pipelined: int, port: int) -> None:
    scrapes = [asyncio.create_task(flood(port, pipelined=pipelined)) for _ in range(connections)]
    await asyncio.sleep(0.1)
    answers = [await probe(port) for _ in range(20)]
    for task in scrapes:
        task.cancel()
    assert {type(end) for end in await asyncio.gather(*scrapes, return_exceptions=True)} == {
        asyncio.CancelledError
    }
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers), answers
