"""One scorer never affects another: hanging peers, sudden size, clocks that jump; nothing grows."""

import asyncio
import itertools
from contextlib import AsyncExitStack
from datetime import datetime

import pytest

from dsf_agent.endpoints.budget import FREE_BYTES
from dsf_agent.scoring.results import RESULT_BYTES
from tests.support import yamlfast
from tests.support.agent.faults import EAGER
from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import Fault, HttpFake, Reply, Seen, head, last_values, matrix, scores, series
from tests.support.agent.hub import ScoreHub
from tests.support.agent.process import agent
from tests.support.agent.running import Place, entry
from tests.support.virtual_time import LoopClock
from tests.support.waiting import until


async def test_an_answer_that_nobody_asked_for_reaches_no_scorer(place: Place) -> None:
    """A peer sends two answers. Another scorer of its origin, right after, gets the answer to its own."""
    body = b'{"results":[{"metric":{"node":"%s"},"score":1}]}'

    def answer(name: bytes) -> bytes:
        return head(length=len(body % name)) + body % name

    def reply(seen: Seen) -> Fault:
        name = seen.path.split("/")[1].encode()
        return Fault(writes=(answer(name) + answer(b"forged"),), hang=True)

    async with HttpFake(reply) as scoring:
        names = [f"s{number}" for number in range(8)]
        place.put(*(entry(name, scoring=f"{scoring.url}/{name}", scoringInterval=1) for name in names))
        async with place.agent(per_origin=1):
            await until(lambda: len(scoring.seen) >= 5 * len(names), what="some cycles")
    assert {
        path.stem: list(place.items(path.stem.removesuffix("-score"))) for path in place.out.glob("*")
    } == {f"{name}-score": [name] for name in names}


async def test_a_hundred_hanging_scorers_delay_no_healthy_one(place: Place) -> None:
    silent = [HttpFake(lambda _seen: Fault(hang=True)) for _ in range(10)]
    async with AsyncExitStack() as stack:
        for fake in silent:
            await stack.enter_async_context(fake)
        scoring = await stack.enter_async_context(HttpFake(scores(1.0)))
        hanging = [
            entry(f"h{number}", scoring=silent[number % 10].url, scoringInterval=1) for number in range(100)
        ]
        place.put(*hanging, entry("well", scoring=scoring.url, scoringInterval=1))
        async with place.agent("--request-timeout", "60") as agent_:
            await until(lambda: len(scoring.seen) >= 6, what="the healthy one goes on")
            assert_on_grid(scoring.seen[1:], grid=grid_of("well"), least=4)
            assert "well-score" not in await agent_.failures()
            assert [fake.open for fake in silent] == [8] * 10, "no more calls to one origin than allowed"


async def test_a_hundred_hanging_paths_of_one_origin_leave_slots_to_others(place: Place) -> None:
    """Once each of them has hung, they share four of eight slots. A healthy one keeps its grid."""

    def answer(seen: Seen) -> Reply | Fault:
        return scores(1.0)(seen) if seen.path.startswith("/well/") else Fault(hang=True)

    async with HttpFake(answer) as fake:
        hanging = [entry(f"h{number}", scoring=f"{fake.url}/h", scoringInterval=1) for number in range(100)]
        place.put(*hanging, entry("well", scoring=f"{fake.url}/well", scoringInterval=1))
        async with place.agent("--request-timeout", "4") as agent_:
            began = asyncio.get_running_loop().time()
            await until(lambda: len(fake.to("h")) > 100, what="all have hung, some again")
            assert asyncio.get_running_loop().time() - began < 4 * (100 / 8 + 1) + 10
            calls = len(fake.to("well"))
            await until(lambda: len(fake.to("well")) >= calls + 20, what="the healthy one goes on")
            assert_on_grid(fake.to("well")[calls + 1 :], grid=grid_of("well"), least=10)
            assert "well-score" not in await agent_.failures()


async def test_series_that_wait_for_a_hanging_api_count_against_the_budget(place: Place) -> None:
    hung, hanging = list[Seen](), False
    large, small = matrix(series(1600, points=60)), matrix(series(2))
    held = len(large.body) + 1600 * RESULT_BYTES
    budget = 2 * held + held // 2
    assert len(large.body) > FREE_BYTES

    def score(seen: Seen) -> Reply | Fault:
        if not hanging or seen.path.startswith("/well/"):
            return last_values(seen)
        hung.append(seen)
        return Fault(hang=True)

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
            *big, entry("well", source=f"{source.url}/well", scoring=f"{apis[0].url}/well", scoringInterval=1)
        )
        flags = ["--max-bytes-in-flight", str(budget), "--request-timeout", "60"]
        async with place.agent(*flags) as agent_:
            await until(
                lambda: all(one["lastSuccess"] for one in agent_.agent.detail()[1]["scorers"]),
                what="all are well, their sizes known",
            )
            hanging = True
            await until(lambda: len(hung) == 2, what="two hang")
            calls, beats = len(source.to("big")), len(apis[0].to("well"))
            await until(lambda: len(apis[0].to("well")) >= beats + 4, what="the small one goes on")
            assert (len(hung), len(source.to("big"))) == (2, calls)


