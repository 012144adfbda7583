"""What is written if the hub answers slowly or asks for a pause."""

import asyncio
import random
from collections.abc import Mapping

import pytest

from dsf_agent.errors import PublishError, Reason
from dsf_agent.metrics.registry import Metrics
from dsf_agent.publish.publication import Publication
from dsf_agent.publish.store import Stored
from dsf_wire.publishrule import Rule
from dsf_wire.summary import Summary
from tests.support.waiting import until


class SlowStore:
    """Answers the first read when the test says so, and records every write."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()
        self.writes: list[Mapping[str, int]] = []

    def wall(self) -> float:
        return 1_700_000_000.0

    async def read(self, name: str) -> Stored | None:
        del name
        self.asked.set()
        await self.answer.wait()
        return None

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
    ) -> None:
        del name, scorer, valid_until
        self.writes.append(values)

    async def list_owned(self) -> list[Stored]:
        return []

    async def delete(self, stored: Stored) -> None:
        raise AssertionError(stored)


@pytest.mark.parametrize("failed", [False, True])
async def test_only_scores_that_are_current_when_the_hub_answers_are_written(*, failed: bool) -> None:
    """If newer scores came meanwhile, they are written instead of the old ones. If the scorer failed
    meanwhile, the old scores are not written, and the next good ones are.
    """

    store = SlowStore()
    publication = Publication(
        scorer=Summary(name="n", score_name="s"),
        store=store,
        rule=Rule(deadband=2, min_interval=60, ttl=900, jitter=0),
        metrics=Metrics(cluster="c1").of("s"),
        rng=random.Random(),
    )
    task = asyncio.create_task(publication.run())
    publication.offer({"a": 1})
    await store.asked.wait()
    if failed:
        publication.withdraw()
    else:
        publication.offer({"a": 50})
    store.answer.set()
    async with asyncio.timeout(60):
        await publication.wait_until_handled()
    await asyncio.sleep(0.02)
    assert store.writes == ([] if failed else [{"a": 50}])
    publication.offer({"a": 51})
    if failed:
        await until(lambda: store.writes == [{"a": 51}], what="the next good ones")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class ThrottlingStore(SlowStore):
    """Refuses the first write and asks for a long pause."""

    def __init__(self) -> None:
        super().__init__()
        self.answer.set()
        self.tried: list[float] = []

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
    ) -> None:
        self.tried.append(asyncio.get_running_loop().time())
        if len(self.tried) == 1:
            raise PublishError("not now", reason=Reason.THROTTLED, retry_after=3600.0)
        await super().write(name, scorer=scorer, values=values, valid_until=valid_until)


@pytest.mark.parametrize("ttl", [60.0, 900.0])
async def test_a_hub_that_asks_for_a_long_pause_does_not_let_scores_expire(ttl: float) -> None:
    """After one `429 Retry-After: 3600` the next attempt follows after a quarter of the TTL at the latest."""
    store = ThrottlingStore()
    publication = Publication(
        scorer=Summary(name="n", score_name="s"),
        store=store,
        rule=Rule(deadband=2, min_interval=60, ttl=ttl, jitter=0),
        metrics=Metrics(cluster="c1").of("s"),
        rng=random.Random(),
    )
    task = asyncio.create_task(publication.run())
    publication.offer({"a": 1})
    await asyncio.sleep(ttl)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    first, second, *_ = store.tried
    assert 0 < second - first <= ttl / 4
    assert store.writes
