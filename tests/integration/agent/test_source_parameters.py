"""URL parameters of a metric source, and answers in which the source says that data is missing."""

from typing import Any

import pytest

from tests.support.agent.http import (
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
    series,
)
from tests.support.agent.running import AgentFolder, entry
from tests.support.inmemory import InMemory
from tests.support.waiting import until

PARAMETERS = {
    "partial_response": "false",
    "namespace": "team a&b",
    "extra_filters[]": '{env="prod"}',
}
LONG = 'up{instance=~"' + "|".join(f"10.0.0.{number}:9100" for number in range(200)) + '"}'


async def test_parameters_are_in_the_url_of_every_request(place: AgentFolder) -> None:
    """Proxies that check a tenant read the URL alone, so a query that is posted has them there,
    too.
    """
    async with InMemory(lambda _seen: matrix(series(1))) as fake, InMemory(last_values) as scoring:
        names = {"short": "up", "long": LONG, "instant": "up"}
        entries = {
            name: entry(name, scoring=scoring.url, source=f"{fake.url}/{name}", sourceQuery=query)
            | {
                "sourceParameters": PARAMETERS,
                "sourceEndpoint": f"{fake.url}/{name}/api/v1/query_range?dedup=1",
            }
            for name, query in names.items()
        }
        entries["instant"]["sourceEndpoint"] = f"{fake.url}/instant/api/v1/query"
        place.put(*entries.values())
        async with place.agent():
            await until(
                lambda: {seen.path.split("/")[1] for seen in fake.seen} == set(names),
                what="all asked",
            )
    [short], [posted], [instant] = (fake.to(name) for name in names)
    assert (short.method, posted.method, instant.method) == ("GET", "POST", "GET")
    assert short.query.items() >= {**PARAMETERS, "dedup": "1", "query": "up", "step": "30"}.items()
    assert posted.query == {**PARAMETERS, "dedup": "1"}
    assert posted.form["query"] == LONG
    assert instant.query.items() >= {**PARAMETERS, "query": "up"}.items()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"step": "1"}, "the parameter step is part of the question"),
        ({"Query": "up"}, "the parameter Query is part of the question"),
        ({"a b": "1"}, "'a b' is not the name of a URL parameter"),
        ({"a": "x\n"}, "the value of the parameter a has a line break"),
        ({f"p{number}": "" for number in range(21)}, "21 parameters"),
        ({"a": 1}, "Expected `str`, got `int`"),
    ],
)
async def test_parameters_that_cannot_be_sent_cost_their_scorer_alone(
    place: AgentFolder, parameters: dict[str, Any], words: str
) -> None:
    async with InMemory(lambda _seen: matrix(series(1))) as fake, InMemory(last_values) as scoring:
        good = entry("good", scoring=scoring.url, source=fake.url)
        place.put(
            good, entry("bad", scoring=scoring.url, source=fake.url, sourceParameters=parameters)
        )
        async with place.agent() as agent:
            await until((place.out / "good-score.yaml").exists, what="the good one is published")
            assert words in (await agent.get("/readyz")).text
    assert _written(place) == {"good-score"}


PARTIAL: dict[str, dict[str, Any]] = {
    "victoriametrics": {"isPartial": True},
    "thanos": {
        "warnings": ["receive series from Addr: thanos-store:10901: rpc error: code = Unavailable"]
    },
    "truncated": {
        "warnings": [
            "PromQL warning: quantile value should be between 0 and 1",
            "results truncated",
        ]
    },
}
WHOLE: dict[str, dict[str, Any]] = {
    "plain": {},
    "not-partial": {"isPartial": False, "warnings": None},
    "promql": {"warnings": ["PromQL warning: quantile value should be between 0 and 1, got 2"]},
    "info": {"infos": ["PromQL info: metric might not be a counter"]},
    "old-info": {"warnings": ["PromQL info: metric might not be a counter"]},
}


def _written(place: AgentFolder) -> set[str]:
    return {file.stem for file in place.out.glob("*.yaml")}


def _answers(kinds: dict[str, dict[str, Any]]) -> Any:
    return lambda seen: matrix(series(1), **kinds[seen.path.split("/")[1]])


async def test_a_partial_answer_fails_the_cycle_where_git_asks_for_it(place: AgentFolder) -> None:
    async with InMemory(_answers(PARTIAL)) as fake, InMemory(last_values) as scoring:
        place.put(
            *(
                entry(
                    name, scoring=scoring.url, source=f"{fake.url}/{name}", sourceOnPartial="Fail"
                )
                for name in PARTIAL
            )
        )
        async with place.agent() as agent:
            await until(lambda: len(fake.seen) >= len(PARTIAL), what="all asked")
            await until(lambda: len(fake.seen) >= 2 * len(PARTIAL), what="all asked again")
            assert await agent.failures() == {
                f"{name}-score": {"partial_answer"} for name in PARTIAL
            }
            assert await agent.stages() == {"fetch"}
            states = {one["name"]: one["message"] for one in agent.agent.ready().detail["scorers"]}
            assert await agent.exposed() == set()
    assert "lacks data: the answer is partial (isPartial)" in states["victoriametrics"]
    assert "lacks data: receive series from Addr: thanos-store:10901" in states["thanos"]
    assert "lacks data: results truncated" in states["truncated"]
    assert scoring.seen == []
    assert not place.written()


async def test_a_whole_answer_is_published_where_partial_ones_fail(place: AgentFolder) -> None:
    """Annotations of PromQL say something of the query, and nothing of lost data."""
    async with InMemory(_answers(WHOLE)) as fake, InMemory(last_values) as scoring:
        place.put(
            *(
                entry(
                    name, scoring=scoring.url, source=f"{fake.url}/{name}", sourceOnPartial="Fail"
                )
                for name in WHOLE
            )
        )
        async with place.agent() as agent:
            await until(
                lambda: _written(place) == {f"{name}-score" for name in WHOLE}, what="published"
            )
            assert await agent.failures() == {}


async def test_a_partial_answer_is_published_by_default(place: AgentFolder) -> None:
    async with InMemory(_answers(PARTIAL)) as fake, InMemory(last_values) as scoring:
        place.put(
            entry("thanos", scoring=scoring.url, source=f"{fake.url}/thanos"),
            entry("victoriametrics", scoring=scoring.url, source=f"{fake.url}/victoriametrics")
            | {"sourceOnPartial": "Publish"},
        )
        async with place.agent() as agent:
            await until(
                lambda: _written(place) == {"thanos-score", "victoriametrics-score"},
                what="both are published",
            )
            assert await agent.failures() == {}


async def test_the_next_whole_answer_is_published(place: AgentFolder) -> None:
    answers: list[SentReply] = [matrix(series(1), isPartial=True)]

    def source(_seen: RecordedRequest) -> SentReply:
        return answers.pop() if answers else matrix(series(1))

    async with InMemory(source) as fake, InMemory(last_values) as scoring:
        place.put(entry("cpu", scoring=scoring.url, source=fake.url, sourceOnPartial="Fail"))
        async with place.agent() as agent:
            await until(lambda: _written(place) == {"cpu-score"}, what="published")
            await until(lambda: agent.scorer()["state"] == "running", what="it runs")
    assert len(fake.seen) >= 2
