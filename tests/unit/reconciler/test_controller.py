"""How controllers are kept running, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.reconciler.restarts import RESTARTS
from gitops_dsf.reconciler.run import Controllers, keep_running
from tests.support import virtual_time

STEADY_SECONDS = 300.0


class Working:
    """A controller that does what it is told; `starts` are the loop's seconds."""

    ready = True

    def __init__(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        self.name, self._work = name, work
        self.starts: list[float] = []

    async def run(self) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        await self._work()


def named(controllers: Iterable[Working]) -> Controllers:
    return {each.name: each.run for each in controllers}


def failing(*, after: Callable[[], float]) -> Callable[[], Awaitable[object]]:
    async def work() -> None:
        await asyncio.sleep(after())
        raise ValueError("a bug")

    return work


def failures(metrics: ReconcilerMetrics, controller: str) -> float | None:
    return metrics.registry.get_sample_value(
        "gitops_dsf_reconciler_duty_failures_total", {"duty": controller}
    )


def run_for(seconds: float, *controllers: Working) -> ReconcilerMetrics:
    metrics = ReconcilerMetrics()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await keep_running(named(controllers), failures=metrics.failures)

    virtual_time.run(main())
    return metrics


def test_one_that_fails_starts_anew_ever_more_rarely_and_stops_no_other() -> None:
    bad, good = Working("bad", failing(after=lambda: 0)), Working("good", asyncio.Event().wait)
    metrics = run_for(200, bad, good)
    assert bad.starts == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert failures(metrics, "bad") == 9
    assert good.starts == [0]
    assert failures(metrics, "good") is None


def test_one_that_fails_in_a_task_group_starts_anew() -> None:
    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(failing(after=lambda: 1)())

    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    bad, odd = Working("bad", group), Working("odd", cancels_itself)
    metrics = run_for(10, bad, odd)
    assert bad.starts == [0, 2, 5]
    assert odd.starts == [0, 1, 3, 7]
    assert (failures(metrics, "bad"), failures(metrics, "odd")) == (3, 4)


def test_one_that_worked_for_long_starts_anew_soon() -> None:
    lasts = iter([0.0] * 8 + [STEADY_SECONDS, 1e9])
    moody = Working("moody", failing(after=lambda: next(lasts)))
    run_for(2000, moody)
    *_, steady, last = moody.starts
    assert last - steady == STEADY_SECONDS + RESTARTS.first


def test_one_that_fails_while_it_is_cancelled_ends() -> None:
    async def careless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while it is cancelled")

    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(careless())

    async def deaf() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    controllers = Working("alone", careless), Working("group", group), Working("deaf", deaf)

    async def main() -> None:
        task = asyncio.create_task(
            keep_running(named(controllers), failures=ReconcilerMetrics().failures)
        )
        await asyncio.sleep(1)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=600)
        assert done, "they run on without being cancelled"
        assert [len(each.starts) for each in controllers] == [1, 1, 1]

    virtual_time.run(main())
