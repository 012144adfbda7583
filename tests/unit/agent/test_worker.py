"""A bug affects one scorer, cycles keep their grid, and reference cycles are freed."""

import asyncio
import gc
import random
import time
import weakref
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from dsf_agent.errors import AgentError
from dsf_agent.metrics import AgentMetrics
from dsf_agent.process import supervise
from dsf_agent.schedule.cycle import CycleResult
from dsf_agent.schedule.scheduler import Scheduler
from dsf_agent.schedule.worker import Grid, Worker
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary
from tests.support.waiting import until

COUNTED = b'failures_total{reason="internal",score_name="broken",stage="score"} 1.0'


class Bench:
    """Two scorers, ``broken`` with a fault of its cycle, or none, and ``well``."""

    def __init__(self, fault: BaseException | None, *, creatable: bool = True) -> None:
        self.fault, self._creatable = fault, creatable
        self.runs = {"broken": 0, "well": 0}
        self.metrics = AgentMetrics(cluster="c")
        self.scheduler = Scheduler(make=self._worker, metrics=self.metrics, cluster="c", splay=0.0)

    def _worker(self, scorer: ScorerSummary, *, edited: bool = False) -> Worker:
        del edited
        name = scorer.name

        async def cycle() -> CycleResult:
            self.runs[name] += 1
            if name == "broken" and self.fault is not None:
                raise self.fault
            return CycleResult()

        if name == "broken" and not self._creatable and not scorer.source_step:
            raise OverflowError
        return Worker(
            scorer=scorer,
            cycle=cycle,
            publication=None,
            grid=Grid(interval=0.05, phase=0.0),
            metrics=self.metrics.of(scorer.score_name),
            wall=time.time,
        )

    async def apply(self, *, step: int = 0) -> None:
        """``step`` is an edit of the broken scorer."""
        broken = ScorerSummary(
            name="broken", score_name="broken", scoring_interval=1, source_step=step
        )
        both: Sequence[ScorerSummary] = (
            broken,
            ScorerSummary(name="well", score_name="well", scoring_interval=1),
        )
        await self.scheduler.apply(both)

    async def more_runs(self, name: str, count: int) -> None:
        before = self.runs[name]
        await until(lambda: self.runs[name] >= before + count, what=f"{name} runs")


async def test_a_bug_in_a_cycle_is_a_failure_of_one_scorer() -> None:
    bench = Bench(ZeroDivisionError("oops"))
    await bench.apply()
    await bench.more_runs("well", 10)
    await until(lambda: bench.runs["broken"] >= 2, what="it is retried")
    state = bench.scheduler.states()["broken"]
    assert (state.reason, state.message) == ("internal", "ZeroDivisionError: oops")
    assert COUNTED.split()[0] in generate_latest(bench.metrics.registry)
    bench.fault = None
    await until(lambda: not bench.scheduler.states()["broken"].failures, what="healed")
    await bench.scheduler.stop(grace=1.0)


@pytest.mark.parametrize(
    ("interval", "pauses"),
    [
        (60, [5, 10, 20, 40, 80, 160, 300, 300]),
        # A scorer that runs more often begins with its interval, and one that runs rarely waits as
        # long.
        (2, [2, 4, 8, 16, 32]),
        (1000, [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]),
    ],
)
async def test_pauses_after_failures_grow_to_five_minutes_or_the_interval(
    interval: float, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: (low + high) / 2)
    clock, runs = asyncio.get_running_loop().time, list[float]()

    async def cycle() -> CycleResult:
        runs.append(clock())
        raise AgentError("away", reason=Reason.UNREACHABLE)

    worker = Worker(
        scorer=ScorerSummary(name="cpu", score_name="cpu", scoring_interval=1),
        cycle=cycle,
        publication=None,
        grid=Grid(interval=interval, phase=0.0),
        metrics=AgentMetrics(cluster="c").of("cpu"),
        wall=time.time,
    )
    running = asyncio.create_task(worker.run(splay=0.0))
    await asyncio.sleep(sum(pauses) + 1)
    running.cancel()
    assert [after - before for before, after in pairwise(runs)][: len(pauses)] == pytest.approx(
        pauses
    )


async def test_a_failed_worker_affects_no_other_and_can_be_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The handling of a failure fails, too."""
    bench = Bench(ZeroDivisionError())
    monkeypatch.setattr("dsf_agent.schedule.breaker.Backoff", None)
    await bench.apply()
    await until(lambda: bench.runs["broken"] == 1, what="it died")
    await bench.more_runs("well", 5)
    assert bench.runs["broken"] == 1
    bench.fault = None
    await bench.apply(step=5)
    await bench.more_runs("broken", 1)
    await bench.scheduler.stop(grace=1.0)


async def test_a_worker_that_cannot_be_created_affects_no_other_and_is_counted() -> None:
    bench = Bench(None, creatable=False)
    await bench.apply()
    await bench.more_runs("well", 5)
    assert COUNTED in generate_latest(bench.metrics.registry)
    assert list(bench.scheduler.states()) == ["well"]
    await bench.apply(step=5)
    await bench.more_runs("broken", 1)
    await bench.apply()
    await bench.scheduler.stop(grace=1.0)


@given(st.floats(1, 1e5), st.floats(0, 1), st.floats(0, 1e7), st.floats(0, 1e5))
def test_the_next_run_is_on_the_grid_and_in_the_future(
    interval: float, part: float, now: float, least: float
) -> None:
    grid = Grid(interval=interval, phase=part * interval)
    due_at = grid.next(after=now, min_wait=least)
    assert now + least - 1e-6 <= due_at <= now + least + interval * 1.000001
    steps = (due_at - grid.phase) / interval
    assert abs(steps - round(steps)) < 1e-6


class Ring:
    """Refers to itself, as the traceback of a failure does."""

    def __init__(self) -> None:
        self.itself = self


async def test_reference_cycles_are_collected_periodically() -> None:
    gc.disable()
    try:
        left = weakref.ref(Ring())
        await asyncio.sleep(0.05)
        assert left() is not None
        collecting = asyncio.create_task(supervise.collect_periodically(pause_seconds=0.01))
        await until(lambda: left() is None, what="the ring is gone")
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)
    finally:
        gc.enable()


def test_a_metric_names_the_source_that_a_scorer_names_now() -> None:
    metrics = AgentMetrics(cluster="c")
    for source in ("old", "new", None):
        metrics.of("cpu").names_source(source)
        named = [
            one.labels["source"] for family in metrics.sources.collect() for one in family.samples
        ]
        assert named == ([source] if source else [])
