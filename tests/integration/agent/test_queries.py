"""Requests to a metric source, scorers without a scoring API, and default scores."""

import asyncio
from typing import Any

import pytest

from dsf_agent.fetch.stage import window_end
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
    prometheus_error,
    series,
)
from tests.support.agent.running import AgentFolder, RunningAgent, entry
from tests.support.waiting import until


async def test_several_queries_are_sent_at_once_and_keep_their_order(place: AgentFolder) -> None:
    arrived: list[str] = []
    everyone = asyncio.Event()

    async def source(seen: RecordedRequest) -> SentReply:
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
            assert (await agent.samples())[
                'gitops_dsf_agent_series_fetched{score_name="cpu-score"}'
            ] == 6


async def test_one_of_several_queries_that_fails_fails_the_cycle_and_is_named(
    place: AgentFolder,
) -> None:
    """Half of the data would give a wrong score.

    The other calls are cancelled, also one that hangs.
    """

    def source(seen: RecordedRequest) -> SentReply | PeerFault:
        answers = {
            "a": matrix(series(1)),
            "b": prometheus_error("bad_data", "parse error"),
            "c": PeerFault(hang=True),
        }
        return answers[seen.query["query"]]

    async with HttpFake(source) as fake, HttpFake(last_values) as scoring:
        url = fake.url.replace("http://", "http://user:hunter2@")
        place.put(
            entry("cpu", scoring=scoring.url, source=url, sourceQuery="a;b;c", scoringInterval=60)
        )
        async with place.agent("--request-timeout", "300") as agent:
            await until(lambda: agent.scorer()["reason"] == "query_bad_data", what="it failed")
            assert "query 2 of 3 at" in agent.scorer()["message"]
            assert "bad_data: parse error" in agent.scorer()["message"]
            assert "hunter2" not in (await agent.get("/readyz")).text
            await until(lambda: fake.open == 0, what="the call that hangs was given up")
            assert scoring.seen == []


async def test_a_long_query_is_posted(place: AgentFolder) -> None:
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
    assert (
        got.query.items() >= {"dedup": "true", "tenant": "a b", "query": "up", "step": "30"}.items()
    )


async def test_a_long_query_is_sent_with_get_where_post_is_refused(place: AgentFolder) -> None:
    """A proxy that lets only reading pass may know reading by its method."""
    long = 'up{instance=~"' + "|".join(f"10.0.0.{number}:9100" for number in range(200)) + '"}'

    def source(seen: RecordedRequest) -> SentReply:
        if seen.method == "POST":
            return SentReply(status=405, headers={"Allow": "GET"})
        return matrix(series(1))

    async with HttpFake(source) as fake, HttpFake(last_values) as scoring:
        place.put(
            entry("long", scoring=scoring.url, source=fake.url, sourceQuery=long, scoringInterval=5)
        )
        async with place.agent() as agent:
            await until(lambda: len(scoring.seen) == 2, what="scored twice")
            assert await agent.failures() == {}
    assert [seen.method for seen in fake.seen] == ["POST", "GET", "GET"], "POST is not tried again"
    assert {seen.query["query"] for seen in fake.seen if seen.method == "GET"} == {long}


async def test_a_get_that_is_refused_is_told(place: AgentFolder) -> None:
    """Nothing else can be tried."""
    async with HttpFake(lambda _seen: SentReply(status=405)) as fake:
        place.put(entry("short", scoring="http://127.0.0.1:1", source=fake.url, scoringInterval=60))
        async with place.agent() as agent:
            await until(lambda: agent.scorer()["reason"] == "http_error", what="it failed")
            assert "answered 405" in agent.scorer()["message"]
    assert [seen.method for seen in fake.seen] == ["GET"]


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
def test_the_window_ends_at_a_multiple_of_a_small_step_and_now_with_a_large_one(
    step: int, end: int
) -> None:
    """With a step of an hour, the last point would be up to an hour old."""
    assert window_end(1_700_003_599.9, step=step) == end


def _query_entry(name: str, source: str, **more: Any) -> dict[str, Any]:
    """As the generator writes it: the path of the instant query, neither range nor step, no scoring
    API.
    """
    plain = entry(name, scoring="", source=source) | {
        "sourceEndpoint": f"{source}/api/v1/query",
        "sourceRange": 0,
        "sourceStep": 0,
        "scoringEndpoint": "",
        "scoringType": "Query",
    }
    return plain | more


def _vector(*samples: tuple[dict[str, str], str]) -> SentReply:
    result = [{"metric": labels, "value": [1_700_000_000.5, value]} for labels, value in samples]
    return SentReply.of({"status": "success", "data": {"resultType": "vector", "result": result}})


