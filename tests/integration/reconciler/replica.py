"""A replica of the reconciler that leads on an `ObjectHub`.

Its informers read when a test says so.
"""

import asyncio
import io
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from prometheus_client.samples import Sample

from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.repository.model.repository import Delivery
from tests.hub.controlplane.gitrepository import GitRepository
from tests.support import hubobjects
from tests.support.apiserver import Object
from tests.support.hubobjects import ARGOCD, HUB, stamp
from tests.support.objecthub import ObjectHub
from tests.support.virtual_time import wall


class Controller(Protocol):
    async def run(self) -> None: ...


class Replica:
    """Its clock stands still until a test moves `now`, unless it gets another one."""

    def __init__(
        self,
        api: HubApi,
        *,
        clock: Callable[[], float] | None = None,
        delivery: Delivery | None = None,
    ) -> None:
        self.now = 1000.0
        self.metrics = ReconcilerMetrics()
        self.context = ControllerContext(
            api=api,
            metrics=self.metrics,
            hub_namespace=HUB,
            argocd_namespace=ARGOCD,
            delivery=delivery,
            clock=clock or (lambda: self.now),
        )
        self.view = self.context.view

    def metric(self, name: str, **labels: str) -> float | None:
        found = (one.value for one in self._samples(name) if one.labels == labels)
        return next(found, None)

    def _samples(self, name: str) -> Iterator[Sample]:
        """Of this metric only: tests that wait look a thousand times."""
        full = f"gitops_dsf_reconciler_{name}"
        for family in self.metrics.registry.restricted_registry([full]).collect():
            yield from (sample for sample in family.samples if sample.name == full)

    async def events_written(self) -> None:
        """Waits for the Events that were said."""
        if self.context.events._work is not None:
            await self.context.events._work

    def samples(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by one of its labels."""
        return {sample.labels[label]: sample.value for sample in self._samples(name)}


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
    await view.scorers.refresh()


def fleet_on(hub: ObjectHub) -> None:
    """The small fleet of `hubobjects`, with one application."""
    for item in hubobjects.fleet(now=datetime.fromtimestamp(wall(), UTC)):
        put(hub, item)


def put(hub: ObjectHub, item: Object) -> None:
    """As the API server returns it; the same UID each time."""
    plural = hubobjects.PATHS[item["kind"]].rpartition("/")[2]
    meta = {"uid": f"{plural}-{item['metadata']['name']}", **item["metadata"]}
    rest = {key: value for key, value in item.items() if key not in {"kind", "metadata"}}
    hub.put(plural, meta["name"], namespace=meta.get("namespace", ""), metadata=meta, **rest)


def repository(folder: Path) -> GitRepository:
    """Of a path, without a server."""
    bare = folder / "fleet.git"
    return GitRepository.create(url=str(bare), bare=bare, clone=folder / "clone")


def files_of(repository: GitRepository, commit: str) -> dict[str, bytes]:
    """The files of a commit in the served repository, by path."""
    content = subprocess.check_output(["git", "archive", commit], cwd=repository.bare)
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                files[member.name] = file.read()
    return files


async def in_time(condition: Callable[[], object], *, what: str) -> None:
    """Looks every few seconds of virtual time, because git is a process and takes real time."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(6)
    raise AssertionError(f"not in time: {what}")


def from_now(seconds: float) -> str:
    """A time as the API writes it."""
    return stamp(datetime.fromtimestamp(int(wall() + seconds), tz=UTC))
