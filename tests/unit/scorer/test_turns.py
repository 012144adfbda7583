"""Bounded work: so many at a time, so many waiting, so long each."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable

import pytest

from dsf_scorer import ScorerApp, Series, Settings, scorer
from dsf_scorer.app import Message
from dsf_scorer.testing import Reply, exchange

BODY = b'{"data":[{"metric":{},"values":[[1,"1"]]}]}'
GRACE = 60.0


def app_of(
    function: Callable[[Series], float | None] | Callable[[Series], Awaitable[float | None]],
    settings: Settings,
) -> ScorerApp:
    return scorer(name="slow", interval_seconds=60, settings=settings)(function)


async def post(app: ScorerApp) -> Reply:
    return await exchange(app, "POST", "/scoring", body=BODY)


def test_no_more_than_max_concurrent_run_and_the_others_wait() -> None:
    async def scenario() -> tuple[list[int], int]:
        running = peak = 0
        gate = asyncio.Event()
        full = asyncio.Event()

        async def slow(one: Series) -> float:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            if running == 2:
                full.set()
            await gate.wait()
            running -= 1
            return 1.0

        app = app_of(slow, Settings(max_concurrent=2, max_waiting=2))
        tasks = [asyncio.create_task(post(app)) for _ in range(4)]
        await asyncio.wait_for(full.wait(), GRACE)
        refused = await post(app)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        gate.set()
        return [(await task).status for task in tasks], peak

    assert asyncio.run(scenario()) == ([200] * 4, 2)


def test_an_async_function_is_stopped_at_its_time_limit() -> None:
    stopped: list[bool] = []

    async def slow(one: Series) -> float:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            stopped.append(True)
            raise
        return 1.0

    async def scenario() -> list[Reply]:
        app = app_of(slow, Settings(max_concurrent=1, timeout_seconds=0.05))
        return [await post(app), await post(app)]

    replies = asyncio.run(scenario())
    assert [reply.status for reply in replies] == [503, 503]
    assert "no score after 0.05 s" in replies[0].error
    assert stopped == [True, True]


def test_a_thread_keeps_its_place_until_it_is_done(caplog: pytest.LogCaptureFixture) -> None:
    gate = threading.Event()

    def slow(one: Series) -> float:
        gate.wait(GRACE)
        raise ValueError("too late to matter")

    async def scenario() -> None:
        app = app_of(slow, Settings(max_concurrent=1, max_waiting=0, timeout_seconds=0.05))
        late = await post(app)
        assert "no score after" in late.error
        assert "waiting" in (await post(app)).error, "the place is still taken"
        gate.set()
        for _ in range(1000):
            if "waiting" not in (await post(app)).error:
                return
            await asyncio.sleep(0.01)
        pytest.fail("the place was never given back")

    with caplog.at_level(logging.ERROR):
        asyncio.run(scenario())
    assert "too late to matter" in caplog.text


def scope_of(headers: list[tuple[bytes, bytes]]) -> dict[str, object]:
    return {"type": "http", "method": "POST", "path": "/scoring", "headers": headers}


def test_a_body_that_never_ends_is_given_up() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(3600)
        return {}

    async def send(message: Message) -> None:
        sent.append(message)

    app = app_of(lambda one: one.last, Settings(read_timeout_seconds=0.05))
    asyncio.run(_call(app, receive, send))
    assert sent[0]["status"] == 408


def test_nobody_is_answered_who_hung_up() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    app = app_of(lambda one: one.last, Settings())
    asyncio.run(_call(app, receive, send))
    assert sent == []


async def _call(
    app: ScorerApp, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    await app(scope_of([]), receive, send)


def test_websockets_are_not_spoken() -> None:
    async def scenario() -> None:
        async def receive() -> Message:
            return {}

        async def send(message: Message) -> None:
            return None

        app = app_of(lambda one: one.last, Settings())
        await app({"type": "websocket", "path": "/scoring", "headers": []}, receive, send)

    with pytest.raises(RuntimeError, match="speaks HTTP"):
        asyncio.run(scenario())
