"""Informer and API client against an HTTP server.

It behaves as an API server does, on its bad days, too.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import Informer
from tests.integration.reconciler.replica import Replica, fleet_on, running
from tests.support.apiserver import HANG, TOKEN, Object
from tests.support.objecthub import ObjectHub
from tests.support.virtual_time import wall
from tests.support.waiting import until

STALE_SECONDS = 150.0

PATH = "/apis/example.com/v1/things"
EXPIRED: Object = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
BOOKMARK: Object = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}}
Changes = list[tuple[str, int | None]]


@pytest.fixture
def on_wire() -> bool:
    return True


@pytest.fixture(autouse=True)
def _watches(hub: ObjectHub) -> None:
    hub.watches = []


class Thing(msgspec.Struct, frozen=True):
    metadata: dict[str, Any]
    value: int


def project(raw: msgspec.Raw) -> tuple[str, int]:
    item = msgspec.json.decode(raw, type=Thing)
    return item.metadata["name"], item.value


def event(kind: str, name: str, value: Any) -> Object:
    metadata = {"name": name, "resourceVersion": "11", "note": "next\x85line\u2028"}
    return {"type": kind, "object": {"metadata": metadata, "value": value}}


def holds(hub: ObjectHub, **things: Any) -> None:
    """These and no others."""
    hub.objects.clear()
    for name, value in things.items():
        hub.put("things", name, value=value)


@asynccontextmanager
async def following(
    hub: ObjectHub, *, resync_seconds: float = 3600, token: Callable[[], str] = lambda: TOKEN
) -> AsyncIterator[tuple["Informer[int]", Changes]]:
    async with hub.api(token=token) as api:
        changes: Changes = []
        informer = Informer(api=api, path=PATH, project=project, resync_seconds=resync_seconds)
        informer.listen(lambda key, item: changes.append((key, item)))
        async with running(informer):
            yield informer, changes


async def test_pages_then_changes(hub: ObjectHub) -> None:
    holds(hub, a=1, b=2, c=3)
    hub.page = 2
    hub.watches = [
        [
            event("ADDED", "d", 4),
            event("MODIFIED", "a", 5),
            BOOKMARK,
            event("DELETED", "b", 2),
            HANG,
        ]
    ]
    async with following(hub) as (informer, changes):
        await until(lambda: informer.items == {"a": 5, "c": 3, "d": 4})
        assert sorted(changes[:3]) == [("a", 1), ("b", 2), ("c", 3)]
        assert changes[3:] == [("d", 4), ("a", 5), ("b", None)]
        assert hub.asked == ["GET things", "GET things", "WATCH things"]


@pytest.mark.parametrize(
    ("refusals", "watches", "lists"),
    [
        ([], [[event("MODIFIED", "b", 2)], [event("MODIFIED", "b", 2), None]], 1),
        ([429, 503], [], 1),
        ([], [[EXPIRED]], 2),
        ([410], [], 2),
        ([504, 504, 504], [], 2),
    ],
    ids=["ends and breaks", "overloaded", "expired", "expired before", "refused again and again"],
)
async def test_a_watch_that_ends_begins_with_a_new_list_only_if_it_must(
    hub: ObjectHub, refusals: list[int], watches: list[Any], lists: int
) -> None:
    """A list that says the same is not news."""
    holds(hub, a=1, b=2)
    hub.refusals["WATCH things"] = refusals
    hub.watches = [*watches, [event("MODIFIED", "a", 9), HANG]]
    async with following(hub) as (informer, changes):
        await until(lambda: informer.items == {"a": 9, "b": 2})
        assert hub.asked.count("GET things") == lists
        assert sorted(changes) == [("a", 1), ("a", 9), ("b", 2)]
        assert informer.broken == ""


async def test_what_a_watch_missed_is_seen_with_the_next_list(hub: ObjectHub) -> None:
    holds(hub, a=1, b=2)
    hub.watches = [[event("MODIFIED", "a", 1)] for _ in range(20)]
    async with following(hub, resync_seconds=0) as (informer, changes):
        await informer.synced.wait()
        holds(hub, a=1, c=3)
        await until(lambda: informer.items == {"a": 1, "c": 3})
        assert changes[2:] == [("c", 3), ("b", None)]


async def test_listeners_can_compare_what_was_with_what_is(hub: ObjectHub) -> None:
    holds(hub, a=1, b=2)
    hub.watches = [[event("MODIFIED", "a", 3), event("DELETED", "b", 2), EXPIRED]]
    async with following(hub) as (informer, changes):
        compared: list[tuple[str, int | None, int | None]] = []
        stop = informer.compare(lambda key, before, now: compared.append((key, before, now)))
        await until(lambda: len(compared) == 6)
        first, changed = [("a", None, 1), ("b", None, 2)], [("a", 1, 3), ("b", 2, None)]
        # The list has what the watch had taken away: it is the truth.
        assert compared == [*first, *changed, ("a", 3, 1), ("b", None, 2)]
        stop()
        holds(hub)
        await informer.refresh()
        assert len(compared) == 6
        assert changes[-2:] == [("a", None), ("b", None)]


async def test_a_list_that_breaks_off_takes_nothing_away_and_is_read_again(hub: ObjectHub) -> None:
    """It is not in memory twice: what was read of it is there at once."""
    holds(hub, a=1, b=2, d=4)
    hub.page = 1
    hub.watches = [[EXPIRED]]
    async with following(hub) as (informer, changes):
        await informer.synced.wait()
        holds(hub, a=9, c=3)
        hub.expired = 1
        await until(lambda: len(changes) > 3)
        assert informer.items == {"a": 9, "b": 2, "d": 4}
        await until(lambda: informer.items == {"a": 9, "c": 3})
        assert changes[3:5] == [("a", 9), ("c", 3)]
        assert sorted(changes[5:]) == [("b", None), ("d", None)]


async def test_a_hub_that_is_away_takes_nothing_away(hub: ObjectHub) -> None:
    holds(hub, a=1)
    hub.watches = [[None], [EXPIRED]]
    async with following(hub) as (informer, changes):
        await informer.synced.wait()
        hub.refusals = {"GET things": [0] * 1000, "WATCH things": [0] * 1000}
        await asyncio.sleep(1)
        assert informer.items == {"a": 1}
        holds(hub, b=2)
        hub.refusals.clear()
        await until(lambda: informer.items == {"b": 2})
        assert sorted(changes, key=str) == [("a", 1), ("a", None), ("b", 2)]


@pytest.mark.parametrize("end", [[], [EXPIRED]], ids=["at once", "expired at once"])
async def test_watches_that_end_at_once_are_tried_ever_more_rarely(
    hub: ObjectHub, end: list[Object | None]
) -> None:
    holds(hub, a=1)
    hub.watches = [end for _ in range(2000)]
    async with following(hub):
        await until(lambda: hub.asked.count("WATCH things") >= 2)
        await asyncio.sleep(3)
        # Pauses of 0.25 s and more, doubled each time: a loop without them asks thousands of times.
        watches = hub.asked.count("WATCH things")
        assert watches <= 5
        assert hub.asked.count("GET things") <= watches + 1


async def test_a_watch_that_expires_after_one_event_costs_ever_fewer_lists(hub: ObjectHub) -> None:
    """An API server whose watch cache is too small for its changes ends each watch soon with
    410.
    """
    holds(hub, a=1)
    hub.watches = [[event("MODIFIED", "a", number), EXPIRED] for number in range(2000)]
    async with following(hub):
        await until(lambda: hub.asked.count("GET things") >= 2)
        await asyncio.sleep(60)
        assert hub.asked.count("GET things") <= 12


async def test_a_watch_that_expires_after_it_lasted_is_followed_by_a_list_at_once(
    hub: ObjectHub,
) -> None:
    holds(hub, a=1)
    hub.live = True
    async with following(hub) as (informer, _):
        await informer.synced.wait()
        for count in range(2, 8):
            await until(lambda: hub.watching)
            await asyncio.sleep(100)
            hub.tell_watches("things", EXPIRED)
            await asyncio.sleep(1)
            assert hub.asked.count("GET things") == count


async def test_a_listener_with_a_bug_stops_no_other_and_no_watch(
    hub: ObjectHub, caplog: pytest.LogCaptureFixture
) -> None:
    holds(hub, a=1, b=2)
    hub.watches = [[event("MODIFIED", "a", 3), event("DELETED", "b", 2), HANG]]
    bugs = 0

    def count() -> None:
        nonlocal bugs
        bugs += 1

    def broken(key: str, _item: int | None) -> None:
        raise KeyError(key)

    async with hub.api() as api:
        changes: Changes = []
        informer = Informer(api=api, path=PATH, project=project, on_bug=count)
        informer.listen(broken)
        informer.listen(lambda key, item: changes.append((key, item)))
        async with running(informer) as task:
            await until(lambda: informer.items == {"a": 3})
            assert not task.done()
    assert sorted(changes[:2]) == [("a", 1), ("b", 2)]
    assert changes[2:] == [("a", 3), ("b", None)]
    assert bugs == 4
    assert hub.asked.count("GET things") == 1, "the list is not read again"
    assert "a listener of things failed because of a bug" in caplog.text


async def test_an_informer_that_fails_by_a_bug_is_started_again_and_ends_no_other(
    hub: ObjectHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.watches, hub.live = None, True
    fleet_on(hub)
    async with hub.api() as api:
        replica = Replica(api)
        view = replica.view
        fail = True

        async def breaks() -> None:
            if fail:
                raise LookupError("a bug")
            await healthy()

        healthy = view.placements.run
        monkeypatch.setattr(view.placements, "run", breaks)
        async with running(view) as task:
            await view.clusters.synced.wait()
            await asyncio.sleep(60)
            assert not task.done()
            assert hub.asked.count("GET managedclusters") == 1
            assert not view.placements.synced.is_set()
            failed = replica.metric("duty_failures_total", duty="watch")
            assert failed is not None
            assert 3 <= failed <= 12
            fail = False
            await view.placements.synced.wait()
        assert hub.asked.count("GET managedclusters") == 1


async def test_an_informer_whose_watch_is_refused_is_broken_until_one_is_accepted(
    hub: ObjectHub,
) -> None:
    holds(hub, a=1)
    hub.refusals["WATCH things"] = [403, 403]
    states: list[str] = []
    async with following(hub) as (informer, _):
        informer.listen(lambda _key, _item: states.append(informer.broken))
        assert informer.broken == ""
        await until(lambda: informer.broken)
        assert informer.broken == f"WATCH {PATH}: 403 refused by the test"
        holds(hub, a=2)
        await until(lambda: informer.items == {"a": 2})
        await until(lambda: not informer.broken)
        assert states[-1], "a list alone proves no watch"
        assert hub.asked.count("GET things") > 1


async def test_an_informer_that_hears_nothing_for_too_long_is_broken(
    hub: ObjectHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds(hub, a=1)
    hub.watches = [[HANG], [BOOKMARK, HANG]]
    now = 100.0
    monkeypatch.setattr("dsf_runtime.informer.monotonic", lambda: now)
    async with hub.api() as api:
        informer = Informer(api=api, path=PATH, project=project)
        async with running(informer):
            await until(lambda: "WATCH things" in hub.asked)
            now += STALE_SECONDS
            assert informer.broken == ""
            now += 1
            assert (
                informer.broken
                == "things: nothing was heard from the API server for more than 150 s"
            )
            hub.drop()
            await until(lambda: not informer.broken)


async def test_an_object_that_cannot_be_read_stays_as_it_was_and_stops_no_other(
    hub: ObjectHub, caplog: pytest.LogCaptureFixture
) -> None:
    holds(hub, a="many", b=2, c=3)
    hub.watches = [
        [event("MODIFIED", "b", "none"), event("MODIFIED", "c", 4), EXPIRED],
        [event("MODIFIED", "a", 5), event("DELETED", "b", "none"), HANG],
    ]
    async with following(hub) as (informer, changes):
        await informer.synced.wait()
        hub.put("things", "b", value="none")
        await until(lambda: informer.items == {"a": 5, "c": 3})
        assert changes == [("b", 2), ("c", 3), ("c", 4), ("c", 3), ("a", 5), ("b", None)]
        told = [
            record.getMessage()
            for record in caplog.records
            if "cannot be read" in record.getMessage()
        ]
        assert [words.split()[0] for words in told] == ["a", "b"], "said once each"


async def test_an_answer_that_is_no_list_is_no_list_that_is_empty(hub: ObjectHub) -> None:
    holds(hub, a=1)
    hub.instead_of_lists = b"<html>Sign in</html>"
    async with following(hub) as (informer, _):
        await asyncio.sleep(0.2)
        assert not informer.synced.is_set()
        hub.instead_of_lists = b""
        await until(lambda: informer.items == {"a": 1})


async def test_requests_that_are_refused_together_read_credentials_once_and_break_none(
    hub: ObjectHub,
) -> None:
    loads: list[str] = []

    def load() -> str:
        loads.append("old" if not loads else "new")
        return loads[-1]

    hub.token = "new"
    async with hub.api(token=load) as api:
        assert len(await asyncio.gather(*(api.get(PATH) for _ in range(20)))) == 20
        assert loads == ["old", "new"]
        hub.token = "another"
        with pytest.raises(ApiError, match="401"):
            await api.get(PATH)


async def test_a_watch_whose_token_was_replaced_goes_on_without_a_list(hub: ObjectHub) -> None:
    holds(hub, a=1)
    hub.watches = [[event("MODIFIED", "a", 2)], [event("MODIFIED", "a", 3), HANG]]
    hub.token = "old"

    def replace(_key: str, item: int | None) -> None:
        if item == 2:
            hub.token = "new"

    async with following(hub, token=lambda: hub.token) as (informer, _):
        informer.listen(replace)
        await until(lambda: informer.items == {"a": 3})
        assert hub.asked.count("GET things") == 1


async def test_a_page_that_takes_long_to_arrive_is_no_clock_that_is_behind() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        date = formatdate(wall(), usegmt=True)
        writer.write(f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 2\r\n\r\n".encode())
        await asyncio.sleep(4)
        writer.write(b"{}")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        api = ObjectHub(on_wire=True, port=server.sockets[0].getsockname()[1]).api()
        async with api:
            await api.get(PATH)
        assert api.clock.known
        assert api.clock.offset == pytest.approx(0, abs=0.1)
