"""Informer, API client and lease against an HTTP server that behaves as an API server does, on its bad days,
too.
"""

import asyncio
import json
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from dsf_runtime.access import Access
from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import STALE_SECONDS, Informer
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.lease import LEASE, Leadership, LeaseLost
from tests.support import virtual_time
from tests.support.waiting import until

PATH = "/apis/example.com/v1/things"


class FakeHub:
    """Things in pages of two, watches that end as a test says, and Leases with optimistic locking."""

    def __init__(self) -> None:
        self.things: dict[str, int] = {}
        self.version = 10
        self.asked: Counter[str] = Counter()
        self.watches: list[list[dict[str, Any] | None]] = []
        """Events of the next watches; None breaks the connection in the middle of a line."""
        self.refusals: list[int] = []
        """Statuses of the next watches."""
        self.unreadable: dict[str, Any] = {}
        """Things with these values, whatever `things` says."""
        self.page = b""
        """Instead of every list: what somebody between us and the hub says."""
        self.lease: dict[str, Any] | None = None
        self.away = False
        self.token = ""
        self.writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for writer in self.writers:
            writer.close()

    def api(self, load: Callable[[], str] = lambda: "any") -> HubApi:
        def access() -> Access:
            return Access(
                host=self.url,
                trust=ssl.create_default_context(),
                authorization=f"Bearer {load()}",
                proxy=None,
            )

        return HubApi(load=access, timeout_seconds=20)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split("\r\n")[0].split(" ")
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            if self.away:
                writer.close()
                return
            if self.token and fields.get("authorization") != f"bearer {self.token}":
                self._say(writer, 401, {"message": "Unauthorized"})
            else:
                await self._route(writer, method, target, body)
            await writer.drain()
            writer.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _route(self, writer: asyncio.StreamWriter, method: str, target: str, body: bytes) -> None:
        parts = urlsplit(target)
        query = {key: value[0] for key, value in parse_qs(parts.query).items()}
        if "leases" in parts.path:
            self._leases(writer, method, body)
        elif "watch" in query:
            self.asked["watch"] += 1
            if self.refusals:
                self._say(writer, self.refusals.pop(0), {"message": "not now"})
            else:
                await self._watch(writer)
        elif self.page:
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.page)}\r\n\r\n".encode() + self.page)
        else:
            self.asked["list"] += 1
            start = int(query.get("continue", "0"))
            names = sorted(self.things)
            items = [self.thing(name) for name in names[start : start + 2]]
            more = {"continue": str(start + 2)} if start + 2 < len(names) else {}
            self._say(
                writer, 200, {"metadata": {"resourceVersion": str(self.version), **more}, "items": items}
            )

    async def _watch(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        events = self.watches.pop(0) if self.watches else [{"hang": True}]
        for event in events:
            if event is None:
                writer.write(b'5\r\n{"typ\r\n')
                await writer.drain()
                return
            if "hang" in event:
                await writer.drain()
                await asyncio.sleep(30)
                return
            line = json.dumps(event, ensure_ascii=False).encode() + b"\n"
            for piece in (line[:7], line[7:]):
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        writer.write(b"0\r\n\r\n")

    def _leases(self, writer: asyncio.StreamWriter, method: str, body: bytes) -> None:
        self.asked[f"lease {method}"] += 1
        sent = json.loads(body) if body else {}
        if method == "GET":
            self._say(writer, 200 if self.lease else 404, self.lease or {"message": "not found"})
        elif method == "POST" and self.lease is not None:
            self._say(writer, 409, {"message": "exists"})
        elif (
            method == "PUT"
            and sent["metadata"]["resourceVersion"] != (self.lease or {})["metadata"]["resourceVersion"]
        ):
            self._say(writer, 409, {"message": "changed"})
        else:
            self.version += 1
            self.lease = {**sent, "metadata": {"name": LEASE, "resourceVersion": str(self.version)}}
            self._say(writer, 200, self.lease)

    def thing(self, name: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name, "resourceVersion": str(self.version)},
            "value": self.unreadable.get(name, self.things[name]),
        }

    @staticmethod
    def _say(writer: asyncio.StreamWriter, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        date = f"Date: {formatdate(time.time() + 600, usegmt=True)}\r\n"
        writer.write(
            f"HTTP/1.1 {status} X\r\n{date}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n".encode()  # noqa: E501
            + content
        )


class Thing(msgspec.Struct, frozen=True):
    metadata: dict[str, Any]
    value: int


def project(raw: msgspec.Raw) -> tuple[str, int]:
    item = msgspec.json.decode(raw, type=Thing)
    return item.metadata["name"], item.value


def event(kind: str, name: str, value: Any, version: int = 11) -> dict[str, Any]:
    return {
        "type": kind,
        "object": {
            "metadata": {"name": name, "resourceVersion": str(version), "note": "next\x85line\u2028"},
            "value": value,
        },
    }


def following(
    test: Callable[[FakeHub, "Informer[int]", list[tuple[str, int | None]]], Awaitable[None]],
    hub: FakeHub,
    *,
    resync_seconds: float = 3600,
) -> None:
    async def go() -> None:
        async with hub, hub.api() as api:
            changes: list[tuple[str, int | None]] = []
            informer = Informer(api=api, path=PATH, project=project, resync_seconds=resync_seconds)
            informer.listen(lambda key, item: changes.append((key, item)))
            task = asyncio.create_task(informer.run())
            try:
                await test(hub, informer, changes)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    virtual_time.run(go())


def test_pages_then_changes() -> None:
    hub = FakeHub()
    hub.things = {"a": 1, "b": 2, "c": 3}
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
    hub.watches = [
        [
            event("ADDED", "d", 4),
            event("MODIFIED", "a", 5),
            bookmark,
            event("DELETED", "b", 2),
            {"hang": True},
        ]
    ]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.items == {"a": 5, "c": 3, "d": 4})
        assert sorted(changes[:3]) == [("a", 1), ("b", 2), ("c", 3)]
        assert changes[3:] == [("d", 4), ("a", 5), ("b", None)]
        assert hub.asked == {"list": 2, "watch": 1}

    following(test, hub)


