"""A replica of the reconciler that leads on an `ObjectHub`. Its informers read when a test says so."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Protocol

from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.shared import Shared
from tests.support.hubobjects import ARGOCD, HUB, stamp
from tests.support.virtual_time import wall


class Controller(Protocol):
    async def run(self) -> None: ...


class Replica:
    """Its clock stands still until a test moves `now`, unless it gets another one."""

    def __init__(self, api: HubApi, *, clock: Callable[[], float] | None = None) -> None:
        self.now = 1000.0
        self.metrics = Metrics()
        self.shared = Shared(
            api=api,
            metrics=self.metrics,
            hub_namespace=HUB,
            argocd_namespace=ARGOCD,
            clock=clock or (lambda: self.now),
        )
        self.view = self.shared.view

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)

    def samples(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by one of its labels."""
        return {
            sample.labels[label]: sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == f"gitops_dsf_reconciler_{name}"
        }


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(controller.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def read_again(view: HubView) -> None:
    """Reads every list again."""
    await view.masks.refresh()
    for informer in view.informers:
        await informer.refresh()


def from_now(seconds: float) -> str:
    """A time as the API writes it."""
    return stamp(datetime.fromtimestamp(int(wall() + seconds), tz=UTC))
