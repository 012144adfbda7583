"""Answers of stores with Prometheus' HTTP API, and of proxies before them.

How the backtest goes on after each.

The store runs in the loop of the test, so a wait takes no real time.
"""

import asyncio
import json
from collections.abc import Callable

import pytest

from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.metricstore.errors import StoreError
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    prometheus_error,
)

Answer = SentReply | PeerFault
START, STEP = 1_780_272_000, 60


def _points(seen: RecordedRequest) -> int:
    asked = seen.form or seen.query
    return round((float(asked["end"]) - float(asked["start"])) / float(asked["step"])) + 1


def _good(seen: RecordedRequest) -> SentReply:
    asked = seen.form or seen.query
    values = [[float(asked["start"]) + number * STEP, "7"] for number in range(_points(seen))]
    row = {"metric": {"cluster": "eu"}, "values": values}
    return SentReply.of({"status": "success", "data": {"resultType": "matrix", "result": [row]}})


async def _samples(url: str, *, query: str = "up", count: int = 100) -> list[float]:
    """The values that are read of a store, in order of time."""
    async with OpenStore(url) as store:
        pages = [page async for page in store.pages(query, start=START, step=STEP, count=count)]
    return [value for page in pages for row in page.answer.series for value in row.values.tolist()]


def _first(*answers: Answer) -> Callable[[RecordedRequest], Answer]:
    """These answers, and then good ones."""
    left = list(answers)
    return lambda seen: left.pop(0) if left else _good(seen)


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [
        (SentReply(status=429, headers={"Retry-After": "7"}), 7, 8),
        (SentReply(status=503, headers={"Retry-After": "20"}, body=b"starting"), 20, 21),
        (
            prometheus_error("too_many_requests", "too many outstanding requests", status=429),
            0.5,
            10,
        ),
    ],
    ids=["retry-after", "503", "without-header"],
)
async def test_a_busy_store_is_asked_again_after_the_time_that_it_wants(
    answer: SentReply, least: float, most: float
) -> None:
    async with HttpFake(_first(answer, answer)) as store:
        assert await _samples(store.url) == [7] * 100
    first, second, third = (seen.at for seen in store.seen)
    assert least <= second - first <= most
    assert second - first <= third - second <= 2 * most
    assert {_points(seen) for seen in store.seen} == {100}, "the same range is asked for again"


async def test_a_store_that_stays_busy_ends_the_backtest_with_what_it_said() -> None:
    refusal = prometheus_error("too_many_requests", "too many outstanding requests", status=429)
    began = asyncio.get_running_loop().time()
    async with HttpFake(lambda _seen: refusal) as store:
        with pytest.raises(StoreError, match=r"answered 429.*too many outstanding requests"):
            await _samples(store.url)
    assert 3 <= len(store.seen) <= 10
    assert asyncio.get_running_loop().time() - began < 600


async def test_a_store_that_wants_a_long_wait_is_not_waited_for() -> None:
    async with HttpFake(
        lambda _seen: SentReply(status=429, headers={"Retry-After": "1800"})
    ) as store:
        with pytest.raises(StoreError, match="answered 429 and asks to wait 1800 s"):
            await _samples(store.url)
    assert len(store.seen) == 1


LONG = 'up{instance=~"' + "|".join(f"10.0.0.{number}:9100" for number in range(200)) + '"}'


@pytest.mark.parametrize("query", ["up", LONG], ids=["short", "long"])
async def test_a_store_behind_a_proxy_that_takes_no_post_is_asked_with_get(query: str) -> None:
    def source(seen: RecordedRequest) -> Answer:
        return (
            _good(seen)
            if seen.method == "GET"
            else SentReply(status=405, headers={"Allow": "GET, HEAD"})
        )

    async with HttpFake(source) as store:
        assert await _samples(store.url, query=query, count=1200) == [7] * 1200
    assert [seen.query["query"] for seen in store.seen if seen.method == "GET"] == [query] * 2
    assert [seen.method for seen in store.seen].count("POST") == (query == LONG), (
        "POST is not tried again"
    )


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("/", "/api/v1/query_range"),
        ("/select/0/prometheus/", "/select/0/prometheus/api/v1/query_range"),
        ("/api/v1", "/api/v1/query_range"),
        ("/prom/api/v1/query_range", "/prom/api/v1/query_range"),
        ("/prom/api/v1/query/", "/prom/api/v1/query_range"),
    ],
)
async def test_the_url_of_a_store_is_its_base_or_that_of_its_query_api(
    base: str, path: str
) -> None:
    async with HttpFake(_good) as store:
        assert await _samples(f"{store.url}{base}") == [7] * 100
        assert await _samples(f"{store.url}{base}?tenant=a") == [7] * 100
    assert [seen.path for seen in store.seen] == [path, path]
    assert [seen.query.get("tenant") for seen in store.seen] == [None, "a"]


