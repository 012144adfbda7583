"""What programs that read once do while an API server is too busy and answers with 429."""

import asyncio
from collections.abc import Callable

import pytest

from dsf_runtime.access import Access
from dsf_runtime.apierrors import ApiError
from dsf_runtime.blocking import BlockingApiServer
from tests.support.agent.http import HttpFake, RecordedRequest, SentReply
from tests.support.withouttls import PLAIN

BUSY_RETRIES = 10

PATH = "/api/v1/configmaps"
THING = {"metadata": {"name": "a", "namespace": "n"}}
LISTING = {"metadata": {}, "items": [THING]}


async def view(url: str, sleep: Callable[[float], None] = lambda _seconds: None) -> bytes:
    access = Access(host=url, trust=PLAIN)
    with BlockingApiServer(
        load=lambda: access, user_agent="test", timeout_seconds=20, sleep=sleep
    ) as server:
        return await asyncio.to_thread(server.get, PATH)


def busy(times: int, *, retry_after: str | None = "1") -> Callable[[RecordedRequest], SentReply]:
    left = [times]

    def answer(seen: RecordedRequest) -> SentReply:
        if left[0] == 0:
            return SentReply.of(LISTING)
        left[0] -= 1
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        status = {"kind": "Status", "message": "storage is (re)initializing"}
        return SentReply.of(status, status=429, headers=headers)

    return answer


async def test_they_ask_again_when_the_server_says() -> None:
    slept = list[float]()
    async with HttpFake(busy(BUSY_RETRIES)) as server:
        assert await view(server.url, slept.append)
    assert slept == [1.0] * BUSY_RETRIES
    assert len(server.seen) == BUSY_RETRIES + 1


@pytest.mark.parametrize(
    ("times", "retry_after", "waited"),
    [(BUSY_RETRIES + 1, "1", BUSY_RETRIES), (1, "11", 0), (1, None, 0)],
    ids=["busy for long", "asks to wait for long", "does not say how long"],
)
async def test_they_give_up_and_say_what_the_server_said(
    times: int, retry_after: str | None, waited: int
) -> None:
    async with HttpFake(busy(times, retry_after=retry_after)) as server:
        with pytest.raises(ApiError, match=r"429 storage is \(re\)initializing"):
            await view(server.url)
    assert len(server.seen) == waited + 1
