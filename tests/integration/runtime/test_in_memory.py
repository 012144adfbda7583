"""A server in memory is as good as one on a socket, for both clients of the API server."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

import pytest

from dsf_runtime.access import Access
from dsf_runtime.apierrors import ApiError
from dsf_runtime.apiserver import WatchEvent
from dsf_runtime.blocking import BlockingApiServer
from gitops_dsf.reconciler.hub.api import HubApi
from tests.support import virtual_time
from tests.support.agent.http import PeerFault, RecordedRequest, SentReply, Stream, chunk
from tests.support.apiserver import HANG, TOKEN, FakeApiServer, failure
from tests.support.objecthub import ObjectHub
from tests.support.served import serving, serving_on_wire
from tests.support.waiting import until
from tests.support.withouttls import PLAIN

MAPS = "/api/v1/namespaces/ours/configmaps"
Outcome = list[object]
Scenario = Callable[[ObjectHub, HubApi], Awaitable[Outcome]]


class NewToken:
    """A Secret whose token was replaced."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self) -> str:
        self.read += 1
        return TOKEN if self.read > 1 else "old"


async def tried(work: Awaitable[object]) -> object:
    """What a request returns or raises, and when."""
    try:
        outcome: object = await work
    except Exception as error:  # noqa: BLE001 - any kind of error is compared
        fields = ("status", "kind", "retry_after")
        outcome = (type(error), str(error), [getattr(error, field, None) for field in fields])
    return outcome, round(asyncio.get_running_loop().time())


async def watched(api: HubApi, *, limit: int = 100) -> list[object]:
    """The events of a watch until it ends, and how it ends."""
    events: list[object] = []

    async def read() -> None:
        watch = api.watch(MAPS, resource_version="100", opened=lambda: events.append("opened"))
        async with aclosing(watch):
            async for event in watch:
                events.append(seen(event))
                if len(events) > limit:
                    return

    return [await tried(read()), events]


def seen(event: WatchEvent) -> tuple[str, bytes]:
    return event.type, bytes(event.object)


def some(hub: ObjectHub, *names: str) -> None:
    for name in names:
        hub.put("configmaps", name, namespace="ours", metadata={"labels": {"of": name}}, data={})


async def objects(hub: ObjectHub, api: HubApi) -> Outcome:
    some(hub, "a", "b c")
    stale = {"metadata": {"name": "a", "resourceVersion": "1"}}
    return [
        await tried(api.get(f"{MAPS}/a")),
        await tried(api.get(f"{MAPS}/none")),
        await tried(api.get(f"{MAPS}/b%20c")),
        await tried(api.create(MAPS, {"metadata": {"name": "new"}, "data": {"ü": "☃"}})),
        await tried(api.create(MAPS, {"metadata": {"name": "new"}})),
        await tried(api.replace(f"{MAPS}/a", stale)),
        await tried(api.merge(f"{MAPS}/a", {"data": {"x": "1"}})),
        await tried(api.delete(f"{MAPS}/a", uid="another", resource_version="1")),
        await tried(api.request("DELETE", f"{MAPS}/a")),
        hub.writes,
    ]


async def lists(hub: ObjectHub, api: HubApi) -> Outcome:
    some(hub, *(f"m{number}" for number in range(7)))
    hub.page = 3
    listed = list[bytes]()
    chosen = list[bytes]()
    return [
        await tried(api.list(MAPS, lambda raw: listed.append(bytes(raw)))),
        await tried(api.list(MAPS, lambda raw: chosen.append(bytes(raw)), labelSelector="of=m3")),
        await tried(api.list(MAPS, lambda _raw: None, fieldSelector="metadata.name!=m3")),
        listed,
        chosen,
    ]


async def refusals(hub: ObjectHub, api: HubApi) -> Outcome:
    answers: list[SentReply | PeerFault] = [
        failure(503, "try later"),
        SentReply(status=429, headers={"Retry-After": "17"}),
        SentReply(status=302, headers={"Location": "http://elsewhere.example.org/"}),
        SentReply(status=500, body=b"<html>a proxy</html>"),
        SentReply(headers={"Content-Encoding": "gzip"}, body=b"..."),
        SentReply(body=b""),
        SentReply(status=204),
        PeerFault(),
        PeerFault(hang=True),
    ]
    hub.before = lambda _seen: answers.pop(0)
    return [await tried(api.get(f"{MAPS}/a")) for _ in range(len(answers))]


async def credentials(hub: ObjectHub, api: HubApi) -> Outcome:
    some(hub, "a")
    first = await tried(api.get(f"{MAPS}/a"))
    hub.token = "newer"
    return [
        first,
        await tried(api.get(f"{MAPS}/a")),
        [one.headers["authorization"] for one in hub.seen],
    ]


async def a_server_that_goes_and_comes(hub: ObjectHub, api: HubApi) -> Outcome:
    some(hub, "a")
    outcomes = [await tried(api.get(f"{MAPS}/a"))]
    await hub.refuse()
    outcomes.append(await tried(api.get(f"{MAPS}/a")))
    await hub.start()
    return [*outcomes, await tried(api.get(f"{MAPS}/a"))]


