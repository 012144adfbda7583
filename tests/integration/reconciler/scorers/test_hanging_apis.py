"""A round over many scoring APIs of which some hang: who answers is judged right, and nobody waits for those
that do not.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer
from gitops_dsf.reconciler.run import CONCURRENT
from gitops_dsf.reconciler.scorers.probes import Answers, probe
from gitops_dsf.sync.credentials import Request
from gitops_dsf.sync.fetch import Fault, Fetcher, FetchLimits, Page
from tests.support.agent.http import Fault as Silence
from tests.support.agent.http import HttpFake, Reply

SECONDS = 4.0
GOOD, HANGING = 40, 10


@asynccontextmanager
async def serving(*, good: int, hanging: int) -> AsyncIterator[tuple[list[str], set[str]]]:
    """URLs of all, and of those that take a request and never answer, which are spread evenly."""
    every, answer = (good + hanging) // max(1, hanging), Reply.of({"name": "cpu"})
    urls, silent = list[str](), set[str]()
    async with AsyncExitStack() as stack:
        for number in range(good + hanging):
            hangs = number % every == 0 and len(silent) < hanging
            given = Silence(hang=True) if hangs else answer
            server = await stack.enter_async_context(HttpFake(lambda _, given=given: given))  # type: ignore[misc]
            urls.append(server.url)
            if hangs:
                silent.add(server.url)
        yield urls, silent


def made(url: str, name: str = "cpu", mode: str = "Full") -> DynamicScorer:
    item = {"metadata": {"name": name}, "spec": {"configURL": f"{url}/config", "configSyncMode": mode}}
    return scorer(msgspec.Raw(json.dumps(item).encode()))[1]


async def timed(urls: list[str], *, concurrent: int = CONCURRENT) -> tuple[Answers, float]:
    """What a round finds, and how many seconds of the loop's clock it takes."""
    loop = asyncio.get_running_loop()
    async with Fetcher(limits=FetchLimits(seconds=SECONDS, concurrent=concurrent)) as fetcher:
        began = loop.time()
        found = await probe(map(made, urls), fetcher=fetcher)
        return found, loop.time() - began


async def test_those_that_hang_cost_one_time_limit_and_no_verdict_of_others() -> None:
    async with serving(good=GOOD, hanging=HANGING) as (urls, silent):
        found, taken = await timed(urls)
    for url in urls:
        health, config = found[Request(f"{url}/healthz")], found[Request(f"{url}/config")]
        if url in silent:
            assert isinstance(health, Fault)
            assert (health.reason, config) == ("Timeout", health)
        else:
            assert isinstance(health, Page), health
            assert isinstance(config, Page), config
    # Asked one after another, or twice, they would cost two.
    assert SECONDS <= taken < 2 * SECONDS


async def test_places_that_hang_are_given_free_after_one_time_limit_each() -> None:
    async with serving(good=2, hanging=4) as (urls, silent):
        found, taken = await timed(urls, concurrent=2)
    assert {url for url in urls if isinstance(found[Request(f"{url}/healthz")], Fault)} == set(silent)
    # Four that hang in two places; /config of none of them is asked.
    assert 2 * SECONDS <= taken < 3 * SECONDS


async def test_a_page_that_several_scorers_share_is_asked_once_and_without_full_not_at_all() -> None:
    async with serving(good=1, hanging=0) as ((url,), _), Fetcher() as fetcher:
        every = [made(url, "a"), made(url, "b"), made(url, "c", mode="None")]
        assert set(await probe(every, fetcher=fetcher)) == {
            Request(f"{url}/healthz"),
            Request(f"{url}/config"),
        }
        assert set(await probe(every[2:], fetcher=fetcher)) == {Request(f"{url}/healthz")}