async def test_a_long_query_is_posted() -> None:
    """Proxies refuse long URLs."""
    async with HttpFake(_good) as store:
        assert await _samples(store.url, query=LONG) == [7] * 100
    [seen] = store.seen
    assert (seen.method, seen.form["query"], seen.query) == ("POST", LONG, {})


async def test_where_a_redirect_points_to_is_told() -> None:
    target = "https://thanos.example.com/api/v1/query_range?token=s3cret"
    async with HttpFake(lambda _seen: SentReply(status=302, headers={"Location": target})) as store:
        with pytest.raises(StoreError) as caught:
            await _samples(store.url)
    assert "answered 302 and points to https://thanos.example.com/api/v1/query_range;" in str(
        caught.value
    )
    assert "redirects are not followed, write that URL as --prometheus" in str(caught.value)
    assert "s3cret" not in str(caught.value)


SMALLER = {
    "prometheus": prometheus_error(
        "bad_data", "exceeded maximum resolution of 11,000 points per timeseries"
    ),
    "samples": prometheus_error(
        "execution", "query processing would load too many samples into memory", status=422
    ),
    "victoriametrics": prometheus_error(
        "422",
        "too many points for the given start, end and step: 50000; the maximum number of"
        " points is 30000",
        status=422,
    ),
    "victoriametrics-series": prometheus_error(
        "422",
        "the number of matching timeseries exceeds 300000; narrow down the search",
        status=422,
    ),
    "mimir": prometheus_error(
        "bad_data", "the query time range exceeds the limit (query length: 33h)"
    ),
    "spaced": SentReply(
        status=400, body=b'{ "status" : "error", "errorType": "x", "error": "too many samples" }'
    ),
    "not-json": SentReply(
        status=400, body=b"expanding series: the query hit the max number of chunks limit"
    ),
    "gateway": SentReply(status=504, body=b"<html>gateway timeout</html>"),
    "nginx": SentReply(status=413, body=b"<html>too large</html>"),
}


@pytest.mark.parametrize("name", SMALLER)
async def test_a_range_that_is_refused_as_too_large_is_asked_for_in_parts(name: str) -> None:
    def source(seen: RecordedRequest) -> Answer:
        return SMALLER[name] if _points(seen) > 40 else _good(seen)

    async with HttpFake(source) as store:
        assert await _samples(store.url) == [7] * 100


async def test_a_query_that_is_wrong_is_asked_once() -> None:
    refusal = prometheus_error("bad_data", "1:1: parse error: unexpected identifier")
    async with HttpFake(lambda _seen: refusal) as store:
        with pytest.raises(StoreError, match="bad_data: 1:1: parse error: unexpected identifier"):
            await _samples(store.url)
    assert len(store.seen) == 1


async def test_no_result_is_no_series() -> None:
    empty = {"status": "success", "data": {"resultType": "matrix", "result": None}}
    async with HttpFake(lambda _seen: SentReply.of(empty)) as store:
        assert await _samples(store.url) == []


async def test_an_answer_may_begin_with_a_byte_order_mark() -> None:
    def marked(seen: RecordedRequest) -> SentReply:
        return SentReply(body=b"\xef\xbb\xbf" + _good(seen).body)

    async with HttpFake(marked) as store:
        assert await _samples(store.url) == [7] * 100


async def test_the_last_of_two_samples_of_one_time_counts() -> None:
    """A proxy that joins the answers of two replicas may give both samples."""
    values = [[START, "1"], [START, "2"], [START + STEP, "3"], [START + STEP, "4"]]
    row = {"metric": {"cluster": "eu"}, "values": values}
    body = json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": [row]}}
    ).encode()
    async with HttpFake(lambda _seen: SentReply(body=body)) as store:
        assert await _samples(store.url, count=2) == [2, 4]
