"""The server of both programs' pages, and peers that misbehave."""

import asyncio

import pytest

from dsf_runtime.pages import Page, PageRequest, PageServer, Probes
from tests.support.waiting import until

SIZE = 8 << 20


async def test_a_peer_that_reads_nothing_is_dropped() -> None:
    """With the bytes that were written for it. Other peers are served meanwhile."""

    async def large(_request: PageRequest) -> Page:
        return Page(parts=[b"x" * SIZE])

    server = PageServer(
        host="127.0.0.1", port=0, handler=Probes(metrics=large, ready=Page), write_seconds=0.5
    )
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
