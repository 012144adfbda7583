"""Honest servers that send chunks: no client refuses them, whatever the size of the chunks."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dsf_agent.endpoints.transport import Call, CallLimits, Transport
from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiServer
from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.page import FetchedPage
from tests.support.agent.certificates import Authority
from tests.support.agent.http import Handler, HttpFake, Stream, chunk

SIZES = [256 << doubled for doubled in range(0, 13, 2)]
"""From 256 bytes to 1 MB."""
POINTS = 60
PAUSE_TURNS = 40
"""Turns of the event loop in a pause. The client, in the same loop, reads all that was sent
meanwhile.
"""


def chunked(body: bytes, *, size: int, pauses: int = 0) -> Handler:
    async def pieces() -> AsyncIterator[bytes]:
        for number, at in enumerate(range(0, len(body), size)):
            yield chunk(body[at : at + size])
            if number < pauses:
                for _ in range(PAUSE_TURNS):
                    await asyncio.sleep(0)
        yield chunk(b"")

    return lambda _seen: Stream(pieces=pieces())


def _matrix(series: int) -> bytes:
    values = [[1_700_000_000 + 60 * point, f"{point}.25"] for point in range(POINTS)]
    rows = [{"metric": {"node": f"n{number}"}, "values": values} for number in range(series)]
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": rows}}
    ).encode()


def _results(count: int) -> bytes:
    rows = [
        {"metric": {"node": f"n{n % 100}", "pod": f"app-{n}"}, "score": n % 87}
        for n in range(count)
    ]
    return json.dumps({"results": rows}).encode()


MATRIX, RESULTS = _matrix(700), _results(3000)

Trust = ssl.SSLContext | None
Reader = Callable[[str, Trust], Awaitable[bytes]]


async def _agent(url: str, trust: Trust) -> bytes:
    transport = Transport(limits=CallLimits(total_seconds=30, answer_bytes=64 << 20))
    try:
        return bytes((await transport.call(Call(url=url, trust=trust))).body)
    finally:
        await transport.close()


async def _page(url: str, trust: Trust) -> bytes:
    """The client of ``sync`` and of the probes. A /config page is smaller than these answers."""
    async with Fetcher(limits=FetchLimits(answer_bytes=16 << 20), trust=trust) as fetcher:
        found = await fetcher.get(f"{url}/config")
    assert isinstance(found, FetchedPage), found
    return found.body


def _access(url: str, trust: Trust) -> Access:
    return Access(host=url, trust=trust or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


async def _hub(url: str, trust: Trust) -> bytes:
    async with ApiServer(
        load=lambda: _access(url, trust), user_agent="test", timeout_seconds=60
    ) as hub:
        return await hub.get("/api")


READERS: dict[str, Reader] = {
    "agent": _agent,
    "config and healthz": _page,
    "API server": _hub,
}


@pytest.mark.parametrize("name", READERS)
async def test_no_chunked_answer_is_refused(name: str, tmp_path: Path) -> None:
    authority = Authority()
    trust, tls = ssl.create_default_context(cadata=authority.pem), authority.server(tmp_path)
    for size in SIZES:
        for pauses, over in ((0, None), (7, None), (3, tls)):
            async with HttpFake(chunked(RESULTS, size=size, pauses=pauses), tls=over) as server:
                assert await READERS[name](server.url, over and trust) == RESULTS, (size, pauses)


async def test_a_metric_store_may_send_chunks() -> None:
    for size in SIZES:
        async with (
            HttpFake(chunked(MATRIX, size=size, pauses=3)) as server,
            OpenStore(server.url) as store,
        ):
            pages = [page async for page in store.pages("up", start=0, step=60, count=POINTS)]
        assert [page.answer.samples for page in pages] == [700 * POINTS], size


@pytest.mark.parametrize("name", READERS)
async def test_each_result_may_be_a_chunk(name: str) -> None:
    row = b'{"metric":{"node":"n1"},"score":5},'
    async with HttpFake(chunked(row * 10_000, size=len(row))) as server:
        assert await READERS[name](server.url, None) == row * 10_000