async def a_server_that_drops_what_it_works_at(hub: ObjectHub, api: HubApi) -> Outcome:
    hub.gate = asyncio.Event()
    asking = asyncio.create_task(tried(api.get(f"{MAPS}/a")))
    await until(lambda: hub.asked, what="the request arrived")
    hub.drop()
    return [await asking]


async def a_server_that_is_slow(hub: ObjectHub, api: HubApi) -> Outcome:
    hub.gate = asyncio.Event()
    late = await tried(api.create(MAPS, {"metadata": {"name": "late"}}))
    short = await tried(api.request("POST", MAPS, body={"metadata": {"name": "b"}}, seconds=3))
    hub.gate.set()
    return [late, short, hub.writes]


async def a_request_that_arrives_late(hub: ObjectHub, api: HubApi) -> Outcome:
    """Its client is gone before it takes effect."""

    async def later(_word: str) -> None:
        await asyncio.sleep(60)

    hub.arrives = later
    writing = asyncio.create_task(api.create(MAPS, {"metadata": {"name": "late"}}))
    await until(lambda: hub.seen, what="the request is under way")
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    before = list(hub.writes)
    await asyncio.sleep(61)
    return [writing.cancelled(), before, hub.writes]


async def told_events(hub: ObjectHub, api: HubApi) -> Outcome:
    item = {"metadata": {"name": "a", "resourceVersion": "101"}, "data": {"x": "☃" * 100}}
    event = {"type": "ADDED", "object": item}
    hub.watches = [[event, event], [event, None], [HANG], []]
    outcomes = list[object]()
    for _ in range(4):
        outcomes.append(await watched(api))
        # On the wire, a client may use a connection again that the server is about to close.
        await asyncio.sleep(1)
    return outcomes


async def changes(hub: ObjectHub, api: HubApi) -> Outcome:
    hub.live = True
    some(hub, "before")
    reading = asyncio.create_task(watched(api, limit=4))
    await until(lambda: hub.watching, what="the watch is open")
    some(hub, "a", "b", "c")
    outcome = await reading
    await until(lambda: not hub.watching, what="the server sees that the watch is over")
    return [outcome]


async def a_watch_that_is_dropped(hub: ObjectHub, api: HubApi) -> Outcome:
    hub.live = True
    reading = asyncio.create_task(watched(api))
    await until(lambda: hub.watching, what="the watch is open")
    some(hub, "a")
    await asyncio.sleep(1)
    hub.drop()
    outcome = await reading
    await until(lambda: not hub.watching, what="the server sees that the watch is over")
    return [outcome]


async def a_watch_that_is_silent(hub: ObjectHub, api: HubApi) -> Outcome:
    async def pieces() -> Any:
        yield chunk(b'{"type": "BOOKMARK", "object"')
        yield chunk(b": {}}\n")
        await asyncio.sleep(1000)

    hub.handler = lambda _seen: Stream(pieces=pieces())
    return [await watched(api)]


async def a_watch_that_is_refused(hub: ObjectHub, api: HubApi) -> Outcome:
    hub.refusals["WATCH configmaps"] = [410, 0]
    return [await watched(api), await watched(api)]


async def a_claim_that_ends(hub: ObjectHub, api: HubApi) -> Outcome:
    """Between the first look at it and the bytes."""
    left = [1000.0, 0.0]
    api._left = lambda: left.pop(0) if left else 1000.0
    outcome = await tried(api.create(MAPS, {"metadata": {"name": "a"}}))
    return [
        outcome,
        len(hub.seen),
        await tried(api.create(MAPS, {"metadata": {"name": "b"}})),
        hub.writes,
    ]


SCENARIOS: tuple[Scenario, ...] = (
    objects,
    lists,
    refusals,
    credentials,
    a_server_that_goes_and_comes,
    a_server_that_drops_what_it_works_at,
    a_server_that_is_slow,
    a_request_that_arrives_late,
    told_events,
    changes,
    a_watch_that_is_dropped,
    a_watch_that_is_silent,
    a_watch_that_is_refused,
    a_claim_that_ends,
)


HEADERS = ("accept", "accept-encoding", "authorization", "content-type", "user-agent")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_client_cannot_tell_the_difference(scenario: Scenario) -> None:
    on_wire = virtual_time.run(history(scenario, on_wire=True))
    assert virtual_time.run(history(scenario, on_wire=False)) == on_wire


async def history(scenario: Scenario, *, on_wire: bool) -> str:
    """What comes of it, and the requests as the server saw them."""
    hub = ObjectHub(on_wire=on_wire)
    hub.clock = None
    token = NewToken() if scenario is credentials else lambda: TOKEN
    async with hub, hub.api(token=token) as api:
        outcome = await scenario(hub, api)
    return repr((outcome, [request(one) for one in hub.seen])).replace(hub.url, "SERVER")


def request(seen: RecordedRequest) -> object:
    headers = {name: seen.headers.get(name) for name in HEADERS}
    return seen.method, seen.path, sorted(seen.query.items()), headers, seen.body


