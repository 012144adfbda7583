"""Faults of scoring APIs: invalid results are dropped, invalid answers fail the cycle."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec

from tests.support import yamlfast
from tests.support.agent.faults import EAGER, survives
from tests.support.agent.http import HttpFake, PeerFault, SentReply, head, matrix, series
from tests.support.agent.running import AgentFolder, RunningAgent, entry
from tests.support.waiting import until

MAX_NAME = 1 << 10
MAX_TEXT = 16 << 20


def results(*pairs: tuple[str, str]) -> SentReply:
    rows = ",".join(
        f'{{"metric": {{"node": {json.dumps(node)}}}, "score": {score}}}' for node, score in pairs
    )
    return SentReply(body=f'{{"results": [{rows}]}}'.encode())


GOOD = results(("a", "1.5"), ("b", "-2.5"))
LONG = "x" * 10_000

PUBLISHED: dict[str, tuple[SentReply, dict[str, int], dict[str, int]]] = {
    # name: answer, what is published, what is dropped by reason
    "plain": (GOOD, {"a": 1, "b": -3}, {}),
    "nan": (results(("a", "NaN"), ("b", "3")), {"b": 3}, {"not_finite": 1}),
    "infinite": (
        results(("a", "Infinity"), ("b", "-Infinity"), ("c", "4")),
        {"c": 4},
        {"not_finite": 2},
    ),
    "overflow": (results(("a", "1e999"), ("b", "5")), {"b": 5}, {"not_finite": 1}),
    "huge": (
        results(("a", "1e300"), ("b", "-1e300"), ("c", "100.9"), ("d", "-100.1")),
        {"a": 100, "b": -100, "c": 100, "d": -100},
        {},
    ),
    "not-numbers": (
        results(("a", '"7"'), ("b", "null"), ("c", "true"), ("d", "7")),
        {"d": 7},
        {"invalid": 3},
    ),
    "duplicates": (results(("a", "1"), ("a", "2"), ("a", "3")), {"a": 3}, {}),
    "unicode": (
        results(("nœud-ü-節點-🚀", "8"), ('"quoted"\n\\', "9")),
        {"nœud-ü-節點-🚀": 8, '"quoted"\n\\': 9},
        {},
    ),
    "long": (
        results((LONG[:MAX_NAME], "10"), (LONG, "10")),
        {LONG[:MAX_NAME]: 10},
        {"long_name": 1},
    ),
    "lone-surrogate": (
        SentReply(
            body=(
                b'{"results": [{"metric": {"node": "\\ud800"}, "score": 1}, {"metric": {"node": "b"},'  # noqa: E501
                b' "score": 2}]}'
            )
        ),
        {"b": 2},
        {"invalid": 1},
    ),
    "not-utf8": (
        SentReply(
            body=(
                b'{"results": [{"metric": {"node": "\xff"}, "score": 1}, {"metric": {"node": "b"}, "score":'  # noqa: E501
                b" 2}]}"
            )
        ),
        {"b": 2},
        {"invalid": 1},
    ),
    "no-name": (results(("", "1"), ("b", "2")), {"b": 2}, {"no_name": 1}),
    "more-keys": (
        SentReply(
            body=b'{"version": 2, "results": [{"metric": {"node": "a", "x": "y"}, "score": 1, "why": {}}]}'  # noqa: E501
        ),
        {"a": 1},
        {},
    ),
    "marked": (SentReply(body=b"\xef\xbb\xbf" + GOOD.body), {"a": 1, "b": -3}, {}),
    "marked-nan": (
        SentReply(body=b"\xef\xbb\xbf" + results(("a", "NaN"), ("b", "3")).body),
        {"b": 3},
        {"not_finite": 1},
    ),
    "nan-elsewhere": (
        SentReply(body=b'{"took": NaN, "results": [{"metric": {"node": "a"}, "score": 1}]}'),
        {"a": 1},
        {},
    ),
}

FAILED: dict[str, tuple[SentReply | PeerFault, str]] = {
    "compressed-unasked": (
        SentReply(body=gzip.compress(GOOD.body), headers={"Content-Encoding": "gzip"}),
        "invalid_body",
    ),
    "all-bad": (results(("a", "NaN"), ("b", "null")), "no_results"),
    "none": (results(), "no_results"),
    "nameless": (results(("", "1"), ("", "2")), "no_results"),
    "odd-rows": (
        SentReply(
            body=b'{"results": [1, null, {"metric": {"node": 5}, "score": 1}, {"metric": {"node": "a"}}, []]}'  # noqa: E501
        ),
        "no_results",
    ),
    "hangs": (PeerFault(hang=True), "timeout"),
    # Each byte arrives within the time-out. The time limit of the whole request ends the call.
    "drips": (
        PeerFault(writes=(head(length=1000), *([b" "] * 100)), pause=5.0, hang=True),
        "timeout",
    ),
    "resets": (PeerFault(writes=(head(length=100), b'{"res')), "connection_lost"),
    "throttled": (
        SentReply(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        "throttled",
    ),
    "server-error": (SentReply(status=500, body=b"Traceback"), "server_error"),
    "redirects": (
        SentReply(status=307, headers={"Location": "https://elsewhere.example.org/scoring"}),
        "redirected",
    ),
    "not-json": (SentReply(body=b"OK"), "invalid_body"),
    "too-large": (SentReply(body=b'{"results": []}' + b" " * 300_000), "too_large"),
}


async def test_every_fault_of_a_scoring_api(tmp_path: Path) -> None:
    await survives(tmp_path, side="scoring", faults=FAILED)


async def test_every_answer_with_good_results(place: AgentFolder) -> None:
    async with HttpFake(lambda seen: PUBLISHED[seen.path.split("/")[1]][0]) as api:
        place.put(
            *(entry(name, scoring=f"{api.url}/{name}", scoringInterval=60) for name in PUBLISHED)
        )
        async with place.agent() as agent:
            await until(
                lambda: len(list(place.out.glob("*.yaml"))) == len(PUBLISHED),
                what="all are written",
            )
            for name, (_, items, dropped) in PUBLISHED.items():
                assert _items(place.out / f"{name}-score.yaml") == items, name
                assert await _dropped(agent, f"{name}-score") == dropped, name
            assert await agent.failures() == {}
            assert await agent.exposed() == {f"{name}-score" for name in PUBLISHED}


def _items(path: Path) -> dict[str, int]:
    return {
        item["name"]: item["value"] for item in yamlfast.load(path.read_text())["status"]["scores"]
    }


async def _dropped(agent: RunningAgent, score_name: str) -> dict[str, int]:
    prefix, suffix = (
        'gitops_dsf_agent_results_dropped_total{reason="',
        f'",score_name="{score_name}"}}',
    )
    samples = await agent.samples()
    return {
        name[len(prefix) : -len(suffix)]: int(value)
        for name, value in samples.items()
        if name.startswith(prefix) and name.endswith(suffix)
    }


async def test_a_cycle_without_results_publishes_nothing_and_changes_nothing(
    place: AgentFolder,
) -> None:
    """No empty object is published, as OCM would count 0; the last scores stay until they
    expire.
    """
    answer: SentReply = results()
    async with HttpFake(lambda _seen: matrix([])) as source, HttpFake(lambda _seen: answer) as api:
        place.put(
            entry("cpu", scoring=api.url, source=source.url, scoringInterval=1, publish=EAGER)
        )
        async with place.agent() as agent:
            # More calls than a back-off of its own would make in a minute: an empty answer is
            # nobody's overload.
            await until(lambda: len(api.seen) >= 8, what="it goes on asking once an interval")
            assert await agent.failures() == {"cpu-score": {"no_results"}}
            assert "no results for 0 series" in agent.scorer()["message"]
            assert not place.written()
            answer = GOOD
            await until(lambda: list(place.out.glob("cpu*")), what="published once there is data")
            text = (place.out / "cpu-score.yaml").read_text()
            answer = results()
            await until(lambda: agent.scorer()["state"] == "failing", what="the data is gone")
            assert await agent.exposed() == set()
            assert (place.out / "cpu-score.yaml").read_text() == text


async def test_the_request_is_the_wire_contract(place: AgentFolder) -> None:
    given = series(2, points=2)
    given[0]["values"][0][1] = "1.0000000000000000001"
    sources: list[dict[str, Any]] = [*given]
    async with (
        HttpFake(lambda _seen: matrix(sources)) as source,
        HttpFake(lambda _seen: GOOD) as api,
    ):
        two = entry(
            "two",
            scoring=api.url,
            source=source.url,
            sourceQuery='a{x=";"}; b',
            scoringArguments={"α": [1, {"b": None}]},
        )
        place.put(two, entry("none", scoring=api.url))
        async with place.agent():
            await until(lambda: len(api.seen) == 2, what="both scored")
        posted = {len(seen.json()["data"]): seen for seen in api.seen}
        assert posted[0].json() == {"data": []}
        assert posted[4].json() == {"data": [*given, *given], "arguments": {"α": [1, {"b": None}]}}
        assert b'"1.0000000000000000001"' in posted[4].body
        assert posted[4].headers["content-length"] == str(len(posted[4].body))
        assert posted[4].headers["content-type"] == "application/json"
        assert sorted(seen.query["query"] for seen in source.seen) == ['a{x=";"}', "b"]


def _results(count: int, *, label: str) -> SentReply:
    rows = [{"metric": {"node": f"n{number}", "pod": label}, "score": 1} for number in range(count)]
    return SentReply(body=msgspec.json.encode({"results": rows}))


def _reasons(agent: RunningAgent) -> dict[str, str]:
    return {
        one["scoreName"]: one["reason"]
        for one in agent.agent.ready().detail["scorers"]
        if one["reason"]
    }


async def test_answers_of_scoring_apis_are_limited_by_their_text(place: AgentFolder) -> None:
    """Too many bytes, too much text in memory (a wide character makes a text four times as large),
    and names that are too long. 50,000 results with names as pods have them are fine.
    """
    answers = {
        "well": _results(50_000, label="app-7d9c5b6f4d-x2x4z"),
        "large": _results(13_000, label="x" * 1300),
        "wide": _results(20_000, label="x" * 250 + "🚀"),
        "long": _results(3, label="x" * MAX_NAME),
    }
    formats = {"wide": "${node}${pod}", "long": "${pod}${node}"}
    async with HttpFake(lambda seen: answers[seen.path.split("/")[1]]) as api:
        place.put(
            *(
                entry(
                    name,
                    scoring=f"{api.url}/{name}",
                    scoringInterval=3600,
                    scoreDimensionFormat=formats.get(name, "${node}"),
                    scoreDestination="AddOnPlacementScore" if name == "long" else "None",
                )
                for name in answers
            )
        )
        async with place.agent() as agent:
            await until(lambda: len(_reasons(agent)) == 3, what="three fail")
            assert _reasons(agent) == {
                "large-score": "too_large",
                "wide-score": "too_large",
                "long-score": "no_results",
            }
            messages = {
                one["scoreName"]: one["message"] for one in agent.agent.ready().detail["scorers"]
            }
            assert "1/4 of --max-answer-bytes" in messages["large-score"]
            assert f"more than {MAX_TEXT} bytes together" in messages["wide-score"]
            assert "3 long_name" in messages["long-score"]
            assert await _dropped(agent, "long-score") == {"long_name": 3}
            await until(lambda: _exposes(agent, "well-score"), what="the large one is exported")


async def _exposes(agent: RunningAgent, name: str) -> bool:
    return name in await agent.exposed()
