"""Keeps the snapshot on its branch as new as it is worth."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git import Clone, GitError, work_folder
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.settings import GitSettings, StateSettings
from gitops_dsf.reconciler.state.branch import Digests, StateBranch, Tip, digests
from gitops_dsf.reconciler.state.collect import collect
from gitops_dsf.reconciler.state.metrics import StateMetrics
from gitops_dsf.reconciler.state.rawscores import RawScores
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

LOG = logging.getLogger(__name__)
RAW_LIMITS: Final = FetchLimits(seconds=30, answer_bytes=64 * 1024 * 1024)
OLDEST: Final = timedelta(hours=1)
"""After which a snapshot is pushed although nothing changed: previews print its age."""
RETRIES: Final = Backoff(first=10.0, ceiling=600.0, jitter=0)


class StateDuty:
    """Writes one branch and nothing else."""

    name = "state"

    def __init__(
        self, *, api: HubApi, view: HubView, git: GitSettings, settings: StateSettings, metrics: StateMetrics
    ) -> None:
        self._api, self._view, self._git, self._settings, self._metrics = api, view, git, settings, metrics

    @property
    def ready(self) -> bool:
        """Previews can wait: a repository that is away must not keep the reconciler from being ready."""
        return True

    async def run(self) -> None:
        """Works until it is cancelled."""
        self._metrics.seen(float("nan"))
        await self._view.clusters.synced.wait()
        await self._view.decisions.synced.wait()
        await self._view.scorers.synced.wait()
        async with Fetcher(limits=RAW_LIMITS) as fetcher, work_folder(self._git, "state") as folder:
            branch = StateBranch(clone=Clone(settings=self._git, folder=folder), name=self._settings.branch)
            raw = RawScores(url=self._settings.raw_scores_url, fetcher=fetcher, metrics=self._metrics)
            failures = 0
            while True:
                try:
                    outcome = await self._pass(branch, raw)
                    wait, failures = self._settings.interval, 0
                except (ApiError, GitError, RepositoryError) as error:
                    failures += 1
                    outcome, wait = "failed", RETRIES.delay(failures)
                    LOG.warning(
                        "no snapshot on branch %s; next try in %g s: %s", self._settings.branch, wait, error
                    )
                self._metrics.pushes.labels(outcome=outcome).inc()
                await asyncio.sleep(wait)

    async def _pass(self, branch: StateBranch, raw: RawScores) -> str:
        tip = await branch.tip()
        if tip is not None:
            self._metrics.seen(tip.seen_at.timestamp())
        found = await raw.read(self._view.scorers.items.values()) if self._settings.raw_scores_url else {}
        files = await collect(api=self._api, view=self._view, raw=found)
        now = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        if not worth_a_push(tip, digests(files), now=now):
            return "unchanged"
        await branch.replace(files, at=now)
        self._metrics.seen(now.timestamp())
        LOG.info("snapshot of %d files pushed to branch %s", len(files), self._settings.branch)
        return "pushed"


def worth_a_push(tip: Tip | None, found: Digests, *, now: datetime) -> bool:
    """Whether the branch should get a new snapshot: something changed, or the one that is there would be
    called old.
    """
    return tip is None or tip.digests != found or now - tip.seen_at >= OLDEST
