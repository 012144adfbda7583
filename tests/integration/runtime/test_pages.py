"""The server of both programs' pages, and peers that misbehave."""

import asyncio
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
MAX_SCRAPES = 10
"""While a probe is answered, which takes a few turns of the event loop."""


async def flood(port: int, *, pipelined: int) -> None:
    """A connection that never stops to scrape, and that is opened again when it is closed."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer), suppress(OSError):
            writer.write(SCRAPE * pipelined)
            while content := await reader.read(1 << 16):
                writer.write(SCRAPE * content.count(b"HTTP/1.1"))


async def probe(port: int) -> bytes:
    """As the kubelet: a connection for each."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await reader.read()


@pytest.mark.parametrize(("connections", "pipelined"), [(90, 200), (90, 1), (3, 1)])
async def test_scrapes_starve_no_probe(connections: int, pipelined: int) -> None:
    """A scrape of an agent with 50,000 series takes milliseconds of the processor.

    The kubelet waits for a second. So it is counted how many scrapes come before a probe.
    """
    served, under_way = 0, asyncio.Event()

    async def scrape(_accept: str) -> Page:
        nonlocal served
        served += 1
        if served > connections:
            under_way.set()
        return Page(parts=[b"x" * 4096] * 4)

    server = PageServer(host="127.0.0.1", port=0, metrics=scrape, ready=Page)
    await server.start()
    port = server.port
    scrapes = [asyncio.create_task(flood(port, pipelined=pipelined)) for _ in range(connections)]
    # Not by `until`: the loop never rests, so virtual time stands still.
    await under_way.wait()
    before_probes = list[int]()
    for _ in range(20):
        before = served
        assert (await probe(port)).startswith(b"HTTP/1.1 200")
        before_probes.append(served - before)
    for task in scrapes:
        task.cancel()
    ends = await asyncio.gather(*scrapes, return_exceptions=True)
    await server.close()
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert 0 < max(before_probes) <= MAX_SCRAPES, before_probes
