"""The control loop of the state branch: pushes a snapshot when the hub changed, and once an hour.

The branch has one commit without a parent, replaced each time, so that clones stay small.
"""

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from gitops_dsf.errors import RepositoryError
from gitops_dsf.reconciler.git import Clone, GitError, work_folder
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.reconciler.shared import Shared
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


class StateBranchController:
    """Writes one branch and nothing else."""

    def __init__(
        self,
        shared: Shared,
        *,
        git: GitSettings,
        settings: model.StateBranch,
        namespaces: Sequence[str],
    ) -> None:
        """``namespaces`` are those outside of Argo CD's whose decisions are in the snapshot too."""
        self._api, self._view, self._metrics = shared.api, shared.view, shared.metrics
        self._git, self._settings, self._namespaces = git, settings, namespaces
        self._seen_at = float("nan")
        """When the snapshot on the branch was taken, in seconds since 1970."""
        shared.metrics.state_age.set_function(lambda: time.time() - self._seen_at)

    async def run(self) -> None:
        """Works until it is cancelled."""
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
                self._metrics.state_pushes.labels(outcome=outcome).inc()
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
            self._seen_at = seen_at.timestamp()
        files = await collect(api=self._api, view=self._view, namespaces=self._namespaces)
        now = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        await clone.write(files)
        commit = await clone.commit(files, parent=None, message=MESSAGE, at=now)
        changed = await clone.changes(tip, commit) if tip is not None else {}
        if age < OLDEST and changed.keys() <= {MOMENT, README}:
            return "unchanged"
        await clone.push(commit, branch=branch, expected=tip)
        self._seen_at = now.timestamp()
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
