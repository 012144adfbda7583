"""How much text of the results an agent keeps: large labels of a scoring API do not fill the memory."""

import json

from dsf_agent.scoring.labels import MAX_NAME
from dsf_agent.scoring.results import MOST_TEXT
from tests.support.agent.configmap import entry
from tests.support.agent.http import HttpFake, Reply
from tests.support.agent.place import Place
from tests.support.agent.running import RunningAgent
from tests.support.waiting import until


def _results(count: int, *, label: str) -> Reply:
    rows = [{"metric": {"node": f"n{number}", "pod": label}, "score": 1} for number in range(count)]
    return Reply(body=json.dumps({"results": rows}, ensure_ascii=False).encode())


def _reasons(agent: RunningAgent) -> dict[str, str]:
    return {one["scoreName"]: one["reason"] for one in agent.agent.detail()[1]["scorers"] if one["reason"]}


async def test_answers_of_scoring_apis_are_limited_by_their_text(place: Place) -> None:
    """Too many bytes, too much text in memory (a wide character makes a text four times as large), and names
    that are too long. 50,000 results with names as pods have them are fine.
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
            messages = {one["scoreName"]: one["message"] for one in agent.agent.detail()[1]["scorers"]}
            assert "1/4 of --max-answer-bytes" in messages["large-score"]
            assert f"more than {MOST_TEXT} bytes together" in messages["wide-score"]
            assert "3 long_name" in messages["long-score"]
            await until(lambda: _exposes(agent, "well-score"), what="the large one is exported")


async def _exposes(agent: RunningAgent, name: str) -> bool:
    return name in await agent.exposed()