def done(work: Callable[[], object]) -> object:
    """What a command gets."""
    try:
        return work()
    except ApiError as error:
        return str(error), error.status, error.kind, error.retry_after


def commands_on_objects(hub: FakeApiServer, api: BlockingApiServer) -> Outcome:
    def put(name: str, *, version: str) -> bytes:
        item = {"metadata": {"name": name, "resourceVersion": version}, "data": {"ü": "☃"}}
        return api.request("PUT", f"{MAPS}/{name}", params={}, body=item)

    hub.put("configmaps", "a", namespace="ours", data={})
    return [
        done(lambda: api.get(f"{MAPS}/a")),
        done(lambda: api.get(f"{MAPS}/none")),
        done(lambda: api.request("POST", MAPS, params={}, body={"metadata": {"name": "b c"}})),
        done(lambda: api.get(f"{MAPS}/b%20c")),
        done(lambda: put("a", version="1")),
        done(lambda: put("a", version="101")),
        done(lambda: api.request("DELETE", f"{MAPS}/a", params={"dryRun": "All"}, body=None)),
        hub.writes,
    ]


def commands_on_lists(hub: FakeApiServer, api: BlockingApiServer) -> Outcome:
    for number in range(7):
        hub.put("configmaps", f"m{number}", namespace="ours", metadata={"labels": {"of": "us"}})
    hub.page = 3
    pages = list(api.pages(MAPS))
    hub.expired = 1
    return [
        pages,
        list(api.pages(MAPS, labelSelector="of=them")),
        done(lambda: list(api.pages(MAPS))),
    ]


def commands_that_are_refused(hub: FakeApiServer, api: BlockingApiServer) -> Outcome:
    answers: list[SentReply | PeerFault] = [
        failure(503, "try later"),
        SentReply(status=429, headers={"Retry-After": "17"}),
        SentReply(status=302, headers={"Location": "http://elsewhere.example.org/"}),
        SentReply(status=500, body=b"<html>a proxy</html>"),
        SentReply(headers={"Content-Encoding": "gzip"}, body=b"..."),
        SentReply(body=b""),
        SentReply(status=204),
        # A command reads once more.
        PeerFault(),
        PeerFault(),
    ]
    hub.before = lambda _seen: answers.pop(0)
    return [done(lambda: api.get(f"{MAPS}/a")) for _ in range(len(answers) - 1)]


def commands_with_an_old_token(hub: FakeApiServer, api: BlockingApiServer) -> Outcome:
    return [done(lambda: list(api.pages(MAPS))), done(lambda: api.get(f"{MAPS}/a"))]


Serving = Callable[[FakeApiServer], AbstractContextManager[FakeApiServer]]
Command = Callable[[FakeApiServer, BlockingApiServer], Outcome]


@pytest.mark.parametrize(
    "command",
    [
        commands_on_objects,
        commands_on_lists,
        commands_that_are_refused,
        commands_with_an_old_token,
    ],
    ids=lambda command: command.__name__,
)
def test_a_command_cannot_tell_the_difference(command: Command) -> None:
    on_wire = commanded(command, serving_on_wire)
    assert commanded(command, serving) == on_wire


def commanded(command: Command, served: Serving) -> str:
    """What comes of it, the same after the server went, and the requests as the server saw them."""
    hub = FakeApiServer()
    hub.clock = None
    token = NewToken() if command is commands_with_an_old_token else lambda: TOKEN
    with served(hub):
        url = hub.url

        def load() -> Access:
            return Access(host=url, trust=PLAIN, authorization=f"Bearer {token()}")

        with BlockingApiServer(load=load, user_agent="test", timeout_seconds=20) as api:
            outcome = command(hub, api)
        api = BlockingApiServer(load=load, user_agent="test", timeout_seconds=20)
    with api:
        gone = done(lambda: api.get(MAPS))
    return repr((outcome, gone, [request(one) for one in hub.seen])).replace(url, "SERVER")


async def test_a_server_in_memory_raises_what_its_handler_raised() -> None:
    hub = ObjectHub()

    def wrong(_seen: RecordedRequest) -> None:
        msg = "a mistake of the test"
        raise KeyError(msg)

    hub.before = wrong
    with pytest.raises(KeyError, match="a mistake of the test"):
        async with hub, hub.api() as api:
            await tried(api.get(f"{MAPS}/a"))


async def test_a_request_must_not_outlive_its_client() -> None:
    """On a socket, Python warns of the connection that nobody closed."""
    hub = ObjectHub()
    hub.live = True
    await hub.start()
    async with hub.api() as api:
        watching = asyncio.create_task(watched(api))
        await until(lambda: hub.watching, what="the watch is open")
    with pytest.raises(AssertionError, match="a request outlived its client"):
        await hub.stop()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_nobody_gets_the_port_of_a_server_that_refuses_connections() -> None:
    async with FakeApiServer() as server:
        await server.refuse()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)
        with pytest.raises(OSError, match="in use"):
            await asyncio.start_server(lambda *_: None, "127.0.0.1", server.port)
        await server.start()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.close()
        await writer.wait_closed()
