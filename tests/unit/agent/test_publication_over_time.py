"""What a publication writes over hours, what it counts, and what it does after failures. In virtual time,
with a store in memory.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from dsf_agent.errors import PublishError, Reason
from dsf_agent.metrics.registry import Metrics
from dsf_agent.publish.publication import CLOCK_SLACK_SECONDS, Publication
from dsf_agent.publish.store import Stored, labels
from dsf_wire.publishrule import Rule
from dsf_wire.summary import Summary

TTL, LEAST = 900.0, 60.0
REFRESH = TTL / 2


class Store:
    """One object, and every write with the seconds since the start."""

    def __init__(self) -> None:
        self.start = asyncio.get_running_loop().time()
        self.stored: Stored | None = None
        self.writes: list[tuple[float, Mapping[str, int]]] = []
        self.reads = 0
        self.fault: Exception | None = None
        self.deleted = False
        self.seconds = 0.0
        """How long each write takes."""
        self.read_seconds = 0.0

    @property
    def elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self.start

    def wall(self) -> float:
        return 1_700_000_000.0 + self.elapsed

    async def read(self, name: str) -> Stored | None:
        assert name == "cpu-score"
        self.reads += 1
        await asyncio.sleep(self.read_seconds)
        if self.fault is not None:
            raise self.fault
        return self.stored

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
    ) -> None:
        if self.fault is not None:
            raise self.fault
        await asyncio.sleep(self.seconds)
        self.writes.append((self.elapsed, values))
        self.stored = Stored(name=name, values=values, valid_until=valid_until, labels=labels(scorer))

    async def deleted_by_others(self, name: str, *, written: float) -> bool:
        del name, written
        return self.deleted

    async def list_owned(self) -> list[Stored]:
        return []

    async def delete(self, stored: Stored) -> None:
        raise AssertionError(stored)

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.writes]


class MiddleOfRange(random.Random):
    """The middle of every range."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


@asynccontextmanager
async def publishing(
    store: Store, metrics: Metrics | None = None, *, ttl: float = TTL
) -> AsyncIterator[Publication]:
    publication = Publication(
        scorer=Summary(name="cpu", score_name="cpu_score"),
        store=store,
        rule=Rule(deadband=2, min_interval=LEAST, ttl=ttl, jitter=0),
        metrics=(metrics or Metrics(cluster="c1")).of("cpu-score"),
        rng=MiddleOfRange(),
    )
    task = asyncio.create_task(publication.run())
    try:
        yield publication
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def outcomes(metrics: Metrics) -> dict[str, float]:
    return {
        sample.labels["outcome"]: sample.value
        for family in metrics.publishes.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.value
    }


async def test_unchanged_scores_are_written_at_half_of_the_ttl_and_changes_after_the_minimum_interval() -> (
    None
):
    store, metrics = Store(), Metrics(cluster="c1")
    async with publishing(store, metrics) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert (store.times, outcomes(metrics)) == ([0], {"written": 1})
        publication.offer({"a": 11})
        await publication.wait_until_handled()
        assert outcomes(metrics) == {"written": 1, "unchanged": 1}
        publication.offer({"a": 20})
        await publication.wait_until_handled()
        assert outcomes(metrics) == {"written": 1, "unchanged": 1, "deferred": 1}
        assert len(store.writes) == 1
        await asyncio.sleep(LEAST + 3 * REFRESH + 1)
        assert store.times == pytest.approx([0, LEAST, *(LEAST + REFRESH * n for n in (1, 2, 3))], abs=0.1)
        assert store.writes[1][1] == {"a": 20}
        assert store.reads == 1
        assert store.stored is not None
        assert store.stored.valid_until == pytest.approx(store.wall() - 1 + TTL, abs=0.1)


async def test_a_change_just_before_it_is_due_waits_for_the_rest_of_the_interval() -> None:
    store = Store()
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(LEAST - 0.5)
        publication.offer({"a": 20})
        await publication.wait_until_handled()
        assert len(store.writes) == 1
        await asyncio.sleep(1)
        assert store.times == pytest.approx([0, LEAST], abs=0.1)


async def test_nothing_is_refreshed_after_a_cycle_that_failed() -> None:
    store = Store()
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        publication.withdraw()
        await asyncio.sleep(10 * TTL)
        assert len(store.writes) == 1
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert len(store.writes) == 2


async def test_after_a_restart_published_scores_are_not_written_before_they_are_due() -> None:
    store = Store()
    store.stored = Stored(
        name="cpu-score", values={"a": 10}, valid_until=store.wall() + TTL - 100, labels=labels("cpu")
    )
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(TTL / 2)
        assert store.times == pytest.approx([REFRESH - 100], abs=0.1)


async def test_the_hub_is_not_read_before_there_are_scores() -> None:
    store = Store()
    async with publishing(store) as publication:
        await asyncio.sleep(TTL)
        assert store.reads == 0
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert (store.reads, len(store.writes)) == (1, 1)


