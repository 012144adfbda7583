"""The control loop of proposals: every minute it compares hub and git, and offers what differs as branches
and pull requests, or as direct commits.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.forge import Forge, ForgeError
from gitops_dsf.reconciler.forge.address import address, github_api
from gitops_dsf.reconciler.forge.github import GitHub
from gitops_dsf.reconciler.git import Clone, GitError, work_folder
from gitops_dsf.reconciler.git.credentials import Credentials
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.proposals.branches import BranchWorkflow
from gitops_dsf.reconciler.proposals.checkout import Checkout, FleetClone
from gitops_dsf.reconciler.proposals.decide import ProposalOutcome
from gitops_dsf.reconciler.proposals.direct import DirectWorkflow
from gitops_dsf.reconciler.proposals.drift import DriftDetector
from gitops_dsf.reconciler.proposals.memory import Absences, Memory
from gitops_dsf.reconciler.proposals.proposal import Kind, Naming, Proposal
from gitops_dsf.reconciler.proposals.publisher import ProposalMetrics, Publisher
from gitops_dsf.reconciler.proposals.worker import WorkerError
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model.reconciler import Proposals

LOG = logging.getLogger(__name__)
LONGEST_SECONDS: Final = 1800.0
"""Longest pause between two passes while git or the forge fails."""


class ProposalController:
    """Writes branches below its prefix, their pull requests, and Events on DynamicScorers. With --direct it
    writes the protected branch instead.
    """

    name = "proposals"
    ready = True
    """Always, so that an unreachable forge does not make the reconciler unready."""

    def __init__(
        self,
        *,
        view: HubView,
        events: Events,
        metrics: ProposalMetrics,
        git: GitSettings,
        settings: Proposals,
        page_seconds: float,
        memory: Memory | None = None,
        absences: Absences | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`page_seconds` limits the time for a /config page. Raises UsageError for invalid settings."""
        self._view, self._events, self._metrics, self._git, self._settings = (
            view,
            events,
            metrics,
            git,
            settings,
        )
        self._naming = Naming(prefix=settings.branch_prefix, folder=git.path)
        self._kinds = frozenset(Kind(kind.lower()) for kind in settings.kinds)
        self._memory, self._absences = memory or Memory(), absences or Absences()
        self._page_seconds, self._clock = page_seconds, clock

    async def run(self) -> None:
        """Works until it is cancelled."""
        await self._view.synced()
        failures = 0
        backoff = Backoff(first=2 * self._settings.interval_seconds, ceiling=LONGEST_SECONDS, jitter=0)
        async with work_folder(self._git, self.name) as folder, self._forge() as forge:
            work = self._work(folder, forge)
            while True:
                wait = float(self._settings.interval_seconds)
                try:
                    busy = await work.run_pass()
                    failures = 0
                    for idle in self._kinds - busy:
                        self._metrics.count(idle, ProposalOutcome.NOTHING)
                except (GitError, ForgeError, WorkerError) as error:
                    failures += 1
                    wait = max(backoff.delay(failures), error.wait if isinstance(error, ForgeError) else 0.0)
                    LOG.warning("proposals: %s; next try in %.0f s", error, wait)
                    for kind in self._kinds:
                        self._metrics.count(kind, ProposalOutcome.FAILED)
                await asyncio.sleep(wait * random.uniform(1.0, 1.1))  # noqa: S311 - spreads requests, keeps no secret

    def _work(self, folder: Path, forge: Forge | None) -> BranchWorkflow | DirectWorkflow:
        clone = Clone(settings=self._git, folder=folder)
        detector = DriftDetector(
            view=self._view,
            kinds=self._kinds,
            absences=self._absences,
            memory=self._memory,
            seconds=self._page_seconds,
            # Nobody reviews a direct commit, so it never removes a cluster.
            removes=not self._settings.direct,
        )
        fleet = FleetClone(
            clone=clone,
            checkout=Checkout(root=folder / "checkout", folder=self._git.path),
            detector=detector,
            memory=self._memory,
            naming=self._naming,
            branch=self._git.branch,
            clock=self._clock,
        )
        publisher = Publisher(
            clone=clone,
            forge=forge,
            template=self._settings.message_template or "",
            metrics=self._metrics,
            clock=lambda: datetime.now(UTC),
            announce=self._announce,
        )
        if self._settings.direct:
            return DirectWorkflow(fleet=fleet, publisher=publisher, metrics=self._metrics)
        return BranchWorkflow(
            fleet=fleet,
            forge=forge,
            publisher=publisher,
            max_open=self._settings.max_open,
            metrics=self._metrics,
        )

    async def _announce(self, proposal: Proposal, branch: str) -> None:
        """Writes an Event on the DynamicScorer, for people who look at the hub and not at git."""
        item = self._view.scorers.items.get(proposal.subject.scorer)
        if item is None:
            return
        await self._events.say(
            scorer_reference(item),
            "Normal",
            "LockProposed",
            f"/config differs from the lock; a new lock is proposed on branch {branch}",
        )

    @contextlib.asynccontextmanager
    async def _forge(self) -> AsyncIterator[Forge | None]:
        if self._settings.forge == "None":
            yield None
            return
        place = address(self._git.url)
        api = github_api(place, url=self._settings.forge_url or "")
        async with GitHub(
            api=api, place=place, base=self._git.branch, credentials=Credentials(folder=self._git.credentials)
        ) as forge:
            yield forge
