"""What agent and reconciler must do alike, asked of each: they call one API server through the code that their programs use."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import pytest

from dsf_agent import store
from dsf_agent.apiserver import ApiServer
from dsf_agent.kubeaccess import KubeconfigFile
from dsf_runtime.clock import Clock, SystemClock
from gitops_dsf.live.access import load_access
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.timestamp import timestamp_of
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import kubeconfig

PATH = "/api/v1/namespaces/n/configmaps/c"
TTL = 900.0


class Jumping(SystemClock):
    """A wall clock that can be set, as by an administrator or after a suspend."""

    jump = 0.0

    def wall(self) -> float:
        return super().wall() + self.jump


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program's way to one API server."""

    get: Callable[[], Awaitable[object]]
    hub_time: Callable[[], float]
    write_time: Callable[[float], object]
    """Writes a time down as the program does in the objects that it writes."""


@asynccontextmanager
async def agent(config: Path, clock: Clock) -> AsyncIterator[Program]:
    server = ApiServer(loader=KubeconfigFile(path=config), clock=clock, timeout_seconds=20)
    try:
        yield Program(
            get=lambda: server.call("GET", PATH),
            hub_time=server.server_clock.wall,
            write_time=lambda now: store.status({"a": 1}, valid_until=now + TTL),
        )
    finally:
        await server.close()


@asynccontextmanager
async def reconciler(config: Path, clock: Clock) -> AsyncIterator[Program]:
    async with HubApi(load=lambda: load_access(context=None, kubeconfig=config), timeout_seconds=20, clock=clock) as api:
        yield Program(get=lambda: api.get(PATH), hub_time=api.now, write_time=timestamp_of)


Start = Callable[[Path, Clock], AbstractAsyncContextManager[Program]]
both = pytest.mark.parametrize("program", [agent, reconciler])


class Hub:
    """Answers every request with an empty object and the Date of its clock."""

    def __init__(self) -> None:
        self.date: Callable[[], str] = lambda: formatdate(usegmt=True)

    def __call__(self, seen: Seen) -> Reply:
        del seen
        return Reply.of({}, headers={"Date": self.date()})


@both
async def test_the_hubs_clock_counts_and_does_not_jump_with_the_local_one(program: Start, tmp_path: Path) -> None:
    """A hub that is ten minutes ahead; the local clock is then set back by an hour."""
    clock, hub = Jumping(), Hub()
    hub.date = lambda: formatdate(SystemClock().wall() + 600, usegmt=True)
    async with HttpFake(hub) as server, program(kubeconfig(tmp_path / "config", server=server.url), clock) as it:
        await it.get()
        assert it.hub_time() == pytest.approx(SystemClock().wall() + 600, abs=5)
        clock.jump = -3600.0
        assert it.hub_time() == pytest.approx(SystemClock().wall() + 600, abs=5)
        await it.get()
        assert it.hub_time() == pytest.approx(SystemClock().wall() + 600, abs=5)


@both
@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "yesterday"])
async def test_a_date_that_cannot_be_true_changes_nothing(program: Start, tmp_path: Path, date: str) -> None:
    """Such as a proxy in front of the hub may send. The time is still one that can be written down."""
    hub = Hub()
    hub.date = lambda: date
    async with HttpFake(hub) as server, program(kubeconfig(tmp_path / "config", server=server.url), SystemClock()) as it:
        await it.get()
        assert it.hub_time() == pytest.approx(SystemClock().wall(), abs=5)
        it.write_time(it.hub_time())
