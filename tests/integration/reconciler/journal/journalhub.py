"""A hub with one application, a git repository, and replicas of the journal's controller."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitops_dsf.journal.lines import Read, read
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.journal.controller import JournalController
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.repository.model.reconciler import JournalBranch
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.integration.reconciler.replica import read_again
from tests.support import hubobjects
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.virtual_time import wall

BRANCH = "gitops-dsf-journal"
INTERVAL = 300.0
AUTHOR = "Fleet Reconciler <fleet@example.com>"


def repository(folder: Path) -> GitRepository:
    bare = folder / "fleet.git"
    return GitRepository.create(url=str(bare), bare=bare, clone=folder / "clone")


@dataclass(kw_only=True)
class JournalHub:
    hub: ObjectHub
    repository: GitRepository
    work: Path
    replicas: int = 0
    _branch: tuple[str, Read] | None = field(default=None, init=False)
    """The last commit that was read, and its records."""

    def __post_init__(self) -> None:
        for item in hubobjects.fleet(now=datetime.fromtimestamp(wall(), UTC)):
            self.put(item)

    def put(self, item: dict[str, Any]) -> None:
        plural = hubobjects.PATHS[item["kind"]].rpartition("/")[2]
        meta = {**item["metadata"]}
        self.hub.put(
            plural,
            meta["name"],
            namespace=meta.get("namespace", ""),
            metadata={"uid": f"{plural}-{meta['name']}", **meta},
            **{key: value for key, value in item.items() if key not in {"kind", "metadata"}},
        )

    def score(self, cluster: str, value: int, name: str = "cpu") -> None:
        self.put(hubobjects.score(cluster, name, value, now=datetime.fromtimestamp(wall(), UTC)))

    def decide(self, *clusters: str, placement: str = "guestbook") -> None:
        self.put(hubobjects.decision(placement, *clusters))

    def refuse_pushes(self, *, refused: bool) -> None:
        hook = self.repository.bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nexit {int(refused)}\n")
        hook.chmod(0o755)

    def branch(self) -> Read:
        """The records of the branch. Each commit is read once, because tests that wait ask often."""
        commit = self.repository.branches().get(BRANCH)
        if commit is None:
            return read({})
        if self._branch is None or self._branch[0] != commit:
            names = git("ls-tree", "--name-only", commit, folder=self.repository.bare).split()
            files = {
                name: subprocess.run(
                    ["git", "show", f"{commit}:{name}"],
                    cwd=self.repository.bare,
                    check=True,
                    capture_output=True,
                ).stdout
                for name in names
                if name.endswith(".jsonl")
            }
            self._branch = commit, read(files)
        return self._branch[1]

    def moves(self) -> list[tuple[tuple[str, ...] | None, tuple[str, ...] | None]]:
        """From where to where, for each record of the branch. One that is there twice is listed twice."""
        lines = b"".join(
            git("show", f"{BRANCH}:{name}", folder=self.repository.bare).encode()
            for name in git("ls-tree", "--name-only", BRANCH, folder=self.repository.bare).split()
            if name.endswith(".jsonl")
        )
        return [
            (record.from_, record.to)
            for number, line in enumerate(lines.splitlines())
            for record in read({f"{number}": line}).records
        ]

    def commits(self) -> int:
        return int(git("rev-list", "--count", BRANCH, folder=self.repository.bare))

    @asynccontextmanager
    async def replica(self, *, claim: FixedClaim | None = None) -> AsyncIterator["Replica"]:
        self.replicas += 1
        async with self.hub.api(claim=claim) as api:
            metrics = Metrics()
            shared = Shared(
                api=api,
                metrics=metrics,
                hub_namespace=hubobjects.HUB,
                argocd_namespace=hubobjects.ARGOCD,
                clock=asyncio.get_running_loop().time,
            )
            view, flapping = shared.view, FlappingReporter(shared)
            controller = JournalController(
                shared,
                git=GitSettings(
                    url=self.repository.url, author=AUTHOR, work_dir=self.work / f"replica-{self.replicas}"
                ),
                settings=JournalBranch.model_construct(branch=BRANCH, interval_seconds=INTERVAL),
                flapping=flapping,
            )
            await read_again(view)
            replica = Replica(scene=self, view=view, metrics=metrics, flapping=flapping)
            replica.task = asyncio.create_task(controller.run())
            try:
                yield replica
            finally:
                await replica.kill()


@dataclass(kw_only=True)
class Replica:
    scene: JournalHub
    view: HubView
    metrics: Metrics
    flapping: FlappingReporter
    task: "asyncio.Task[None]" = field(init=False)

    async def sees(self) -> None:
        """Its informers see what is on the hub now."""
        await self.view.scores.refresh()
        await self.view.placements.refresh()
        await self.view.decisions.refresh()

    async def moves(self, *clusters: str, **scores: int) -> None:
        """Scores change, OCM decides, the informers see it, and the decision settles."""
        for cluster, value in scores.items():
            self.scene.score(cluster, value)
        self.scene.decide(*clusters)
        await self.sees()
        await asyncio.sleep(2)

    async def kill(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_journal_{name}", labels)

    def returns(self) -> dict[str, float]:
        """The metric of moves back and forth, by scorer."""
        return {
            sample.labels["scorer"]: sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == "gitops_dsf_reconciler_flapping_returns"
        }

    async def pushed(self, count: int) -> None:
        """The branch holds so many records."""
        await _in_time(lambda: len(self.scene.branch().records) == count, what=f"{count} records")

    async def pending(self, count: int) -> None:
        await _in_time(lambda: self.metric("pending") == count, what=f"{count} pending")

    async def failed(self) -> None:
        """A push has failed."""
        await _in_time(lambda: bool(self.metric("pushes_total", outcome="failed")), what="a failed push")


async def _in_time(condition: Callable[[], bool], *, what: str) -> None:
    """Looks every few seconds of virtual time, because git is a process and takes real time."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(INTERVAL / 50)
    raise AssertionError(f"not in time: {what}")


def names(clusters: Sequence[Any]) -> list[str]:
    return [each.cluster for each in clusters]