def test_an_expired_watch_is_followed_by_a_new_list_that_keeps_what_is_the_same_quiet() -> None:
    hub = FakeHub()
    hub.things = {"a": 1, "b": 2}
    hub.watches = [[{"type": "ERROR", "object": {"kind": "Status", "code": 410}}]]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.relists == 2)
        assert sorted(changes) == [("a", 1), ("b", 2)]

    following(test, hub)


def test_what_a_watch_missed_is_seen_with_the_next_list() -> None:
    hub = FakeHub()
    hub.things = {"a": 1, "b": 2}
    hub.watches = [[event("MODIFIED", "a", 1)] for _ in range(20)]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await informer.synced.wait()
        hub.things = {"a": 1, "c": 3}
        await until(lambda: informer.items == {"a": 1, "c": 3})
        assert changes[2:] == [("c", 3), ("b", None)]

    following(test, hub, resync_seconds=0)


def test_listeners_can_compare_what_was_with_what_is() -> None:
    hub = FakeHub()
    hub.things = {"a": 1, "b": 2}
    hub.watches = [
        [event("MODIFIED", "a", 3), event("DELETED", "b", 2), {"type": "ERROR", "object": {"code": 410}}]
    ]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        compared: list[tuple[str, int | None, int | None]] = []
        stop = informer.compare(lambda key, before, now: compared.append((key, before, now)))
        await until(lambda: informer.relists == 2)
        # The list has what the watch had taken away: it is the truth.
        assert compared == [
            ("a", None, 1),
            ("b", None, 2),
            ("a", 1, 3),
            ("b", 2, None),
            ("a", 3, 1),
            ("b", None, 2),
        ]
        stop()
        hub.things = {}
        await informer.refresh()
        assert len(compared) == 6
        assert changes[-2:] == [("a", None), ("b", None)]

    following(test, hub)


def test_a_watch_that_ends_or_breaks_goes_on_without_a_list() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.watches = [
        [event("MODIFIED", "a", 2)],
        [event("MODIFIED", "a", 3, 12), None],
        [event("MODIFIED", "a", 4, 13), {"hang": True}],
    ]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.items == {"a": 4})
        assert informer.relists == 1
        assert [value for _, value in changes] == [1, 2, 3, 4]

    following(test, hub)


