"""Hostile answers, read by the clients of the agent, of ``sync`` and of the probes.

Each ends with a reason after a limited number of bytes, and the event loop keeps running.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import h11
import pytest

from dsf_agent.endpoints.budget import Budget, BudgetFullError
from dsf_agent.endpoints.transport import Call, CallLimits, Transport
from dsf_agent.errors import AgentError
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.page import PageFault
from tests.support.hostile import KINDS, hostile

PEERS = 2
READ_BYTES = 1 << 20
MAX_EVENTS = 2000
"""Events of the parser in a turn of the loop, each about 20 microseconds."""
HEAD_BYTES = 1 << 10
"""More than the status line and the headers of any peer, which count among what is taken."""
"""What a client may have read beyond its limit when it gives up: one read, and heads."""

Get = Callable[[str], Awaitable[str]]


class Parser:
    """The HTTP parsers of the clients: events in one turn of the event loop, and bytes of each."""

    def __init__(self) -> None:
        self.most = 0
        self.taken: dict[h11.Connection, int] = {}
        self._count = 0

    def event(self) -> None:
        if not self._count:
            asyncio.get_running_loop().call_soon(self._turn)
        self._count += 1
        self.most = max(self.most, self._count)

    def data(self, connection: h11.Connection, size: int) -> None:
        self.taken[connection] = self.taken.get(connection, 0) + size

    def _turn(self) -> None:
        self._count = 0


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Parser:
    """Also reads as widely as the agent does."""
    counted, next_event, receive_data = (
        Parser(),
        h11.Connection.next_event,
        h11.Connection.receive_data,
    )

    def counting(connection: h11.Connection) -> object:
        counted.event()
        return next_event(connection)

    def taking(connection: h11.Connection, data: bytes) -> None:
        counted.data(connection, len(data))
        receive_data(connection, data)

    monkeypatch.setattr(h11.Connection, "next_event", counting)
    monkeypatch.setattr(h11.Connection, "receive_data", taking)
    return counted


async def _ask(get: Get, kind: str, *, peers: int = PEERS) -> set[str]:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(hostile(kind)) for _ in range(peers)]
        ends = await asyncio.gather(*(get(server.url) for server in servers))
        return set(ends)


ENDS = {
    "one-byte chunks": "too_large",
    "short chunks": "too_large",
    "interim responses": "too_large",
    "headers": "too_large",
    "many headers": "too_large",
    "trailers": "connection_lost",
    "many trailers": "connection_lost",
    "empty gzip members": "invalid_body",
    "gzip bomb": "invalid_body",
    "endless body": "too_large",
    "slow head": "timeout",
}
LIMIT = 1 << 20


OF_PAGES = {
    "too_large": "TooLarge",
    "timeout": "Timeout",
    "invalid_body": "Protocol",
    "connection_lost": "Protocol",
}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_clients_of_agents_and_of_pages_end_hostile_answers(
    kind: str, parser: Parser
) -> None:
    transport = Transport(limits=CallLimits(total_seconds=5, answer_bytes=LIMIT))

    async def call(url: str) -> str:
        with pytest.raises(AgentError) as caught:
            await transport.call(Call(url=url))
        return caught.value.reason.value

    async def fetch(url: str) -> str:
        page = await fetcher.get(url)
        assert isinstance(page, PageFault)
        return page.reason

    async with Fetcher(limits=FetchLimits(seconds=5)) as fetcher:
        for get, end, limit in (
            (call, ENDS[kind], LIMIT),
            (fetch, OF_PAGES[ENDS[kind]], 256 << 10),
        ):
            parser.taken.clear()
            assert await _ask(get, kind) == {end}
            assert len(parser.taken) == PEERS
            assert max(parser.taken.values()) <= HEAD_BYTES + limit + READ_BYTES
    await transport.close()
    assert parser.most <= MAX_EVENTS


async def test_bytes_of_hostile_peers_count_as_they_arrive() -> None:
    budget, most = Budget(limit=2 * LIMIT), list[int]()
    transport = Transport(limits=CallLimits(total_seconds=60, answer_bytes=64 << 20))

    async def get(url: str) -> str:
        reservation, expected = budget.reservation(), None

        def on_bytes(size: int) -> None:
            reservation.add(size)
            most.append(budget.used)

        while True:
            try:
                async with reservation.room(expected):
                    await transport.call(Call(url=url, on_bytes=on_bytes))
            except BudgetFullError as error:
                expected = error.wanted
            except AgentError as error:
                return error.reason.value

    reasons = await _ask(get, "endless body", peers=4)
    await transport.close()
    assert reasons == {"too_large"}
    assert LIMIT < max(most) <= 2 * LIMIT
    assert budget.used == 0