class Jumping(LoopClock):
    """A wall clock that can be set, as by an administrator or after a suspend."""

    def __init__(self) -> None:
        self.jump = 0.0

    def wall(self) -> float:
        return super().wall() + self.jump


def _left(valid_until: str, hub: ScoreHub) -> float:
    return datetime.fromisoformat(valid_until).timestamp() - hub.now()


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
async def test_a_jump_of_the_clock(place: Place, jump: float) -> None:
    """Cycles keep their grid, and validUntil stays correct by the hub's clock."""
    clock, hub = Jumping(), ScoreHub()
    async with HttpFake(scores(1.0)) as scoring, hub as server:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with place.agent(hub=server, clock=clock) as agent_:
            await until(lambda: hub.values("cpu-score"), what="published")
            clock.jump = jump
            scoring.handler = scores(50.0)
            await until(lambda: hub.values("cpu-score") == {"n0": 50}, what="published after the jump")
            assert 890 <= _left(hub.scores["c1", "cpu-score"]["status"]["validUntil"], hub) <= 902
            calls = len(scoring.seen)
            await until(lambda: len(scoring.seen) >= calls + 2, what="the pace goes on")
            assert await agent_.failures() == {}


@pytest.mark.parametrize("publishes_to", ["hub", "dir"])
async def test_a_hub_clock_that_is_set_back(place: Place, publishes_to: str) -> None:
    """It was an hour ahead: changes are written at once, and no score stays valid too long."""
    clock, hub = Jumping(), ScoreHub()

    def standing() -> tuple[float, int]:
        if publishes_to == "hub":
            status = hub.scores["c1", "cpu-score"]["status"]
        else:
            status = yamlfast.load((place.out / "cpu-score.yaml").read_text())["status"]
        return _left(status["validUntil"], hub), status["scores"][0]["value"]

    async with HttpFake(scores(1.0)) as scoring, hub as server:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=1, publish=EAGER))
        async with place.agent(hub=server if publishes_to == "hub" else None, clock=clock):
            await until(lambda: hub.values("cpu-score") or place.items(), what="published")
            hub.ahead = clock.jump = -3600.0
            await until(
                lambda: standing()[1] == 1 and standing()[0] <= 902, what="an expiry by the clock as it is"
            )
            scoring.handler = scores(50.0)
            await until(lambda: standing()[1] == 50, what="a change is published")
            assert 890 <= standing()[0] <= 902


@pytest.mark.real_time
@pytest.mark.soak
async def test_soak(place: Place) -> None:
    """Faults, edits and restarts for a while: descriptors and memory do not grow."""
    turn = itertools.count()
    body = matrix(series(300, points=20)).body
    kinds: list[Reply | Fault] = [
        Reply(body=body),
        Reply(status=500),
        Fault(),
        Fault(writes=(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", body[:500])),
        Reply(body=body[:-9]),
        Reply(body=body),
    ]

    def source(_seen: Seen) -> Reply | Fault:
        return kinds[next(turn) % len(kinds)]

    flags = place.flags("--cluster-name", "c1")
    async with HttpFake(source) as prometheus, HttpFake(last_values) as scoring, agent(*flags) as process:

        async def rounds(count: int) -> None:
            for number in range(count):
                names = [f"s{index}" for index in range(12)] + [f"t{number % 7}"]
                interval = 1 + number % 2
                place.put(
                    *(
                        entry(name, scoring=scoring.url, source=prometheus.url, scoringInterval=interval)
                        for name in names
                    )
                )
                await process.metrics()
                await asyncio.sleep(0.1)

        async def held() -> int:
            """Descriptors without those of a moment, such as a file that is being written."""
            counts = []
            for _ in range(20):
                counts.append(process.descriptors())
                await asyncio.sleep(0.1)
            return min(counts)

        await rounds(40)
        memory, descriptors = process.resident(), await held()
        await rounds(40)
        assert await held() < descriptors + 18, (
            "at most eight connections to each of the two peers are open at one moment"
        )
        assert process.resident() < memory + 6 * 2**20
        samples = await process.metrics()
        names = {
            name for name in samples if name.startswith("dynamic_scoring_requests_total") and '"t' in name
        }
        assert len(names) == 2, "only the present one of the passing scorers has series"
        assert await process.terminate() == 0
        assert "Traceback" not in process.log
