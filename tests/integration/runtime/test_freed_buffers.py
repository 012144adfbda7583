"""What was read of a failed answer is freed at the end of the call, as its bytes count no more."""

import asyncio
import gc
import json
import logging
import ssl
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dsf_agent.configuration import settings
from dsf_agent.configuration.snapshot import parse
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.metrics import AgentMetrics
from dsf_agent.process import build
from dsf_agent.publish.publisher import Publisher
from dsf_runtime import answers
from dsf_runtime.access import Access
from dsf_runtime.answers import CodingError, ExcessError
from dsf_runtime.apiserver import ApiError, ApiServer
from dsf_runtime.calls import CallFault
from dsf_runtime.informer import Informer
from dsf_wire import clusters
from dsf_wire.clusters import FleetCluster
from dsf_wire.publishrule import PublishSettings
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.page import PageFault
from tests.support.agent.http import HttpFake, PeerFault, SentReply, head, matrix, series
from tests.support.agent.running import entry
from tests.support.waiting import until

SIZE, LIMIT = 1 << 20, 3 << 19
CALLS = 3
ERRORS = AgentError | CallFault | ExcessError | CodingError | ApiError
"""An error that is alive has its traceback, and so all that the functions in it had in memory."""


class Chunks(list[bytes]):
    """What answers are read into. Unlike a list it can have weak references."""


ANSWERS: dict[str, SentReply | PeerFault] = {
    "too large": PeerFault(writes=(head(), b" " * (LIMIT + SIZE)), hang=True),
    "not JSON": SentReply(body=b"x" * SIZE),
    "an error": SentReply(status=500, body=b"x" * SIZE),
    "broken off": PeerFault(writes=(head(length=LIMIT), b" " * SIZE)),
    "never ends": PeerFault(writes=(head(length=LIMIT), b" " * SIZE), hang=True),
}


def _left(read: list[weakref.ref[Chunks]]) -> list[object]:
    found = [one for one in gc.get_objects() if isinstance(one, SeriesText | ERRORS)]
    kept = [one for one in found if isinstance(one, SeriesText) or one.__traceback__]
    return [*kept, *(one for one in read if one() is not None)]


async def _assert_nothing_is_left(call: Callable[[], Awaitable[None]]) -> None:
    """After calls that failed, and without a garbage collection."""
    read: list[weakref.ref[Chunks]] = []

    class Body(answers.Body):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.chunks = found = Chunks()
            read.append(weakref.ref(found))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "Body", Body)
        gc.collect()
        gc.disable()
        try:
            for _ in range(CALLS):
                await call()
            assert read
            # Connections that still close hold the last results.
            await until(lambda: not _left(read), what="all is freed", seconds=20)
        finally:
            gc.enable()


@pytest.fixture(autouse=True)
def _no_records(caplog: pytest.LogCaptureFixture) -> None:
    """pytest keeps log records, and records keep the errors that they name."""
    caplog.set_level(logging.CRITICAL)


def _adapters(folder: Path, *flags: str) -> build.Adapters:
    command = [
        "check",
        "--config-dir",
        str(folder),
        "--cluster-name",
        "c1",
        "--request-timeout",
        "5",
        *flags,
    ]
    read = settings.read(
        settings.parser().parse_args([*command, "--max-answer-bytes", str(LIMIT)]), {}
    )
    return build.Adapters(read)


async def _cycles_leave_nothing(adapters: build.Adapters, one: dict[str, Any]) -> None:
    fleet = adapters.settings.clusters_file is not None
    listed = clusters.encode([FleetCluster(name="c1", scorers=("s",))]).encode()
    content = json.dumps([one]).encode()
    snapshot = parse(content, listed if fleet else None)
    assert snapshot.complete, snapshot.problems
    adapters.use_clusters(snapshot)
    cycle = adapters.cycle(snapshot.scorers[0], publication=None)

    async def run() -> None:
        try:
            await cycle.run()
        except AgentError:
            return
        pytest.fail("the cycle succeeds")

    try:
        await _assert_nothing_is_left(run)
    finally:
        await adapters.close()


