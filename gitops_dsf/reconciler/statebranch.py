"""The state branch: a snapshot of scores, decisions and clusters, for previews without access to the hub
(docs/decisions/preview.md#the-state-branch). It is pushed when the hub changed, and once an hour.

The branch has one commit without a parent, replaced each time, so that clones stay small. Values are rounded
so that a file changes only when the hub did. Published scores are never rounded: one point can decide a
Placement.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from dsf_runtime.apiserver import ApiError
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.metadata import LATEST, Metadata, in_utc
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterSpec, ManagedClusterStatus
from gitops_dsf.hub.placements import decision_of
from gitops_dsf.hub.resources import DECISIONS
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.hub.snapshotfile import MOMENT
from gitops_dsf.hub.snapshotfile import files as written
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.git.clone import Clone, keep_pushing, working_clone
from gitops_dsf.reconciler.hub.kinds import decision_page
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model import reconciler as model

LOG = logging.getLogger(__name__)
OLDEST: Final = timedelta(hours=1)
"""A snapshot of this age is pushed again although nothing changed: previews print its age."""
MESSAGE: Final = "Snapshot of the hub\n\nScores, decisions and clusters as the reconciler saw them, for previews.\n"
_OURS: Final = re.compile(r"README\.md|(snapshot|decisions|clusters)\.json|scores/[^/]+\.json")
README: Final = "README.md"
HUB: Final = "hub"
HOUR: Final = timedelta(hours=1)
_README: Final = b"""Written by `gitops-dsf reconcile`: what the hub held when it last looked. Previews of pull requests read it.
Do not edit: the next snapshot replaces the whole branch.
"""  # noqa: E501


class StateBranchController:
    """Writes one branch and nothing else."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        git: GitSettings,
        settings: model.StateBranch,
        namespaces: Sequence[str],
    ) -> None:
        """``namespaces`` are those outside of Argo CD's whose decisions are in the snapshot too."""
        self._api, self._view, self._metrics = context.api, context.view, context.metrics
        self._git, self._settings, self._namespaces = git, settings, namespaces
        self._seen_at = float("nan")
        """When the snapshot on the branch was taken, in seconds since 1970 by the hub's clock."""
        context.metrics.state_age.set_function(lambda: self._api.now() - self._seen_at)

    async def run(self) -> None:
        await self._view.synced(self._view.clusters, self._view.decisions, self._view.scores)
        async with working_clone(self._git, "state", may_push=self._api.check_leads) as clone:
            await keep_pushing(
                partial(self._pass, clone),
                seconds=self._settings.interval_seconds,
                outcomes=self._metrics.state_pushes,
                branch=self._settings.branch,
            )

    async def _pass(self, clone: Clone) -> str:
        branch, age = self._settings.branch, OLDEST
        tip = (await clone.heads(branch)).get(branch)
        if tip is not None:
            # If the branch moves after this, the push will be refused.
            tip = await clone.fetch(branch)
            held = set(await clone.names(tip))
            foreign = sorted(path for path in held if not _OURS.fullmatch(path))
            if foreign or MOMENT not in held:
                what = f"holds {', '.join(foreign[:3])}" if foreign else f"has no {MOMENT}"
                msg = (
                    f"branch {branch} {what}, so it is not a snapshot and is not changed; name another branch"
                    " as reconciler.state.branch"
                )
                raise RepositoryError(msg)
            seen_at = await clone.committed_at(tip)
            age = datetime.fromtimestamp(self._api.now(), tz=UTC) - seen_at
            self._seen_at = seen_at.timestamp()
        files = await self._files()
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

    async def _files(self) -> dict[str, bytes]:
        """Raises ApiError when a resource may be outdated: a partial snapshot would say there is no more."""
        view = self._view
        if outdated := view.stale_reason((view.scores, view.decisions, view.clusters)):
            raise ApiError(outdated)
        observed = datetime.fromtimestamp(self._api.now(), tz=UTC)
        pages = {(view.argocd_namespace, name): page for name, page in view.decisions.items.items()}
        for namespace in self._namespaces:
            found = await self._api.listed(DECISIONS.within(namespace).path, decision_page)
            pages |= {(namespace, name): page for name, page in found}
        decisions = (
            decision_of(
                namespace=namespace,
                name=name,
                placement=page.placement,
                clusters=sorted(set(page.cluster_names)),
            )
            for (namespace, name), page in sorted(pages.items(), key=lambda item: item[0])
            if page.placement
        )
        clusters = view.clusters.items.items()
        snapshot = Snapshot(
            origin=HUB,
            observed_at=observed,
            scores=dict(view.scores.columns),
            decisions=tuple(decisions),
            clusters={name: selectable(item) for name, item in clusters if not item.deleting},
        )
        files = {README: _README}
        rounded = partial(rounded_valid_until, observed=observed)
        for name, content in written(snapshot, hub=HUB, rounded=rounded):
            files[name] = content
            await asyncio.sleep(0)
        return files


def selectable(cluster: ManagedCluster) -> ManagedCluster:
    """What a Placement can select a cluster by, without annotations and addresses."""
    status = cluster.status or ManagedClusterStatus()
    return ManagedCluster(
        Metadata(cluster.metadata.name, labels=dict(sorted(cluster.labels.items()))),
        ManagedClusterSpec(taints=cluster.taints),
        ManagedClusterStatus(
            cluster_claims=tuple(sorted(status.cluster_claims or (), key=lambda each: each.name)),
            allocatable=dict(sorted((status.allocatable or {}).items())),
            capacity=dict(sorted((status.capacity or {}).items())),
        ),
    )


def rounded_valid_until(until: datetime | None, *, observed: datetime) -> datetime | None:
    """The next full hour. A score that was expired when it was observed gets the last full hour instead.

    So a fresh score stays fresh at the moment of observation, and an expired one stays expired. Agents renew
    validUntil at half of the TTL, so the exact time would change every line of every snapshot.
    """
    if until is None:
        return None
    until = in_utc(until)
    floor = until.replace(minute=0, second=0, microsecond=0)
    if until <= observed or floor == until or floor > LATEST - HOUR:
        return floor
    return floor + HOUR
