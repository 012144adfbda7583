"""A cancelled task ends, even if an event arrives in the same turn of the event loop."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from dsf_agent.configuration.snapshot import parse
from dsf_agent.metrics import Metrics
from dsf_agent.publish.prune import Pruner
from dsf_agent.publish.publication import Publisher
from dsf_agent.publish.store import Stored
from dsf_wire.publishrule import Rule
from dsf_wire.summary import Summary
from tests.support.virtual_time import LoopClock

TURNS = range(8)
"""Turns of the loop between the news and the cancellation; between waking and running there are two or three.
"""


class EmptyStore:
    """Stores nothing and counts the writes."""

    def __init__(self) -> None:
        self.writes = 0

    def wall(self) -> float:
        return 1_700_000_000.0

    async def write(self, name: str, *, scorer: str, values: Mapping[str, int], valid_until: float) -> None:
        del name, scorer, values, valid_until
        self.writes += 1

    async def names(self) -> frozenset[str]:
        return frozenset()

    async def list_owned(self, *, values: bool = True) -> list[Stored]:
        del values
        return []

    async def delete(self, stored: Stored) -> None:
        raise AssertionError(stored)


async def _ends(work: Coroutine[Any, Any, object], news: Callable[[], object], *, turns: int) -> None:
    """The task waits, an event arrives, and some turns later the task is cancelled."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0.02)
    news()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=30)
    if not done:
        # Once more, so that this test fails rather than hangs.
        task.cancel()
        await asyncio.wait({task}, timeout=30)
    assert done, f"{turns} turns after the news the cancellation was lost"


@pytest.mark.parametrize("turns", TURNS)
async def test_a_publisher_of_an_old_entry_ends(turns: int) -> None:
    store = EmptyStore()
    publisher = Publisher(
        store_of=lambda _cluster: store, wall=store.wall, clock=LoopClock(), rng=random.Random()
    )
    publication = publisher.publication(
        Summary(name="n", score_name="s"),
        rule=Rule(deadband=2, min_interval=0, ttl=900, jitter=0),
        metrics=Metrics(cluster="c1").of("s"),
    )
    publication.offer("c1", {"a": 1})
    await _ends(publisher.run(), lambda: publication.offer("c1", {"a": 1}), turns=turns)
    assert store.writes == 1


@pytest.mark.parametrize("turns", TURNS)
async def test_the_pruner_ends_with_the_process(turns: int) -> None:
    store = EmptyStore()
    pruner = Pruner(
        store_of=lambda _cluster: store,
        wall=store.wall,
        own="c1",
        metrics=Metrics(cluster="c1"),
        delay_seconds=60,
        rng=random.Random(),
    )
    pruner.set(parse(b"[]"))
    await _ends(pruner.run(), lambda: pruner.set(parse(b"[]")), turns=turns)