@pytest.mark.parametrize("query", ["up", "up; up"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_of_metric_sources(name: str, query: str, tmp_path: Path) -> None:
    async with HttpFake(lambda _seen: ANSWERS[name]) as fake:
        one = entry("s", scoring=fake.url, source=fake.url, sourceQuery=query)
        await _cycles_leave_nothing(_adapters(tmp_path), one)


@pytest.mark.parametrize("on_hub", [False, True])
@pytest.mark.parametrize("name", ANSWERS)
async def test_of_scoring_apis(name: str, on_hub: bool, tmp_path: Path) -> None:
    """After a source that answers well, whose series are freed, too. The hub scorer splits them."""
    large = matrix(series(3000, points=10, cluster="c1"))
    more = {"runsOn": "Hub", "clusterLabel": {"name": "cluster"}} if on_hub else {}
    flags = ["--clusters", str(tmp_path / "clusters")] if on_hub else []
    async with HttpFake(lambda seen: large if seen.method == "GET" else ANSWERS[name]) as fake:
        one = entry("s", scoring=fake.url, source=fake.url, **more)
        await _cycles_leave_nothing(_adapters(tmp_path, *flags), one)


@pytest.mark.parametrize("name", ["too large", "broken off", "never ends"])
async def test_of_config_pages(name: str) -> None:
    async with (
        HttpFake(lambda _seen: ANSWERS[name]) as fake,
        Fetcher(limits=FetchLimits(seconds=5, answer_bytes=LIMIT)) as fetcher,
    ):

        async def call() -> None:
            assert isinstance(await fetcher.get(f"{fake.url}/config"), PageFault)

        await _assert_nothing_is_left(call)


@pytest.mark.parametrize("name", ANSWERS)
async def test_of_api_servers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsf_runtime.paging.MAX_PAGE_BYTES", LIMIT)
    monkeypatch.setattr("dsf_runtime.paging.ANSWER_BYTES", LIMIT)

    async with HttpFake(lambda _seen: ANSWERS[name]) as fake:
        access = Access(host=fake.url, trust=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        async with ApiServer(load=lambda: access, user_agent="test", timeout_seconds=5) as server:

            async def call() -> None:
                try:
                    await server.list("/api/v1/things", lambda _item: None)
                except ApiError:
                    return
                pytest.fail("the list succeeds")

            await _assert_nothing_is_left(call)


async def test_of_lists_and_watches_of_informers() -> None:
    async with HttpFake(lambda _seen: SentReply(body=b"x" * SIZE)) as fake:
        access = Access(host=fake.url, trust=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        async with ApiServer(load=lambda: access, user_agent="test", timeout_seconds=5) as server:
            informer = Informer(api=server, path="/api/v1/things", project=lambda _raw: ("", None))

            async def call() -> None:
                running = asyncio.create_task(informer.run())
                await informer.attempted.wait()
                informer.attempted.clear()
                running.cancel()
                await asyncio.wait({running})
                assert "the answer is not a list" in str(informer.failure)

            await _assert_nothing_is_left(call)


def test_of_writes_to_the_hub() -> None:
    rule = PublishSettings(deadband=2, min_interval=0, ttl=900, jitter=0)
    scorer, metrics = ScorerSummary(name="n", score_name="s"), AgentMetrics(cluster="c1").of("s")
    publisher = Publisher(
        store_of=lambda _cluster: pytest.fail("no write"),
        wall=lambda: 0.0,
    )
    many = publisher.publication(scorer, rule=rule, metrics=metrics, clusters=lambda: ())
    error = AgentError("no rights", reason=Reason.FORBIDDEN)
    many.failed("c1", error)
    alive = weakref.ref(error)
    del error
    assert (alive(), str(many.fault)) == (None, "cluster c1: no rights")