def test_a_hub_that_is_away_takes_nothing_away() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.watches = [[None]]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await informer.synced.wait()
        hub.away = True
        await asyncio.sleep(1)
        assert informer.items == {"a": 1}
        hub.away, hub.things = False, {"b": 2}
        hub.watches = [[{"type": "ERROR", "object": {"code": 410}}]]
        await until(lambda: informer.items == {"b": 2})
        assert changes in ([("a", 1), ("a", None), ("b", 2)], [("a", 1), ("b", 2), ("a", None)])

    following(test, hub)


@pytest.mark.parametrize(
    "end", [[], [{"type": "ERROR", "object": {"code": 410}}]], ids=["at once", "expired at once"]
)
def test_watches_that_end_at_once_are_tried_ever_more_rarely(end: list[dict[str, Any] | None]) -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.watches = [end for _ in range(2000)]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: hub.asked["watch"] >= 2)
        await asyncio.sleep(3)
        # Pauses of 0.25 s and more, doubled each time: a loop without them asks thousands of times.
        assert hub.asked["watch"] <= 5
        assert hub.asked["list"] <= hub.asked["watch"] + 1

    following(test, hub)


def test_an_overloaded_hub_is_not_asked_for_the_whole_list_at_once() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.refusals = [429, 503]
    hub.watches = [[event("MODIFIED", "a", 2), {"hang": True}]]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.items == {"a": 2})
        assert informer.relists == 1

    following(test, hub)


def test_an_informer_whose_watch_is_refused_is_broken_until_one_is_accepted() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.refusals = [403, 403]
    states: list[str] = []

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        informer.listen(lambda _key, _item: states.append(informer.broken))
        assert informer.broken == ""
        await until(lambda: informer.broken)
        assert informer.broken == f"WATCH {PATH}: 403 not now"
        hub.things = {"a": 2}
        await until(lambda: informer.items == {"a": 2})
        await until(lambda: not informer.broken)
        assert states[-1], "a list alone proves no watch"
        assert informer.relists > 1

    following(test, hub)


def test_a_version_that_expired_is_no_refusal() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.refusals = [410]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.relists == 2)
        assert informer.broken == ""

    following(test, hub)


def test_an_informer_that_hears_nothing_for_too_long_is_broken() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
    hub.watches = [[{"hang": True}], [bookmark, {"hang": True}]]

    async def go() -> None:
        now = 100.0
        async with hub, hub.api() as api:
            informer = Informer(api=api, path=PATH, project=project, clock=lambda: now)
            task = asyncio.create_task(informer.run())
            await until(lambda: hub.asked["watch"] == 1)
            now += STALE_SECONDS
            assert informer.broken == ""
            now += 1
            assert informer.broken == "things: nothing was heard from the API server for more than 150 s"
            hub.writers[-1].close()
            await until(lambda: not informer.broken)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())


def test_a_watch_that_is_refused_again_and_again_begins_with_a_new_list() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.refusals = [504, 504, 504]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await until(lambda: informer.relists == 2)

    following(test, hub)


def test_an_object_that_cannot_be_read_stays_as_it_was_and_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub = FakeHub()
    hub.things = {"a": 1, "b": 2, "c": 3}
    hub.unreadable = {"a": "many"}
    hub.watches = [
        [
            event("MODIFIED", "b", "none"),
            event("MODIFIED", "c", 4),
            {"type": "ERROR", "object": {"code": 410}},
        ],
        [event("MODIFIED", "a", 5), event("DELETED", "b", "none"), {"hang": True}],
    ]

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await informer.synced.wait()
        hub.unreadable = {"a": "many", "b": "none"}
        await until(lambda: informer.items == {"a": 5, "c": 3})
        assert changes == [("b", 2), ("c", 3), ("c", 4), ("c", 3), ("a", 5), ("b", None)]
        told = [record.getMessage() for record in caplog.records if "cannot be read" in record.getMessage()]
        assert [words.split()[0] for words in told] == ["a", "b"], "said once each"

    following(test, hub)


def test_an_answer_that_is_no_list_is_no_list_that_is_empty() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.page = b"<html>Sign in</html>"

    async def test(hub: FakeHub, informer: "Informer[int]", changes: list[tuple[str, int | None]]) -> None:
        await asyncio.sleep(0.2)
        assert not informer.synced.is_set()
        hub.page = b""
        await until(lambda: informer.items == {"a": 1})

    following(test, hub)


