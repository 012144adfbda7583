"""The loop of a controller: when it looks again, what it counts, and what it never decides by.

Virtual time.
"""

import asyncio
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git.pushing import RETRIES, counting_failures
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.loop import NotReady, run_controller
from gitops_dsf.reconciler.metrics import ReconcilerMetrics


class Source:
    """An informer, as far as the loop looks at it."""

    def __init__(self, *, synced: bool = True) -> None:
        self.broken = ""
        self.synced = asyncio.Event()
        if synced:
            self.synced.set()


class Controller:
    """Does what it is told in each pass: returns seconds, or raises."""

    def __init__(self, *steps: float | Exception | None, again: float | None = 1000.0) -> None:
        self._steps = iter(steps)
        self._again = again
        self.times: list[float] = []
        self.metrics = ReconcilerMetrics()
        self.clock_known = True

    async def reconcile(self) -> float | None:
        self.times.append(asyncio.get_running_loop().time())
        step = next(self._steps, self._again)
        if isinstance(step, Exception):
            raise step
        return step

    async def run_for(self, seconds: float, **settings: Any) -> list[float]:
        """Runs it for so long. Returns when its passes began, from the start."""
        began = asyncio.get_running_loop().time()
        clock = SimpleNamespace(known=self.clock_known)
        context: Any = SimpleNamespace(
            metrics=self.metrics,
            api=SimpleNamespace(clock=clock),
            view=SimpleNamespace(stale_reason=HubView.stale_reason),
        )
        loop = run_controller(
            self.reconcile, name="test", context=context, failing="nothing is done now", **settings
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await loop
        return [at - began for at in self.times]

    def count(self, outcome: str) -> float:
        labels = {"controller": "test", "outcome": outcome}
        name = "gitops_dsf_reconciler_reconciles_total"
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


async def test_it_looks_again_when_it_was_told_to() -> None:
    controller = Controller(5.0, 7.0, None)
    assert await controller.run_for(1000) == [0, 5, 12]
    assert controller.count("done") == 3


async def test_after_a_conflict_it_looks_again_soon_and_after_a_failure_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    silent = ApiError("the API server does not answer")
    conflict = ApiError("changed", status=409)
    controller = Controller(conflict, silent, silent, ApiError("no", status=403), 5.0)
    assert await controller.run_for(100) == [0, 1, 11, 21, 31, 36]
    assert (controller.count("conflict"), controller.count("failed")) == (1, 3)
    assert caplog.text.count("nothing is done now: the API server does not answer") == 1
    assert caplog.text.count("nothing is done now: no") == 1
    assert "changed" not in caplog.text, "the client tells of conflicts"


async def test_a_change_wakes_it_but_not_more_often_than_it_may() -> None:
    wake = asyncio.Event()
    controller = Controller(again=None)

    async def changes() -> None:
        for pause in (3.0, 0.1, 0.1, 50.0):
            await asyncio.sleep(pause)
            wake.set()

    task = asyncio.create_task(changes())
    times = await controller.run_for(100, wake=wake, min_interval=1.0)
    await task
    assert times == pytest.approx([0, 3, 4, 53.2])


async def test_pauses_for_another_server_grow_and_no_change_shortens_them() -> None:
    wake = asyncio.Event()
    failing = [NotReady("git does not answer")] * 4
    controller = Controller(
        *failing, NotReady("the forge asks to wait", seconds=500.0), 60.0, *failing
    )

    async def changes() -> None:
        while True:
            await asyncio.sleep(1)
            wake.set()

    task = asyncio.create_task(changes())
    backoff = Backoff(first=20.0, ceiling=100.0, jitter=0)
    await controller.run_for(900, wake=wake, backoff=backoff, min_interval=60.0)
    task.cancel()
    pauses = [after - before for before, after in pairwise(controller.times)]
    assert pauses[:6] == pytest.approx([20, 40, 80, 100, 500, 60])
    assert pauses[6] == pytest.approx(20), "after a success the pauses begin anew"
    assert controller.count("not-ready") >= 6


async def test_pauses_of_git_are_those_of_its_servers() -> None:
    """10 s, 20 s, and so on, up to ten minutes."""
    controller = Controller(*[NotReady("no")] * 9)
    await controller.run_for(3000, backoff=RETRIES)
    pauses = [after - before for before, after in pairwise(controller.times)]
    assert pauses[:8] == pytest.approx([10, 20, 40, 80, 160, 320, 600, 600])


async def test_it_waits_until_everything_was_read_once() -> None:
    late, source = Source(synced=False), Source()
    asyncio.get_running_loop().call_later(30, late.synced.set)
    assert await Controller().run_for(100, reads=[late], requires=[source]) == [30]


@pytest.mark.parametrize("is_required", [True, False])
async def test_it_decides_nothing_by_what_may_be_outdated(is_required: bool) -> None:
    """The healthy twin: a source that need not be current holds up nothing."""
    source = Source()
    source.broken = "things: nothing was heard"
    controller = Controller(again=10.0)
    sources = {"requires" if is_required else "reads": [source]}
    await controller.run_for(35, **sources)
    assert len(controller.times) == (0 if is_required else 4)
    assert controller.count("not-ready") == (4 if is_required else 0)


@pytest.mark.parametrize(("known", "passes"), [(True, 1), (False, 0)])
async def test_what_depends_on_the_time_of_the_hub_waits_for_it(known: bool, passes: int) -> None:
    controller = Controller()
    controller.clock_known = known
    assert len(await controller.run_for(5, needs_clock=True)) == passes


async def test_a_bug_ends_the_loop() -> None:
    controller = Controller(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        await controller.run_for(5)


@pytest.mark.parametrize("error", [RepositoryError("no"), ApiError("not sent"), NotReady("stale")])
def test_a_push_that_failed_is_counted(error: Exception) -> None:
    pushes = ReconcilerMetrics().state_pushes
    with pytest.raises((NotReady, ApiError)), counting_failures(pushes):
        raise error
    assert pushes.labels(outcome="failed")._value.get() == 1