async def _state(agent: RunningAgent, state: str) -> dict[str, Any]:
    await until(lambda: agent.scorer()["state"] == state, what=f"the scorer is {state}")
    return agent.scorer()


async def test_the_values_of_a_query_are_published(place: AgentFolder) -> None:
    out = place.out / "cpu-score.yaml"
    async with HttpFake(
        lambda _seen: _vector(({"node": "a"}, "0.25"), ({"node": "b"}, "0.5"))
    ) as source:
        endpoint = f"{source.url}/proxy/instant"
        scale = {"min": 0, "max": 1, "outputMin": 0, "outputMax": 100}
        place.put(_query_entry("cpu", source.url, sourceEndpoint=endpoint, scoreRange=scale))
        async with place.agent() as agent:
            await until(out.exists, what="published")
            samples = await agent.samples()
    assert (source.seen[0].path, set(source.seen[0].query)) == ("/proxy/instant", {"query", "time"})
    assert '{name: "a", value: 25}' in out.read_text()
    assert '{name: "b", value: 50}' in out.read_text()
    raw = {
        name.split('ds_node="')[1][0]: value
        for name, value in samples.items()
        if name.startswith("dynamic_score{")
    }
    assert raw == {"a": 0.25, "b": 0.5}
    assert samples['dynamic_scoring_requests_total{score_name="cpu-score",status="success"}'] == 1
    assert 'dynamic_scoring_perform_seconds_total{score_name="cpu-score"}' in samples


HISTOGRAM = {"metric": {"node": "a"}, "histogram": [1, {"count": "1", "sum": "1"}]}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_vector(), "the query gave no series"),
        (_vector(({"node": "a"}, "NaN"), ({"node": "b"}, "+Inf")), "series 0: score is nan"),
        (
            SentReply.of(
                {"status": "success", "data": {"resultType": "vector", "result": [HISTOGRAM]}}
            ),
            "native histogram",
        ),
    ],
    ids=["no-series", "not-finite", "histogram"],
)
async def test_a_query_without_a_usable_value_is_told_and_publishes_nothing(
    place: AgentFolder, answer: SentReply, words: str
) -> None:
    async with HttpFake(lambda _seen: answer) as source:
        place.put(_query_entry("cpu", source.url))
        async with place.agent() as agent:
            found = await _state(agent, "failing")
            assert await agent.failures() == {"cpu-score": {"no_results"}}
            assert await agent.stages() == {"score"}
    assert words in found["message"]
    assert not place.written()


async def test_a_default_score_is_published_while_there_are_no_series(place: AgentFolder) -> None:
    answer = [_vector()]
    out = place.out / "cpu-score.yaml"
    rule = {"deadband": 0, "minIntervalSeconds": 0}
    async with HttpFake(lambda _seen: answer[0]) as source:
        place.put(
            _query_entry(
                "cpu",
                source.url,
                defaultScore=-5,
                scoreDimensionFormat="${scoreName}",
                publish=rule,
            )
        )
        async with place.agent() as agent:
            await until(out.exists, what="published")
            assert '{name: "cpu-score", value: -5}' in out.read_text()
            used = 'gitops_dsf_agent_default_score_used{score_name="cpu-score"}'
            assert (await agent.samples())[used] == 1
            assert await agent.exposed() == set()
            assert agent.scorer()["state"] == "running"
            answer[0] = _vector(({}, "70"))
            await until(lambda: "value: 70" in out.read_text(), what="the real score")
            assert (await agent.samples())[used] == 0
            assert await agent.exposed() == {"cpu-score"}


async def test_a_source_that_fails_does_not_give_the_default_score(place: AgentFolder) -> None:
    """A default in place of an unknown value would move applications while a Prometheus
    restarts.
    """
    async with HttpFake(
        lambda _seen: prometheus_error("unavailable", "starting", status=503)
    ) as source:
        place.put(_query_entry("cpu", source.url, defaultScore=1, scoreDimensionFormat=""))
        async with place.agent() as agent:
            await _state(agent, "failing")
            assert await agent.failures() == {"cpu-score": {"query_unavailable"}}
    assert not (place.out / "cpu-score.yaml").exists()


async def test_a_scoring_api_is_not_called_without_series_if_there_is_a_default_score(
    place: AgentFolder,
) -> None:
    out = place.out / "cpu-score.yaml"
    async with HttpFake(lambda _seen: matrix([])) as source, HttpFake(last_values) as scoring:
        place.put(
            entry("cpu", scoring=scoring.url, source=source.url)
            | {"defaultScore": 3, "scoreDimensionFormat": "${scoreName};${cluster}"}
        )
        async with place.agent():
            await until(out.exists, what="published")
        assert not scoring.seen
    assert '{name: "cpu-score;c1", value: 3}' in out.read_text()