def test_requests_that_are_refused_together_read_credentials_once_and_break_none() -> None:
    async def go() -> None:
        loads: list[str] = []

        def load() -> str:
            loads.append("old" if not loads else "new")
            return loads[-1]

        async with FakeHub() as hub, hub.api(load) as api:
            hub.things = {"a": 1}
            hub.token = "new"
            answers = await asyncio.gather(*(api.get(PATH) for _ in range(20)))
            assert len(answers) == 20
            assert loads == ["old", "new"]

    virtual_time.run(go())


def test_a_watch_whose_token_was_replaced_goes_on_without_a_list() -> None:
    hub = FakeHub()
    hub.things = {"a": 1}
    hub.watches = [[event("MODIFIED", "a", 2)], [event("MODIFIED", "a", 3), {"hang": True}]]

    async def go() -> None:
        tokens = ["old"]
        async with hub, hub.api(lambda: tokens[-1]) as api:
            hub.token = "old"
            informer = Informer(api=api, path=PATH, project=project)

            def replace(_key: str, item: int | None) -> None:
                if item == 2:
                    hub.token = "new"
                    tokens.append("new")

            informer.listen(replace)
            task = asyncio.create_task(informer.run())
            await until(lambda: informer.items == {"a": 3})
            assert informer.relists == 1
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    virtual_time.run(go())


def test_a_page_that_takes_long_to_arrive_is_no_clock_that_is_behind() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            f"HTTP/1.1 200 OK\r\nDate: {formatdate(usegmt=True)}\r\nContent-Length: 2\r\n\r\n".encode()
        )
        await writer.drain()
        await asyncio.sleep(4)
        writer.write(b"{}")
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        access = Access(host=url, trust=ssl.create_default_context(), authorization="", proxy=None)
        async with server, HubApi(load=lambda: access) as api:
            await api.get(PATH)
            assert api.clock.known
            assert api.clock.offset == pytest.approx(0, abs=0.1)

    virtual_time.run(go())


def test_a_replaced_token_is_read_anew_and_the_hubs_clock_counts() -> None:
    async def go() -> None:
        tokens = ["old"]
        async with FakeHub() as hub, hub.api(lambda: tokens[-1]) as api:
            hub.token = "old"
            await api.get(PATH)
            hub.token = "new"
            with pytest.raises(ApiError, match="401"):
                await api.get(PATH)
            tokens.append("new")
            await api.get(PATH)
            assert api.now() == pytest.approx(time.time() + 600, abs=30)

    virtual_time.run(go())


async def _leads(replica: Leadership, *, within: float) -> bool:
    try:
        async with asyncio.timeout(within):
            await replica.acquire()
    except TimeoutError:
        return False
    return True


def test_one_leads_until_it_lets_go_or_dies() -> None:
    async def go() -> None:
        async with FakeHub() as hub, hub.api() as api:

            def replica(name: str) -> Leadership:
                return Leadership(api=api, namespace="ns", identity=name, duration=5, deadline=4.0, renew=0.1)

            first, second = replica("first"), replica("second")
            await first.acquire()
            assert not await _leads(second, within=0.5)
            keep = asyncio.create_task(first.keep())
            assert not await _leads(second, within=6), "renewed, so never free"
            keep.cancel()
            await asyncio.gather(keep, return_exceptions=True)
            assert not first.is_leader
            await first.release()
            assert await _leads(second, within=60)
            # The second dies without a word.
            assert not await _leads(first, within=1.0)
            assert await _leads(first, within=60)
            assert hub.lease is not None
            assert hub.lease["spec"]["leaseTransitions"] == 2

    virtual_time.run(go())


def test_a_leader_that_cannot_renew_stops_before_another_starts() -> None:
    async def go() -> None:
        async with FakeHub() as hub, hub.api() as api:
            leader = Leadership(api=api, namespace="ns", identity="a", duration=3, deadline=1.0, renew=0.1)
            await leader.acquire()
            hub.away = True
            start = asyncio.get_running_loop().time()
            with pytest.raises(LeaseLost, match="not renewed for 1 s"):
                await leader.keep()
            assert asyncio.get_running_loop().time() - start <= 1.2
            assert not leader.is_leader
            hub.away = False
            other = Leadership(api=api, namespace="ns", identity="b", duration=3, deadline=1.0, renew=0.1)
            assert await _leads(other, within=60)
            with pytest.raises(LeaseLost, match="b took the Lease"):
                await leader.keep()

    virtual_time.run(go())
