"""A hub with one application, a git repository, and replicas of the journal's controller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.journal.lines import JournalRead, read
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.journal.controller import JournalController
from gitops_dsf.reconciler.journal.flapping import FlappingReporter
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model.reconciler import JournalBranch
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.integration.reconciler.replica import (
    Replica,
    files_of,
    fleet_on,
    in_time,
    put,
    read_again,
    running,
)
from tests.support import hubobjects
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.virtual_time import wall

BRANCH = "gitops-dsf-journal"
INTERVAL = 300.0
AUTHOR = "Fleet Reconciler <fleet@example.com>"
DRAIN = LedgerMove(
    placement="argocd/guestbook",
    source="cluster1",
    target="cluster2",
    since=1_800_000_000,
    cause=MoveCause("Drain", "cluster1 (patch)"),
)
"""The application leaves cluster1, which is drained."""


@dataclass(kw_only=True)
class JournalHub:
    hub: ObjectHub
    repository: GitRepository
    work: Path
    replicas: int = 0
    _branch: tuple[str, dict[str, bytes]] = field(default=("", {}), init=False)
    """The last commit that was read, and its files."""

    def __post_init__(self) -> None:
        fleet_on(self.hub)

    def score(self, cluster: str, value: int, name: str = "cpu") -> None:
        put(
            self.hub,
            hubobjects.score(cluster, name, value, now=datetime.fromtimestamp(wall(), UTC)),
        )

    def decide(self, *clusters: str, placement: str = "guestbook") -> None:
        put(self.hub, hubobjects.decision(placement, *clusters))

    def files(self) -> dict[str, bytes]:
        """Those of the branch. Each commit is read once, because tests that wait ask often."""
        commit = self.repository.branches().get(BRANCH, "")
        if commit != self._branch[0]:
            files = files_of(self.repository, commit)
            records = {name: text for name, text in files.items() if name.endswith(".jsonl")}
            self._branch = (commit, records)
        return self._branch[1]

    def branch(self) -> JournalRead:
        return read(self.files())

    def moves(self) -> list[tuple[tuple[str, ...] | None, tuple[str, ...] | None]]:
        """From where to where, for each record of the branch.

        One that is there twice is listed twice.
        """
        lines = b"".join(self.files().values()).splitlines()
        return [(record.from_, record.to) for line in lines for record in read({"": line}).records]

    def commits(self) -> int:
        return int(git("rev-list", "--count", BRANCH, folder=self.repository.bare))

    @asynccontextmanager
    async def replica(self, *, claim: FixedClaim | None = None) -> AsyncIterator["JournalLeader"]:
        self.replicas += 1
        async with self.hub.api(claim=claim) as api:
            leader = JournalLeader(self, api)
            work_dir = self.work / f"replica-{self.replicas}"
            controller = JournalController(
                leader.context,
                git=GitSettings(url=self.repository.url, author=AUTHOR, work_dir=work_dir),
                settings=JournalBranch.model_construct(branch=BRANCH, interval_seconds=INTERVAL),
                flapping=leader.flapping,
            )
            await read_again(leader.view)
            async with running(controller):
                yield leader


class JournalLeader(Replica):
    def __init__(self, scene: JournalHub, api: HubApi) -> None:
        super().__init__(api, clock=asyncio.get_running_loop().time)
        self.scene, self.flapping = scene, FlappingReporter(self.context)

    async def sees(self) -> None:
        """Its informers see what is on the hub now."""
        for informer in (self.view.scores, self.view.placements, self.view.decisions):
            await informer.refresh()

    async def moves(self, *clusters: str, **scores: int) -> None:
        """Scores change, OCM decides, the informers see it, and the decision settles."""
        for cluster, value in scores.items():
            self.scene.score(cluster, value)
        self.scene.decide(*clusters)
        await self.sees()
        await asyncio.sleep(2)

    def returns(self) -> dict[str, float]:
        """The metric of moves back and forth, by scorer."""
        return self.samples("flapping_returns", "scorer")

    async def pushed(self, count: int) -> None:
        """The branch holds so many records."""
        await in_time(lambda: len(self.scene.branch().records) == count, what=f"{count} records")

    async def pending(self, count: int) -> None:
        await in_time(lambda: self.metric("journal_pending") == count, what=f"{count} pending")

    async def failed(self) -> None:
        """A push has failed."""
        failed = lambda: self.metric("journal_pushes_total", outcome="failed")  # noqa: E731
        await in_time(failed, what="a failed push")
