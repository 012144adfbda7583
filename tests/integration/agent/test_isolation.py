"""One scorer never affects another: hanging peers, sudden size, clocks that jump; nothing grows."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime

import pytest

from tests.support.agent.faults import EAGER
from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    head,
    last_values,
    matrix,
    scores,
    series,
)
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import AgentFolder, entry
from tests.support.virtual_time import wall
from tests.support.waiting import until

FREE_BYTES = 1 << 20
RESULT_BYTES = 512


async def test_an_answer_that_nobody_asked_for_reaches_no_scorer(place: AgentFolder) -> None:
    """A peer sends two answers.

    Another scorer of its origin, right after, gets the answer to its own.
    """
    body = b'{"results":[{"metric":{"node":"%s"},"score":1}]}'

    def answer(name: bytes) -> bytes:
        return head(length=len(body % name)) + body % name

    def reply(seen: RecordedRequest) -> PeerFault:
        name = seen.path.split("/")[1].encode()
        return PeerFault(writes=(answer(name) + answer(b"forged"),), hang=True)

    async with HttpFake(reply) as scoring:
        names = [f"s{number}" for number in range(8)]
        place.put(
            *(entry(name, scoring=f"{scoring.url}/{name}", scoringInterval=1) for name in names)
        )
        async with place.agent(per_origin=1):
            await until(lambda: len(scoring.seen) >= 5 * len(names), what="some cycles")
    assert {
        path.stem: list(place.items(path.stem.removesuffix("-score")))
        for path in place.out.glob("*")
    } == {f"{name}-score": [name] for name in names}


HANGING = 40


async def test_many_hanging_paths_of_one_origin_leave_slots_to_others(place: AgentFolder) -> None:
    """Once each of them has hung, they share four of eight slots. A healthy one keeps its grid."""

    def answer(seen: RecordedRequest) -> SentReply | PeerFault:
        return scores(1.0)(seen) if seen.path.startswith("/well/") else PeerFault(hang=True)

    async with HttpFake(answer) as fake:
        hanging = [
            entry(f"h{number}", scoring=f"{fake.url}/h", scoringInterval=1)
            for number in range(HANGING)
        ]
        place.put(*hanging, entry("well", scoring=f"{fake.url}/well", scoringInterval=1))
        async with place.agent("--request-timeout", "4") as agent_:
            began = asyncio.get_running_loop().time()
            await until(lambda: len(fake.to("h")) > HANGING, what="all have hung, some again")
            assert asyncio.get_running_loop().time() - began < 4 * (HANGING / 8 + 1) + 10
            calls = len(fake.to("well"))
            await until(lambda: len(fake.to("well")) >= calls + 20, what="the healthy one goes on")
            assert_on_grid(fake.to("well")[calls + 1 :], grid=grid_of("well"), least=10)
            assert "well-score" not in await agent_.failures()


async def test_series_that_wait_for_a_hanging_api_count_against_the_budget(
    place: AgentFolder,
) -> None:
    hung, hanging = list[RecordedRequest](), False
    large, small = matrix(series(1600, points=60)), matrix(series(2))
    held = len(large.body) + 1600 * RESULT_BYTES
    budget = 2 * held + held // 2
    assert len(large.body) > FREE_BYTES

    def score(seen: RecordedRequest) -> SentReply | PeerFault:
        if not hanging or seen.path.startswith("/well/"):
            return last_values(seen)
        hung.append(seen)
        return PeerFault(hang=True)

    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(
            HttpFake(lambda seen: small if seen.path.startswith("/well/") else large)
        )
        apis = [await stack.enter_async_context(HttpFake(score)) for _ in range(6)]
        big = [
            entry(f"big{number}", source=f"{source.url}/big", scoring=api.url, scoringInterval=1)
            for number, api in enumerate(apis)
        ]
        place.put(
            *big,
            entry(
                "well",
                source=f"{source.url}/well",
                scoring=f"{apis[0].url}/well",
                scoringInterval=1,
            ),
        )
        flags = ["--max-bytes-in-flight", str(budget), "--request-timeout", "60"]
        async with place.agent(*flags) as agent_:
            await until(
                lambda: all(one["lastSuccess"] for one in agent_.agent.ready().detail["scorers"]),
                what="all are well, their sizes known",
            )
            hanging = True
            await until(lambda: len(hung) == 2, what="two hang")
            calls, beats = len(source.to("big")), len(apis[0].to("well"))
            await until(lambda: len(apis[0].to("well")) >= beats + 4, what="the small one goes on")
            assert (len(hung), len(source.to("big"))) == (2, calls)


def _left(valid_until: str, hub: ScoreHub) -> float:
    return datetime.fromisoformat(valid_until).timestamp() - hub.now()


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
async def test_a_jump_of_the_clock(place: AgentFolder, jump: float) -> None:
    """The wall clock is set, as by an administrator or after a suspend."""
    hub = ScoreHub()
    async with HttpFake(scores(1.0)) as scoring, hub as server:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        ahead = 0.0
        async with place.agent(hub=server, clock=lambda: wall() + ahead) as agent_:
            await until(lambda: hub.values("cpu-score"), what="published")
            ahead = jump
            scoring.handler = scores(50.0)
            await until(
                lambda: hub.values("cpu-score") == {"n0": 50}, what="published after the jump"
            )
            assert 890 <= _left(hub.scores["c1", "cpu-score"]["status"]["validUntil"], hub) <= 902
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="the pace goes on")
            assert await agent_.failures() == {}
