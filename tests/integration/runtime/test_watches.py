"""Watches with many events: they are read together, and neither lost nor held up."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dsf_runtime.access import Access
from dsf_runtime.apiserver import FULL_READ_BYTES, ApiServer

PATH = "/apis/example.com/v1/things"
GATHER = 0.2


def event(number: int, *, size: int = 0) -> bytes:
    sent = asyncio.get_running_loop().time()
    item = {"metadata": {"name": f"t{number}"}, "sent": sent, "text": "x" * size}
    line = json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n"
    return b"%x\r\n%b\r\n" % (len(line), line)


@asynccontextmanager
async def watched(*, events: int, every: float, size: int = 0) -> AsyncIterator[ApiServer]:
    """A client of a watch with an event every so many seconds (0: without pause) and an end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(events):
            writer.write(event(number, size=size))
            await writer.drain()
            if every:
                await asyncio.sleep(every)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    access = Access(
        host=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", trust=ssl.create_default_context()
    )
    async with ApiServer(load=lambda: access, user_agent="test", timeout_seconds=15) as api:
        yield api
    server.close()


async def received(api: ApiServer, *, gather: float) -> list[tuple[float, float, str]]:
    found, loop = list[tuple[float, float, str]](), asyncio.get_running_loop()
    async for one in api.watch(PATH, resource_version="1", gather_seconds=gather):
        plain = json.loads(bytes(one.object))
        found.append((plain["sent"], loop.time(), plain["metadata"]["name"]))
    return found


async def test_events_are_read_together() -> None:
    """100 events in two seconds are handed over at about twenty moments, none much later than it came."""
    async with watched(events=100, every=0.02) as api:
        found = await received(api, gather=GATHER)
    assert [name for _, _, name in found] == [f"t{number}" for number in range(100)]
    assert 5 <= len({round(at, 3) for _, at, _ in found}) <= 25
    assert max(at - sent for sent, at, _ in found) < GATHER + 0.1


async def test_without_gathering_each_event_is_handed_over_at_once() -> None:
    async with watched(events=20, every=0.02) as api:
        found = await received(api, gather=0.0)
    assert len({round(at, 3) for _, at, _ in found}) == 20


@pytest.mark.parametrize("size", [100, 20_000])
async def test_a_storm_of_events_is_read_without_pauses(size: int) -> None:
    events = 4_000 if size < 1_000 else 400
    async with watched(events=events, every=0.0, size=size) as api:
        began = asyncio.get_running_loop().time()
        found = await received(api, gather=GATHER)
        took = asyncio.get_running_loop().time() - began
    assert [name for _, _, name in found] == [f"t{number}" for number in range(events)]
    reads = events * size / FULL_READ_BYTES
    assert took < reads * GATHER / 5 or took <= 3 * GATHER