async def test_without_scores_nothing_is_waited_for() -> None:
    async with publishing(Store()) as publication:
        await asyncio.wait_for(publication.wait_until_handled(), timeout=1)


async def test_pauses_grow_to_two_minutes() -> None:
    """With a TTL that allows longer ones."""
    store = Store()
    store.fault = PublishError("away", reason=Reason.UNREACHABLE)
    async with publishing(store, ttl=86_400) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(3600)
        before = store.reads
        await asyncio.sleep(1200)
        assert store.reads - before == 10


async def test_a_pause_that_the_hub_asks_for_is_kept() -> None:
    store = Store()
    store.fault = PublishError("not now", reason=Reason.THROTTLED, retry_after=100)
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(99)
        assert store.reads == 1
        await asyncio.sleep(2)
        assert store.reads == 2


async def test_scores_that_were_withdrawn_during_the_first_read_cost_no_second_one() -> None:
    store, metrics = Store(), Metrics(cluster="c1")
    store.read_seconds = 10
    async with publishing(store, metrics) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(1)
        publication.withdraw()
        await asyncio.sleep(20)
        publication.offer({"a": 20})
        await publication.wait_until_handled()
        assert (store.reads, store.writes) == (1, [(pytest.approx(21, abs=0.1), {"a": 20})])
        assert outcomes(metrics) == {"written": 1}


async def test_the_end_of_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    store = Store()
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert "works again" not in caplog.text
        store.fault = PublishError("away", reason=Reason.UNREACHABLE)
        await asyncio.sleep(REFRESH + 10)
        store.fault = None
        await asyncio.sleep(3 * TTL)
        assert caplog.text.count("publishing works again") == 1


FOREIGN = {
    "nobody's": {"labels": {}},
    "written by another program, too": {"shared": True},
    "without an expiry": {"valid_until": None},
    "with an expiry that is too late": {"valid_until": 1_700_000_000.0 + TTL + CLOCK_SLACK_SECONDS + 1},
}


@pytest.mark.parametrize("fields", FOREIGN.values(), ids=FOREIGN)
async def test_after_a_restart_an_object_that_we_would_not_write_so_is_written_again(
    fields: dict[str, object],
) -> None:
    store = Store()
    ours = Stored(name="cpu-score", values={"a": 10}, valid_until=store.wall() + TTL, labels=labels("cpu"))
    store.stored = replace(ours, **fields)  # type: ignore[arg-type] # one field each
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert store.times == [0]


async def test_an_object_that_another_program_deleted_is_written_again() -> None:
    store = Store()
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        await asyncio.sleep(10)
        store.stored, store.deleted = None, True
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert store.times == pytest.approx([0, 10], abs=0.1)
        assert store.reads == 2


@pytest.mark.parametrize("fault", [PublishError("away", reason=Reason.UNREACHABLE), ValueError("a bug")])
async def test_failures_are_counted_reported_and_retried_with_growing_pauses(fault: Exception) -> None:
    """The newest scores are written when the pause is over. New scores do not shorten it."""
    store, metrics = Store(), Metrics(cluster="c1")
    store.fault = fault
    async with publishing(store, metrics) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        kept = publication.fault
        assert kept is not None
        assert kept.reason is (fault.reason if isinstance(fault, PublishError) else Reason.INTERNAL)
        for _ in range(5):
            publication.offer({"a": 30})
            await publication.wait_until_handled()
            await asyncio.sleep(1)
        # At 0, 2 and 6 seconds.
        assert store.reads == 2
        await asyncio.sleep(2)
        assert store.reads == 3
        assert outcomes(metrics) == {"failed": 3}
        store.fault = None
        await asyncio.sleep(60)
        assert store.writes == [(pytest.approx(14, abs=0.1), {"a": 30})]
        assert publication.fault is None
        store.fault = fault
        publication.offer({"a": 90})
        await asyncio.sleep(LEAST)
        store.fault = None
        await asyncio.sleep(10)
        assert len(store.writes) == 2, "pauses are short again"
        assert store.reads >= 5, "after a failure nobody knows what stands there"


async def test_a_hub_clock_that_is_set_back_does_not_delay_changes() -> None:
    store = Store()
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        await asyncio.sleep(10)
        store.start += 3600
        publication.offer({"a": 10})
        await publication.wait_until_handled()
        assert len(store.writes) == 2


async def test_a_cycle_does_not_wait_for_a_write_of_scores_that_were_withdrawn() -> None:
    store = Store()
    store.seconds = 100
    async with publishing(store) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(1)
        publication.withdraw()
        await publication.wait_until_handled()
        assert store.elapsed == pytest.approx(1, abs=0.1)


async def test_scores_that_come_during_a_write_are_handled_after_it() -> None:
    store, metrics = Store(), Metrics(cluster="c1")
    store.seconds = 5
    async with publishing(store, metrics) as publication:
        publication.offer({"a": 10})
        await asyncio.sleep(1)
        publication.offer({"a": 50})
        await publication.wait_until_handled()
        assert outcomes(metrics) == {"written": 1, "deferred": 1}
