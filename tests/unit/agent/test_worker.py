"""A bug in the agent affects only one scorer."""

import random

from prometheus_client import generate_latest

from dsf_agent.metrics.registry import Metrics
from dsf_agent.schedule.cycle import CycleResult
from dsf_agent.schedule.scheduler import Scheduler
from dsf_agent.schedule.worker import Grid, Worker
from dsf_runtime.clock import SystemClock
from dsf_wire.summary import Summary
from tests.support.waiting import until


class FakeCycle:
    """A cycle that raises an unexpected exception, or none."""

    def __init__(self, *, fault: BaseException | None = None) -> None:
        self.fault = fault
        self.runs = 0

    async def run(self) -> CycleResult:
        self.runs += 1
        if self.fault is not None:
            raise self.fault
        return CycleResult()


class WorkerFactory:
    """Creates workers with the cycles of a test, by scorer name."""

    def __init__(self, metrics: Metrics, cycles: dict[str, FakeCycle], *, rng: random.Random) -> None:
        self._metrics = metrics
        self._cycles = cycles
        self._rng = rng

    def __call__(self, scorer: Summary) -> Worker:
        return Worker(
            scorer=scorer,
            cycle=self._cycles[scorer.name].run,
            publication=None,
            grid=Grid(interval=0.05, phase=0.0),
            clock=SystemClock(),
            metrics=self._metrics.of(scorer.score_name),
            rng=self._rng,
        )


def _scorer(name: str) -> Summary:
    return Summary(name=name, score_name=name, scoring_interval=1)


async def test_a_bug_in_a_cycle_is_a_failure_of_one_scorer() -> None:
    """It is counted as internal and retried, and the other scorer keeps its grid. Recovery is noticed at
    once.
    """
    metrics, cycles = (
        Metrics(cluster="c"),
        {"broken": FakeCycle(fault=ZeroDivisionError("oops")), "well": FakeCycle()},
    )
    scheduler = Scheduler(
        make=WorkerFactory(metrics, cycles, rng=random.Random(1)), metrics=metrics, cluster="c", splay=0.0
    )
    await scheduler.apply([_scorer("broken"), _scorer("well")])
    await until(lambda: cycles["well"].runs >= 10 and cycles["broken"].runs >= 2, what="both run")
    state = scheduler.states()["broken"]
    assert (state.reason, state.message) == ("internal", "ZeroDivisionError: oops")
    assert b'failures_total{reason="internal",score_name="broken",stage="score"}' in generate_latest(
        metrics.registry
    )
    cycles["broken"].fault = None
    await until(lambda: not scheduler.states()["broken"].failures, what="healed")
    await scheduler.stop(grace=1.0)


class BrokenRandom(random.Random):
    """Random numbers that fail, so that the handling of a failure fails too."""

    broken = False

    def uniform(self, a: float, b: float) -> float:
        if self.broken:
            msg = "the dice are gone"
            raise RuntimeError(msg)
        return super().uniform(a, b)


async def test_a_failed_worker_affects_no_other_and_can_be_replaced() -> None:
    """An exception that the worker does not catch ends neither the process nor other workers. An edit
    starts a new worker at once.
    """
    metrics, cycles, dice = (
        Metrics(cluster="c"),
        {"broken": FakeCycle(fault=ZeroDivisionError()), "well": FakeCycle()},
        BrokenRandom(1),
    )
    dice.broken = True
    scheduler = Scheduler(
        make=WorkerFactory(metrics, cycles, rng=dice), metrics=metrics, cluster="c", splay=0.0
    )
    await scheduler.apply([_scorer("broken"), _scorer("well")])
    await until(lambda: cycles["broken"].runs == 1, what="it died")
    runs = cycles["well"].runs
    await until(lambda: cycles["well"].runs >= runs + 5, what="the neighbour goes on")
    assert cycles["broken"].runs == 1
    cycles["broken"].fault = None
    await scheduler.apply(
        [Summary(name="broken", score_name="broken", scoring_interval=1, source_step=5), _scorer("well")]
    )
    await until(lambda: cycles["broken"].runs > 1, what="it runs again")
    await scheduler.stop(grace=1.0)


class FailingFactory(WorkerFactory):
    """Cannot create one of the workers."""

    def __call__(self, scorer: Summary) -> Worker:
        if scorer.name == "broken" and not scorer.source_step:
            msg = "no such worker"
            raise OverflowError(msg)
        return super().__call__(scorer)


async def test_a_worker_that_cannot_be_created_affects_no_other_and_is_counted() -> None:
    """The process continues and can be stopped. After an edit the worker runs at once."""
    metrics, cycles = Metrics(cluster="c"), {"broken": FakeCycle(), "well": FakeCycle()}
    scheduler = Scheduler(
        make=FailingFactory(metrics, cycles, rng=random.Random(1)), metrics=metrics, cluster="c", splay=0.0
    )
    await scheduler.apply([_scorer("broken"), _scorer("well")])
    await until(lambda: cycles["well"].runs >= 5, what="the neighbour runs")
    assert b'failures_total{reason="internal",score_name="broken",stage="score"} 1.0' in generate_latest(
        metrics.registry
    )
    assert list(scheduler.states()) == ["well"]
    await scheduler.apply(
        [Summary(name="broken", score_name="broken", scoring_interval=1, source_step=5), _scorer("well")]
    )
    await until(lambda: cycles["broken"].runs >= 1, what="the edited one runs")
    await scheduler.apply([_scorer("broken"), _scorer("well")])
    await scheduler.stop(grace=1.0)
