"""Paged lists, whose pages of large objects have fewer, and watches with many events."""

import asyncio
import gc
import json
import threading
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from dsf_runtime import paging as pages_of_lists
from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiServer
from dsf_runtime.blocking import BlockingApiServer
from tests.support.agent.http import HttpFake, PeerFault, RecordedRequest, SentReply
from tests.support.withouttls import PLAIN

PAGE = 500
FULL_READ_BYTES = 32 << 10

PATH = "/apis/example.com/v1/things"
SMALL = 1 << 18
"""Bytes of a page, where a test needs many pages."""


FORMS = (
    b'{"items":[%(items)b],"kind":"ThingList","metadata":{%(metadata)b}}',
    b'{"kind":"ThingList","metadata":{%(metadata)b},"items":[%(items)b]}\n',
    b'{"items" : [%(items)b], "metadata" : {%(metadata)b, "selfLink": "]"}}',
)
"""Of custom resources, of typed lists, and of a server that writes for people."""


class Things:
    """A collection with objects of the given sizes.

    The API server limits its pages by number of objects. They have all FORMS in turn.
    """

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.limits: list[int] = []

    def __call__(self, seen: RecordedRequest) -> SentReply:
        limit, start = int(seen.query["limit"]), int(seen.query.get("continue", "0"))
        self.limits.append(limit)
        end = min(start + limit, len(self.sizes))
        items = [
            b'{"metadata":{"name":"t%d"},"text":"%b"}' % (number, b"x" * self.sizes[number])
            for number in range(start, end)
        ]
        more = b',"continue":"%d"' % end if end < len(self.sizes) else b""
        metadata = b'"resourceVersion":"7"%b' % more
        form = FORMS[len(self.limits) % len(FORMS)]
        return SentReply(body=form % {b"items": b",".join(items), b"metadata": metadata})


class Meta(msgspec.Struct):
    name: str = ""
    more: str = msgspec.field(default="", name="continue")


class Thing(msgspec.Struct):
    metadata: Meta


class Some(msgspec.Struct):
    metadata: Meta
    items: list[Thing]


def names(page: bytes) -> list[str]:
    return [item.metadata.name for item in msgspec.json.decode(page, type=Some).items]


def read_by_people(url: str) -> list[str]:
    found = list[str]()
    with people(url) as server:
        for page in server.pages(PATH):
            found += names(page)
    return found


async def listed(url: str) -> tuple[list[str], str]:
    found = list[str]()
    access = Access(host=url, trust=PLAIN)
    async with ApiServer(load=lambda: access, user_agent="test", timeout_seconds=20) as server:
        version = await server.list(
            PATH, lambda raw: found.append(msgspec.json.decode(raw, type=Thing).metadata.name)
        )
    return found, version


@pytest.mark.parametrize(
    ("sizes", "most_requests"),
    [
        ([], 1),
        ([100] * (PAGE + 1), 2),
        ([SMALL // 4] * 16, 9),
        ([100] * 300 + [SMALL] * 4 + [100] * 300, 30),
        ([4 * SMALL + 1, 10, 4 * SMALL + 1], 12),
    ],
)
async def test_every_object_is_listed_once_whatever_its_size(
    sizes: list[int], most_requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_of_lists, "PAGE_BYTES", SMALL)
    monkeypatch.setattr(pages_of_lists, "MAX_PAGE_BYTES", 4 * SMALL)
    things = Things(sizes)
    async with HttpFake(things) as server:
        assert await listed(server.url) == ([f"t{number}" for number in range(len(sizes))], "7")
        limits, things.limits = things.limits, []
        assert await asyncio.to_thread(read_by_people, server.url) == [
            f"t{number}" for number in range(len(sizes))
        ]
    assert things.limits == limits
    assert len(limits) <= most_requests


def people(url: str) -> BlockingApiServer:
    access = Access(host=url, trust=PLAIN)
    return BlockingApiServer(load=lambda: access, user_agent="test", timeout_seconds=20)


async def test_the_next_page_is_requested_while_the_caller_works_on_this_one() -> None:
    things, asked = Things([1] * (PAGE + 1)), threading.Event()

    def answer(seen: RecordedRequest) -> SentReply:
        if "continue" in seen.query:
            asked.set()
        return things(seen)

    def read() -> list[str]:
        with people(server.url) as hub:
            pages = hub.pages(PATH)
            found = names(next(pages))
            assert asked.wait(20), "nobody has asked the iterator for it"
            return found + names(next(pages))

    async with HttpFake(answer) as server:
        assert len(await asyncio.to_thread(read)) == PAGE + 1
    assert len(things.limits) == 2
    assert server.connections == 1


async def test_a_page_that_nobody_reads_is_not_the_answer_to_something_else() -> None:
    things = Things([1] * (PAGE + 1))
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # what earlier tests left is not of this one

    def read() -> tuple[list[str], bytes, list[str]]:
        with people(server.url) as hub:
            abandoned = names(next(hub.pages(PATH)))
            return abandoned, hub.get("/version"), names(next(hub.pages(PATH)))

    def answer(seen: RecordedRequest) -> SentReply:
        return SentReply(body=b"v1") if seen.path == "/version" else things(seen)

    async with HttpFake(answer) as server:
        before, version, after = await asyncio.to_thread(read)
    assert version == b"v1"
    assert before == after
    gc.collect()  # a connection that was left open is a warning now, which is an error


async def test_a_page_is_requested_again_when_the_server_closed_the_connection() -> None:
    things, broken = Things([1] * (PAGE + 1)), list[RecordedRequest]()

    def answer(seen: RecordedRequest) -> SentReply | PeerFault:
        if "continue" in seen.query and not broken:
            broken.append(seen)
            return PeerFault()
        return things(seen)

    async with HttpFake(answer) as server:
        assert len(await asyncio.to_thread(read_by_people, server.url)) == PAGE + 1
    assert broken
    assert server.connections >= 2


GATHER = 0.2


def event(number: int, *, size: int) -> bytes:
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
        host=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
        trust=PLAIN,
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
    """100 events in two seconds are handed over at about twenty moments, none much later than it
    came.
    """
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
