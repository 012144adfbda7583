"""Scorers without a scoring API, and default scores: from the source to the published object."""

from datetime import datetime
from typing import Any

import pytest

from tests.support import yamlfast
from tests.support.agent.http import HttpFake, Reply, last_values, matrix, prometheus_error
from tests.support.agent.running import Place, RunningAgent, entry
from tests.support.virtual_time import LoopClock
from tests.support.waiting import until


def _query_entry(name: str, source: str, **more: Any) -> dict[str, Any]:
    """As the generator writes it: the path of the instant query, neither range nor step, no scoring API."""
    plain = entry(name, scoring="", source=source) | {
        "sourceEndpoint": f"{source}/api/v1/query",
        "sourceRange": 0,
        "sourceStep": 0,
        "scoringEndpoint": "",
        "scoringType": "Query",
    }
    return plain | more


def _vector(*samples: tuple[dict[str, str], str]) -> Reply:
    result = [{"metric": labels, "value": [1_700_000_000.5, value]} for labels, value in samples]
    return Reply.of({"status": "success", "data": {"resultType": "vector", "result": result}})


async def _state(agent: RunningAgent, state: str) -> dict[str, Any]:
    await until(lambda: agent.scorer()["state"] == state, what=f"the scorer is {state}")
    return agent.scorer()


async def test_the_values_of_a_query_are_published(place: Place) -> None:
    out = place.out / "cpu-score.yaml"
    async with HttpFake(lambda _seen: _vector(({"node": "a"}, "0.25"), ({"node": "b"}, "0.5"))) as source:
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


async def test_several_expressions_are_several_results(place: Place) -> None:
    answers = {
        "up": _vector(({"node": "a"}, "1"), ({"node": "b"}, "2")),
        "down": _vector(({"node": "a"}, "9")),
    }
    more = {"sourceQuery": "up; down;", "scoreAggregation": "Sum", "scoreTTLSeconds": 7200}
    async with HttpFake(lambda seen: answers[seen.query["query"]]) as source:
        place.put(_query_entry("cpu", source.url, **more))
        async with place.agent():
            await until(place.items, what="published")
    assert place.items() == {"a": 10, "b": 2}
    until_text = yamlfast.load((place.out / "cpu-score.yaml").read_text())["status"]["validUntil"]
    assert 7100 < datetime.fromisoformat(until_text).timestamp() - LoopClock().wall() <= 7200


HISTOGRAM = {"metric": {"node": "a"}, "histogram": [1, {"count": "1", "sum": "1"}]}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (_vector(), "the query gave no series"),
        (_vector(({"node": "a"}, "NaN"), ({"node": "b"}, "+Inf")), "series 0: score is nan"),
        (
            Reply.of({"status": "success", "data": {"resultType": "vector", "result": [HISTOGRAM]}}),
            "native histogram",
        ),
        (_vector(({"job": "x"}, "5")), "none of 1 results gives an item to publish: 1 no_name"),
    ],
    ids=["no-series", "not-finite", "histogram", "no-label"],
)
async def test_a_query_without_a_usable_value_is_told_and_publishes_nothing(
    place: Place, answer: Reply, words: str
) -> None:
    async with HttpFake(lambda _seen: answer) as source:
        place.put(_query_entry("cpu", source.url))
        async with place.agent() as agent:
            found = await _state(agent, "failing")
            assert await agent.failures() == {"cpu-score": {"no_results"}}
            assert await agent.stages() == {"score"}
    assert words in found["message"]
    assert not place.written()


async def test_a_default_score_is_published_while_there_are_no_series(place: Place) -> None:
    answer = [_vector()]
    out = place.out / "cpu-score.yaml"
    rule = {"deadband": 0, "minIntervalSeconds": 0}
    async with HttpFake(lambda _seen: answer[0]) as source:
        place.put(
            _query_entry(
                "cpu", source.url, defaultScore=-5, scoreDimensionFormat="${scoreName}", publish=rule
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


async def test_a_source_that_fails_does_not_give_the_default_score(place: Place) -> None:
    """A default in place of an unknown value would move applications while a Prometheus restarts."""
    async with HttpFake(lambda _seen: prometheus_error("unavailable", "starting", status=503)) as source:
        place.put(_query_entry("cpu", source.url, defaultScore=1, scoreDimensionFormat=""))
        async with place.agent() as agent:
            await _state(agent, "failing")
            assert await agent.failures() == {"cpu-score": {"query_unavailable"}}
    assert not (place.out / "cpu-score.yaml").exists()


async def test_a_scoring_api_is_not_called_without_series_if_there_is_a_default_score(place: Place) -> None:
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
