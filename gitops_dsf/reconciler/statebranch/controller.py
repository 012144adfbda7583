"""The control loop of the state branch: pushes a snapshot when the hub changed, and once an hour.

The branch has one commit without a parent, replaced each time, so that clones stay small.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git import Clone, GitError, work_folder
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.series import PREFIX
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.reconciler.statebranch.snapshot import MOMENT, README, collect
from gitops_dsf.repository.model import reconciler as model

LOG = logging.getLogger(__name__)
OLDEST: Final = timedelta(hours=1)
"""A snapshot of this age is pushed again although nothing changed: previews print its age."""
MESSAGE: Final = (
    "Snapshot of the hub\n\nScores, decisions and clusters as the reconciler saw them, for previews.\n"
)
_OURS: Final = re.compile(r"README\.md|(snapshot|decisions|clusters)\.json|scores/[^/]+\.json")
RETRIES: Final = Backoff(first=10.0, ceiling=600.0, jitter=0)


class StateMetrics:
    """Pushes of snapshots, and the age of the latest."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.pushes = Counter(
            f"{PREFIX}_state_pushes",
            "Snapshots by outcome: pushed, unchanged or failed.",
            ["outcome"],
            registry=registry,
        )
        self._seen_at = math.nan
        age = Gauge(
            f"{PREFIX}_state_age_seconds",
            "Seconds since the snapshot on the branch was taken; NaN before that is known.",
            registry=registry,
        )
        age.set_function(lambda: time.time() - self._seen_at)

    def seen(self, at: float) -> None:
        """Sets when the snapshot on the branch was taken, in seconds since 1970; NaN when it is not known."""
        self._seen_at = at


class StateBranchController:
    """Writes one branch and nothing else."""

    name = "state"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        git: GitSettings,
        settings: model.StateBranch,
        namespaces: Sequence[str],
        metrics: StateMetrics,
    ) -> None:
        """``namespaces`` are those outside of Argo CD's whose decisions are in the snapshot too."""
        self._api, self._view, self._git, self._settings, self._metrics = api, view, git, settings, metrics
        self._namespaces = namespaces

    async def run(self) -> None:
        """Works until it is cancelled."""
        self._metrics.seen(float("nan"))
        await self._view.clusters.synced.wait()
        await self._view.decisions.synced.wait()
        await self._view.scorers.synced.wait()
        async with work_folder(self._git, "state") as folder:
            clone = Clone(settings=self._git, folder=folder)
            failures = 0
            while True:
                try:
                    outcome = await self._pass(clone)
                    wait, failures = float(self._settings.interval_seconds), 0
                except (ApiError, GitError, RepositoryError) as error:
                    failures += 1
                    outcome, wait = "failed", RETRIES.delay(failures)
                    LOG.warning(
                        "no snapshot pushed to branch %s; next try in %g s: %s",
                        self._settings.branch,
                        wait,
                        error,
                    )
                self._metrics.pushes.labels(outcome=outcome).inc()
                await asyncio.sleep(wait)

    async def _pass(self, clone: Clone) -> str:
        branch, age = self._settings.branch, OLDEST
        tip = (await clone.heads(branch)).get(branch)
        if tip is not None:
            # If the branch moves after this, the push will be refused.
            tip = await clone.fetch(branch)
            check_names(await clone.names(tip), branch=branch)
            seen_at = await clone.committed_at(tip)
            age = datetime.fromtimestamp(self._api.now(), tz=UTC) - seen_at
            self._metrics.seen(seen_at.timestamp())
        files = await collect(api=self._api, view=self._view, namespaces=self._namespaces)
        now = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        await clone.write(files)
        commit = await clone.commit(files, parent=None, message=MESSAGE, at=now)
        changed = await clone.changes(tip, commit) if tip is not None else {}
        if age < OLDEST and changed.keys() <= {MOMENT, README}:
            return "unchanged"
        await clone.push(commit, branch=branch, expected=tip)
        self._metrics.seen(now.timestamp())
        LOG.info("snapshot of %d files pushed to branch %s", len(files), branch)
        return "pushed"


def check_names(names: Iterable[str], *, branch: str) -> None:
    """Raises RepositoryError when a branch holds other files than a snapshot's."""
    held = set(names)
    foreign = sorted(path for path in held if not _OURS.fullmatch(path))
    if foreign or MOMENT not in held:
        what = f"holds {', '.join(foreign[:3])}" if foreign else f"has no {MOMENT}"
        msg = (
            f"branch {branch} {what}, so it is not a snapshot and is not changed; name another branch as"
            " reconciler.state.branch"
        )
        raise RepositoryError(msg)
