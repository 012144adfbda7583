"""Bad requests get a 4xx with its place, bugs a 500 without private text, and work is bounded."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from dsf_scorer import RefusedError, Score, ScorerApp, Series, Settings, batch_scorer, scorer
from dsf_scorer.app import Message
from dsf_scorer.testing import Reply, ask, exchange, send, series

SMALL = Settings(max_body_bytes=200, max_series=2)


@scorer(name="last", interval_seconds=60, settings=SMALL)
def last(one: Series) -> float | None:
    return one.last


ROOMY = replace(SMALL, max_body_bytes=2_000_000)


@scorer(name="last", interval_seconds=60, settings=ROOMY)
def roomy(one: Series) -> float | None:
    return one.last


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"", 400, "the body is not JSON"),
        (b'{"data": [', 400, "the body is not JSON"),
        (b'{"data": [NaN]}', 400, "the body is not JSON"),
        (b"\xff\xfe", 400, "the body is not JSON"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b"{}", 422, "missing required field `data`"),
        (b'{"data": {}}', 422, "Expected `array`, got `object` - at `$.data`"),
        (b'{"data": null}', 422, "`$.data`"),
        (b'{"data": [1]}', 422, "Expected `object`, got `int` - at `$.data[0]`"),
        (b'{"data": [{"values": []}]}', 422, "missing required field `metric` - at `$.data[0]`"),
        (b'{"data": [{"metric": {}}, {"metric": {"a": 1}}]}', 422, "`$.data[1].metric[...]`"),
        (
            b'{"data": [{"metric": {}, "values": [[1, "2"], [1, 2.5]]}]}',
            422,
            "`$.data[0].values[1][1]`; sample values are strings",
        ),
        (b'{"data": [{"metric": {}, "values": [[1]]}]}', 422, "`$.data[0].values[0]`"),
        (
            b'{"data": [{"metric": {}, "values": [[1, "2"], [2, "two"]]}]}',
            422,
            "'two' is not a number - at `$.data[0].values[1][1]`",
        ),
        (
            b'{"data": [{"metric": {}, "histograms": [[1, {"count": "3"}]]}]}',
            422,
            "native histograms",
        ),
        (
            b'{"data": [{"metric": {}}, {"metric": {}}, {"metric": {}}]}',
            413,
            "3 series in one request; this scoring API takes 2",
        ),
        (
            b'{"data": [], "arguments": 5}',
            422,
            "Expected `object | null`, got `int` - at `$.arguments`",
        ),
        (b'{"data": [], "arguments": {"a": 1}}', 422, "takes no arguments"),
        (b'{"data": [' + b" " * 200 + b"]}", 413, "larger than 200 bytes"),
    ],
)
def test_a_bad_body_is_refused_with_its_place(body: bytes, status: int, text: str) -> None:
    reply = send(last, "POST", "/scoring", body=body, headers={"content-type": "application/json"})
    assert (reply.status, text in reply.error) == (status, True), reply.error
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"data": ' + b"[" * 500_000,
        b'{"data": [], "arguments": ' + b'{"a":' * 100_000,
        b'{"data": [{"metric": {}, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
    ],
)
def test_deep_nesting_is_refused(body: bytes) -> None:
    assert 400 <= send(roomy, "POST", "/scoring", body=body).status < 500


def test_an_announced_size_above_the_limit_is_refused_unread() -> None:
    reply = send(last, "POST", "/scoring", body=b"", headers={"content-length": "201"})
    assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/scoring", 405, "POST"),
        ("PUT", "/scoring", 405, "POST"),
        ("POST", "/config", 405, "GET, HEAD"),
        ("DELETE", "/healthz", 405, "GET, HEAD"),
        ("GET", "/", 404, ""),
        ("POST", "/scoring/", 404, ""),
    ],
)
def test_wrong_methods_and_paths(method: str, path: str, status: int, allow: str) -> None:
    reply = send(last, method, path)
    assert (reply.status, reply.headers.get("allow", "")) == (status, allow)
    assert reply.error


def test_authors_can_refuse() -> None:
    @batch_scorer(name="picky", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        raise RefusedError("arguments.prices is empty")

    reply = ask(app)
    assert (reply.status, reply.error) == (422, "arguments.prices is empty")


@pytest.mark.parametrize("returned", ["5", True, None, [1], complex(1)])
def test_a_score_that_is_no_number_is_a_bug_of_the_scorer(
    returned: object, caplog: pytest.LogCaptureFixture
) -> None:
    @batch_scorer(name="wrong", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        return [Score({}, returned)]  # type: ignore[arg-type]

    with caplog.at_level(logging.ERROR):
        reply = ask(app)
    assert reply.status == 500
    assert "a score must be a number" in caplog.text


@pytest.mark.parametrize("returned", [None, "scores", {"a": 1}, [1.0], [Score({"a": 1}, 1.0)]])  # type: ignore[dict-item]
def test_a_batch_that_is_no_list_of_scores_is_a_bug_of_the_scorer(returned: object) -> None:
    @batch_scorer(name="wrong", interval_seconds=60)
    def app(found: list[Series]) -> list[Score]:
        return returned  # type: ignore[return-value]

    assert ask(app).status == 500


def test_the_text_of_an_exception_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    @scorer(name="leaky", interval_seconds=60)
    def app(one: Series) -> float:
        raise ValueError("password=hunter2")

    with caplog.at_level(logging.ERROR):
        reply = ask(app, [series([1])])
    assert reply.status == 500
    assert "ValueError" in reply.error
    assert "hunter2" not in reply.body.decode()
    assert "hunter2" in caplog.text
    assert 'code="500"' in send(app, "GET", "/metrics").body.decode()


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


@pytest.mark.parametrize(
    ("received", "settings", "statuses"),
    [
        (None, Settings(read_timeout_seconds=0.05), [408]),
        ({"type": "http.disconnect"}, Settings(), []),
    ],
    ids=["a body that never ends", "a caller that hung up"],
)
def test_nobody_is_awaited_or_answered_in_vain(
    received: Message | None, settings: Settings, statuses: list[int]
) -> None:
    assert [
        one["status"] for one in talk("http", received, settings) if "status" in one
    ] == statuses


@pytest.mark.parametrize("size", [1, 1 << 14])
async def test_bodies_that_trickle_hold_no_place(size: int) -> None:
    """Ten callers send a piece every second.

    Others are answered at once, and the ten get 408 in the end.
    """
    app = app_of(
        lambda one: one.last, Settings(max_concurrent=2, max_waiting=20, read_timeout_seconds=30)
    )
    loop = asyncio.get_running_loop()

    async def trickle() -> int:
        sent: list[Message] = []

        async def receive() -> Message:
            await asyncio.sleep(1)
            return {
                "type": "http.request",
                "body": b" " * size,
                "more_body": True,
            }

        async def send(message: Message) -> None:
            sent.append(message)

        await app(
            {"type": "http", "method": "POST", "path": "/scoring", "headers": []}, receive, send
        )
        return int(sent[0]["status"])

    slow = [asyncio.create_task(trickle()) for _ in range(10)]
    await asyncio.sleep(2)
    began = loop.time()
    for _ in range(20):
        assert (await post(app)).status == 200
    assert loop.time() - began < 1
    assert await asyncio.gather(*slow) == [408] * 10


async def test_large_bodies_are_read_a_few_at_a_time_and_small_ones_beside_them() -> None:
    """What is larger than 1 MiB is limited in number, because it is in memory."""
    app = app_of(
        lambda one: one.last, Settings(max_concurrent=2, max_waiting=20, read_timeout_seconds=30)
    )
    asked = list[int]()

    async def large(number: int) -> int:
        sent: list[Message] = []
        count = 0

        async def receive() -> Message:
            nonlocal count
            count += 1
            asked.append(number)
            await asyncio.sleep(0 if count < 3 else 60)
            return {"type": "http.request", "body": b" " * (1 << 20), "more_body": True}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(
            {"type": "http", "method": "POST", "path": "/scoring", "headers": []}, receive, send
        )
        return int(sent[0]["status"])

    tasks = [asyncio.create_task(large(number)) for number in range(5)]
    await asyncio.sleep(1)
    assert {number for number in asked if asked.count(number) > 2} == {0, 1}
    assert (await post(app)).status == 200
    assert await asyncio.gather(*tasks) == [408] * 5


def test_websockets_are_not_spoken() -> None:
    with pytest.raises(RuntimeError, match="speaks HTTP"):
        talk("websocket", {}, Settings())


def talk(kind: str, received: Message | None, settings: Settings) -> list[Message]:
    """What is sent to a caller of whom this is received, or nothing for an hour."""
    sent: list[Message] = []

    async def receive() -> Message:
        if received is None:
            await asyncio.sleep(3600)
        return received or {}

    async def send(message: Message) -> None:
        sent.append(message)

    app = app_of(lambda one: one.last, settings)
    asyncio.run(
        app({"type": kind, "method": "POST", "path": "/scoring", "headers": []}, receive, send)
    )
    return sent
