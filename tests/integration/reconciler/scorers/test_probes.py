"""Probes of scoring APIs that fail in each way or do not answer.

Each is judged right, down to the reason of the condition, and nobody waits for those that hang.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.scorers.probes import ConfigPages, Health, HealthStatus, probe
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.page import FetchedPage, PageFault
from gitops_dsf.sync.requests import PageRequest
from tests.support.agent.certificates import Authority
from tests.support.agent.http import HttpFake, SentReply
from tests.support.agent.http import PeerFault as Silence
from tests.support.pageserver import Answer, ConfigPageServer
from tests.support.typed import scorer

CONCURRENT = 512
FAILURES = 3

SECONDS = 4.0
GOOD, HANGING = 40, 10


@asynccontextmanager
async def serving(*, good: int, hanging: int) -> AsyncIterator[tuple[list[str], set[str]]]:
    """URLs of all, and of those that take a request and never answer, which are spread evenly."""
    every, answer = (good + hanging) // max(1, hanging), SentReply.of({"name": "cpu"})
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
    return scorer(name, configURL=f"{url}/config", configSyncMode=mode)


async def timed(urls: list[str], *, concurrent: int = CONCURRENT) -> tuple[ConfigPages, float]:
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
        health, config = found[PageRequest(f"{url}/healthz")], found[PageRequest(f"{url}/config")]
        if url in silent:
            assert isinstance(health, PageFault)
            assert (health.reason, config) == ("Timeout", health)
        else:
            assert isinstance(health, FetchedPage), health
            assert isinstance(config, FetchedPage), config
    # Asked one after another, or twice, they would cost two.
    assert SECONDS <= taken < 2 * SECONDS


async def test_places_that_hang_are_given_free_after_one_time_limit_each() -> None:
    async with serving(good=2, hanging=4) as (urls, silent):
        found, taken = await timed(urls, concurrent=2)
    assert {
        url for url in urls if isinstance(found[PageRequest(f"{url}/healthz")], PageFault)
    } == set(silent)
    # Four that hang in two places; /config of none of them is asked.
    assert 2 * SECONDS <= taken < 3 * SECONDS


async def test_a_page_that_several_scorers_share_is_asked_once_and_without_full_not_at_all() -> (
    None
):
    async with serving(good=1, hanging=0) as ((url,), _), Fetcher() as fetcher:
        every = [made(url, "a"), made(url, "b"), made(url, "c", mode="None")]
        assert set(await probe(every, fetcher=fetcher)) == {
            PageRequest(f"{url}/healthz"),
            PageRequest(f"{url}/config"),
        }
        assert set(await probe(every[2:], fetcher=fetcher)) == {PageRequest(f"{url}/healthz")}


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@contextmanager
def tls(context: ssl.SSLContext) -> Iterator[ConfigPageServer]:
    server = ConfigPageServer()
    server.serve_tls(context)
    with server:
        server.pages["/healthz"] = Answer(body=b"{}")
        yield server


def probed(
    url: str, *, trust: ssl.SSLContext | None = None, seconds: float = 20.0
) -> FetchedPage | PageFault:
    async def go() -> FetchedPage | PageFault:
        async with Fetcher(limits=FetchLimits(seconds=seconds), trust=trust) as fetcher:
            return (await probe([made(url)], fetcher=fetcher))[PageRequest(f"{url}/healthz")]

    return asyncio.run(go())


def verdict(answer: FetchedPage | PageFault) -> tuple[str, str]:
    """Reason and message of Healthy when it was Active before, which takes several failures, and
    never reached.
    """
    down = Health(status=HealthStatus.ACTIVE)
    for _ in range(FAILURES):
        down = down.after(answer)
    assert down.status is HealthStatus.INACTIVE
    assert Health().after(answer).reason == down.reason
    return down.reason, down.message


def test_certificates(authority: Authority, tmp_path: Path) -> None:
    trust = ssl.create_default_context(cadata=authority.pem)
    with tls(authority.server(tmp_path)) as server:
        assert Health().after(probed(server.url, trust=trust)).status is HealthStatus.ACTIVE
        reason, message = verdict(probed(server.url))
    assert reason == "Certificate"
    assert "unable to get local issuer certificate" in message
    with tls(authority.server(tmp_path, host="elsewhere.example.com")) as server:
        reason, message = verdict(probed(server.url, trust=trust))
    assert reason == "Certificate"
    assert "IP address mismatch" in message


def test_what_is_not_reached(pages: ConfigPageServer) -> None:
    assert verdict(probed(pages.url.replace("http:", "https:")))[0] == "Connection"
    reason, message = verdict(probed("http://does-not-exist.invalid"))
    assert reason == "DNS"
    assert "does-not-exist.invalid/healthz: the host name is not known here" in message
    reason, message = verdict(probed("http://127.0.0.1:1"))
    assert (reason, "Connection refused" in message) == ("Connection", True)


def test_a_server_that_says_nothing(pages: ConfigPageServer) -> None:
    pages.pages["/healthz"] = pages.hang
    message = f"{pages.url}/healthz gave no complete answer within 1 s"
    assert verdict(probed(pages.url, seconds=1.0)) == ("Timeout", message)
    assert pages.asked["/config"] == 0


def test_a_bad_status_is_an_answer_and_config_is_still_asked(pages: ConfigPageServer) -> None:
    pages.pages["/healthz"] = Answer(status=503)
    assert verdict(probed(pages.url))[0] == "Status"
    assert pages.asked["/config"] == 1
