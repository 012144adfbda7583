"""Why a scoring API is not reached, told apart by real servers that fail in each way, down to the reason of
the condition.
"""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_dsf.reconciler.scorers.probes import FAILURES, Health, HealthStatus, probe
from gitops_dsf.sync.credentials import Request
from gitops_dsf.sync.fetch import Fault, Fetcher, FetchLimits, Page
from tests.integration.reconciler.scorers.test_hanging_apis import made
from tests.support.agent.certificates import Authority
from tests.support.pageserver import Answer, PageServer


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@contextmanager
def tls(context: ssl.SSLContext) -> Iterator[PageServer]:
    server = PageServer()
    server.serve_tls(context)
    with server:
        server.pages["/healthz"] = Answer(body=b"{}")
        yield server


def probed(url: str, *, trust: ssl.SSLContext | None = None, seconds: float = 20.0) -> Page | Fault:
    async def go() -> Page | Fault:
        async with Fetcher(limits=FetchLimits(seconds=seconds), trust=trust) as fetcher:
            return (await probe([made(url)], fetcher=fetcher))[Request(f"{url}/healthz")]

    return asyncio.run(go())


def verdict(answer: Page | Fault) -> tuple[str, str]:
    """Reason and message of Healthy when it was Active before, which takes several failures, and never
    reached.
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


def test_what_is_not_reached(pages: PageServer) -> None:
    """Plain HTTP behind https, a name that nobody has, and a port that nobody serves."""
    assert verdict(probed(pages.url.replace("http:", "https:")))[0] == "Connection"
    reason, message = verdict(probed("http://does-not-exist.invalid"))
    assert reason == "DNS"
    assert "does-not-exist.invalid/healthz: the host name is not known here" in message
    reason, message = verdict(probed("http://127.0.0.1:1"))
    assert (reason, "Connection refused" in message) == ("Connection", True)


def test_a_server_that_says_nothing(pages: PageServer) -> None:
    pages.pages["/healthz"] = pages.hang
    message = f"{pages.url}/healthz gave no complete answer within 1 s"
    assert verdict(probed(pages.url, seconds=1.0)) == ("Timeout", message)
    assert pages.asked["/config"] == 0


def test_a_bad_status_is_an_answer_and_config_is_still_asked(pages: PageServer) -> None:
    pages.pages["/healthz"] = Answer(status=503)
    assert verdict(probed(pages.url))[0] == "Status"
    assert pages.asked["/config"] == 1
