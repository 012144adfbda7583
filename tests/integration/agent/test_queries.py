"""Requests to a metric source, as the HTTP API of Prometheus and compatible sources expect them."""

import asyncio
from typing import Any

import pytest

from dsf_agent.fetch.stage import window_end
from tests.support.agent.http import (
    Fault,
    HttpFake,
    Reply,
    Seen,
    last_values,
    matrix,
    prometheus_error,
    series,
)
from tests.support.agent.running import Place, entry
from tests.support.waiting import until


async def test_several_queries_are_sent_at_once_and_keep_their_order(place: Place) -> None:
    arrived: list[str] = []
    everyone = asyncio.Event()

    async def source(seen: Seen) -> Reply:
        name = seen.query["query"]
        arrived.append(name)
        if len(arrived) == 3:
            everyone.set()
        await everyone.wait()
        await asyncio.sleep({"a": 0.3, "b": 0.2, "c": 0.0}[name])
        return matrix(series(2, query=name))

    async with HttpFake(source) as fake, HttpFake(last_values) as scoring:
        place.put(entry("cpu", scoring=scoring.url, source=fake.url, sourceQuery="a; b;c;"))
        async with place.agent() as agent:
            await until(lambda: scoring.seen, what="scored")
            assert [one["metric"]["query"] for one in scoring.seen[0].json()["data"]] == [
                "a",
                "a",
                "b",
                "b",
                "c",
                "c",
            ]
            assert len({(seen.query["start"], seen.query["end"]) for seen in fake.seen}) == 1
            await until(lambda: agent.scorer()["state"] == "running", what="the cycle is done")
            assert (await agent.samples())['gitops_dsf_agent_series_fetched{score_name="cpu-score"}'] == 6


async def test_one_of_several_queries_that_fails_fails_the_cycle_and_is_named(place: Place) -> None:
    """Half of the data would give a wrong score. The other calls are cancelled, also one that hangs."""

    def source(seen: Seen) -> Reply | Fault:
        answers = {
            "a": matrix(series(1)),
            "b": prometheus_error("bad_data", "parse error"),
            "c": Fault(hang=True),
        }
        return answers[seen.query["query"]]

    async with HttpFake(source) as fake, HttpFake(last_values) as scoring:
        place.put(entry("cpu", scoring=scoring.url, source=fake.url, sourceQuery="a;b;c", scoringInterval=60))
        async with place.agent("--request-timeout", "300") as agent:
            await until(lambda: agent.scorer()["reason"] == "query_bad_data", what="it failed")
            assert "query 2 of 3 at" in agent.scorer()["message"]
            await until(lambda: fake.open == 0, what="the call that hangs was given up")
            assert scoring.seen == []


async def test_a_long_query_is_posted(place: Place) -> None:
    """Proxies refuse long URLs. Parameters of the endpoint's URL stay in the URL."""
    long = 'up{instance=~"' + "|".join(f"10.0.0.{number}:9100" for number in range(200)) + '"}'
    async with HttpFake(lambda _seen: matrix(series(1))) as fake, HttpFake(last_values) as scoring:
        endpoint = {"sourceEndpoint": f"{fake.url}/api/v1/query_range?dedup=true&tenant=a%20b"}
        place.put(entry("long", scoring=scoring.url, source=fake.url, sourceQuery=long) | endpoint)
        async with place.agent():
            await until(lambda: scoring.seen, what="scored")
            place.put(entry("short", scoring=scoring.url, source=fake.url) | endpoint)
            await until(lambda: len(fake.seen) == 2, what="a short one")
    posted, got = fake.seen
    assert (posted.method, got.method) == ("POST", "GET")
    assert posted.query == {"dedup": "true", "tenant": "a b"}
    assert posted.headers["content-type"] == "application/x-www-form-urlencoded"
    assert posted.form["query"] == long
    assert (posted.form["step"], int(posted.form["end"]) - int(posted.form["start"])) == ("30", 300)
    assert got.body == b""
    assert got.query.items() >= {"dedup": "true", "tenant": "a b", "query": "up", "step": "30"}.items()


@pytest.mark.parametrize(
    ("step", "end"),
    [
        (1, 1_700_003_599),
        (30, 1_700_003_580),
        (300, 1_700_003_400),
        (301, 1_700_003_599),
        (3600, 1_700_003_599),
    ],
)
def test_the_window_ends_at_a_multiple_of_a_small_step_and_now_with_a_large_one(step: int, end: int) -> None:
    """With a step of an hour, the last point would be up to an hour old."""
    assert window_end(1_700_003_599.9, step=step) == end


async def test_an_instant_query(place: Place) -> None:
    sample: dict[str, Any] = {"metric": {"node": "a"}, "value": [1_700_000_000.5, "7"]}
    answer = Reply.of({"status": "success", "data": {"resultType": "vector", "result": [sample]}})
    async with HttpFake(lambda _seen: answer) as fake, HttpFake(last_values) as scoring:
        place.put(
            entry("cpu", scoring=scoring.url, source=fake.url)
            | {"sourceEndpoint": f"{fake.url}/prom/api/v1/query"}
        )
        async with place.agent():
            await until((place.out / "cpu-score.yaml").exists, what="published")
    assert set(fake.seen[0].query) == {"query", "time"}
    assert scoring.seen[0].json() == {"data": [{"metric": {"node": "a"}, "values": [sample["value"]]}]}
    assert '{name: "a", value: 7}' in (place.out / "cpu-score.yaml").read_text()
