"""The state branch: a snapshot of the hub for previews that cannot read the hub.

It holds scores, why some are missing, decisions and clusters. Its README.md is the board of the
fleet, which forges show.

It is pushed when the hub changed, and once an hour (docs/decisions/preview.md#the-state-branch).
The branch has one commit without a parent, replaced each time, so that clones stay small. Values
are rounded so that a file changes only when the hub did. Published scores are never rounded: one
point can decide a Placement.

Guaranteed: a branch with other files is never replaced, and neither is a commit that was pushed
meanwhile. Not guaranteed: that all parts are of the same moment, because informers are read one
after another.
"""

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.decisions import decision_of
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import BOARD_FILE
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSpec,
    ManagedClusterStatus,
    PlacementDecision,
)
from gitops_dsf.hub.resources import DECISIONS
from gitops_dsf.hub.snapshots.file_format import MOMENT, RAW_FOLDER, files
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.hub.times import LATEST, in_utc
from gitops_dsf.reconciler.board import board
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.git.clone import Clone, file_entry, working_clone
from gitops_dsf.reconciler.git.pushing import RETRIES, counting_failures
from gitops_dsf.reconciler.hub.kinds import decision_page
from gitops_dsf.reconciler.loop import NotReady, run_controller
from gitops_dsf.reconciler.rawscores import RawScoreController
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.model import reconciler as model

MAX_AGE: Final = timedelta(hours=1)
"""A snapshot of this age is pushed again although nothing changed: previews print its age."""
BOARD_SECONDS: Final = 300.0
"""The shortest time between two writes of the board: forges show each push to their subscribers."""
MAX_NAMED: Final = 3
"""Files of others that a message names."""
MESSAGE: Final = (
    "Snapshot of the hub\n\n"
    "Scores, decisions and clusters as the reconciler saw them, for previews.\n"
)
HUB: Final = "hub"
HOUR: Final = timedelta(hours=1)
_OURS: Final = re.compile(
    r"README\.md|(snapshot|failures|decisions|clusters)\.json|(scores|raw)/[^/]+\.json"
)

LOG = logging.getLogger(__name__)


class StateBranchController:
    """Writes one branch and nothing else."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        git: GitSettings,
        settings: model.StateBranch,
        namespaces: Sequence[str],
        raw: RawScoreController | None = None,
    ) -> None:
        """``namespaces`` are those outside of Argo CD's whose decisions are in the snapshot too.

        ``raw`` has raw scores of a metric store, if there is one.
        """
        self._context = context
        self._api = context.api
        self._view = context.view
        self._git = git
        self._settings = settings
        self._namespaces = namespaces
        self._raw = raw
        self._tip: str | None = None
        """The commit of the branch that was looked at last."""
        self._entries: Mapping[str, str] = {}
        """The mode and the object that git has for each file of this commit."""
        self._seen_at = float("nan")
        """The time of the snapshot on the branch, in seconds since 1970 by the hub's clock."""
        self._board = b""
        """The board that is on the branch, or will be with the next push."""
        self._board_at = 0.0
        """The time at which the board was written, by the hub's clock."""
        context.metrics.state_age.set_function(lambda: self._api.now() - self._seen_at)

    async def run(self) -> None:
        view = self._view
        async with working_clone(self._git, "state", may_push=self._api.check_leads) as clone:
            await run_controller(
                partial(self._reconcile, clone),
                name="state",
                context=self._context,
                failing=f"branch {self._settings.branch} is not up to date",
                reads=(view.clusters, view.decisions, view.scores),
                backoff=RETRIES,
            )

    async def _reconcile(self, clone: Clone) -> float:
        """Raises NotReady when git fails."""
        pushes = self._context.metrics.state_pushes
        with counting_failures(pushes):
            outcome = await self._push_what_changed(clone)
        pushes.labels(outcome=outcome).inc()
        return self._settings.interval_seconds

    async def _push_what_changed(self, clone: Clone) -> str:
        branch = self._settings.branch
        age = MAX_AGE
        tip = (await clone.heads(branch)).get(branch)
        if tip is not None:
            # If the branch moves after this, the push will be refused.
            tip = await clone.fetch(branch)
            if tip != self._tip:
                await self._look_at(clone, tip)
            age = timedelta(seconds=self._api.now() - self._seen_at)
        content = await self._files()
        entries = await _entries(content)
        if tip is not None and age < MAX_AGE:
            changed = {path for path, _ in entries.items() ^ self._entries.items()}
            # The moment differs in every snapshot, and is not a reason for a push.
            if not self._is_news(changed, age):
                return "unchanged"
        # Git has whole seconds, and the age is computed from the commit.
        now = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        commit = await clone.commit_files(content, parent=None, message=MESSAGE, at=now)
        # The push expects the commit that was looked at: a commit that was pushed meanwhile is not
        # overwritten.
        await clone.push(commit, branch=branch, expected=tip)
        self._tip = commit
        self._entries = entries
        self._seen_at = now.timestamp()
        LOG.info("snapshot of %d files pushed to branch %s", len(content), branch)
        return "pushed"

    async def _look_at(self, clone: Clone, tip: str) -> None:
        """Reads the commit. Raises GitError, and RepositoryError if it is not a snapshot."""
        entries = await clone.files(tip)
        self._check_is_snapshot(entries)
        seen_at = (await clone.committed_at(tip)).timestamp()
        if not self._board and BOARD_FILE in entries:
            # This is the board of the leader before, so that a new one does not write it at once.
            self._board = await clone.read(tip, BOARD_FILE)
            self._board_at = seen_at
        self._seen_at = seen_at
        self._tip = tip
        self._entries = entries

    def _is_news(self, paths: Iterable[str], age: timedelta) -> bool:
        """Whether these changes are worth a push.

        Raw scores change with every scrape, so alone they are news only in their own interval.
        """
        others = [path for path in paths if path != MOMENT]
        if self._raw is None or not others:
            return bool(others)
        if age >= timedelta(seconds=self._raw.interval_seconds):
            return True
        return any(not path.startswith(RAW_FOLDER) for path in others)

    def _check_is_snapshot(self, paths: Collection[str]) -> None:
        """Raises RepositoryError for a branch with other files: a push would replace all of it."""
        branch = self._settings.branch
        foreign = sorted(path for path in paths if not _OURS.fullmatch(path))
        if foreign:
            names = ", ".join(foreign[:MAX_NAMED])
            raise RepositoryError(
                f"branch {branch} holds {names}, so it is not a snapshot and is not changed; name"
                " another branch as reconciler.state.branch"
            )
        if MOMENT not in paths:
            raise RepositoryError(
                f"branch {branch} has no {MOMENT}, so it is not a snapshot and is not changed; name"
                " another branch as reconciler.state.branch"
            )

    async def _files(self) -> dict[str, bytes]:
        """The files of a snapshot. Raises ApiError.

        Raises NotReady when a resource may be outdated: in a partial snapshot clusters and scores
        would seem to be gone.
        """
        view = self._view
        stale_reason = view.stale_reason((view.scores, view.decisions, view.clusters))
        if stale_reason:
            raise NotReady(stale_reason)
        observed_at = datetime.fromtimestamp(self._api.now(), tz=UTC)
        pages = {(view.argocd_namespace, name): page for name, page in view.decisions.items.items()}
        for namespace in self._namespaces:
            path = DECISIONS.within(namespace).path
            for name, page in await self._api.listed(path, decision_page):
                pages[namespace, name] = page
        decisions = []
        for (namespace, name), page in sorted(pages.items(), key=lambda entry: entry[0]):
            # Only the label names the Placement of a page, so a page without it belongs to none.
            if page.placement:
                decision = decision_of(
                    namespace=namespace,
                    name=name,
                    placement=page.placement,
                    clusters=sorted(set(page.cluster_names)),
                )
                decisions.append(decision)
        clusters: dict[str, ManagedCluster] = {}
        for name, cluster in view.clusters.items.items():
            # OCM decides for no cluster that is being deleted.
            if not cluster.deleting:
                clusters[name] = selectable(cluster)
        snapshot = Snapshot(
            origin=HUB,
            observed_at=observed_at,
            scores=dict(view.scores.columns),
            raw_scores={} if self._raw is None else self._raw.current(),
            decisions=tuple(decisions),
            clusters=clusters,
        )
        content = {BOARD_FILE: await self._current_board(decisions)}
        rounded = partial(rounded_valid_until, observed=observed_at)
        # File by file: a million scores take a while to encode, and the Lease must be renewed
        # meanwhile.
        for path, text in files(snapshot, hub=HUB, rounded=rounded):
            content[path] = text
            await asyncio.sleep(0)
        return content

    async def _current_board(self, decisions: Sequence[PlacementDecision]) -> bytes:
        """The board of the branch until it may be written again, and the hub shows another one."""
        view = self._view
        now = self._api.now()
        if self._board and now - self._board_at < BOARD_SECONDS:
            return self._board
        # A board by lists that are not read, or outdated, would show people scorers and
        # Applications that are gone or missing. The old one is only late.
        needed = (view.scorers, view.sets, view.applications, view.addons, view.placements)
        if self._board and not all(informer.synced.is_set() for informer in needed):
            return self._board
        if self._board and view.stale_reason(needed):
            return self._board
        current = await board(self._context, decisions)
        if current != self._board:
            self._board = current
            self._board_at = now
        return self._board


async def _entries(content: Mapping[str, bytes]) -> dict[str, str]:
    """The mode and the object that git has for each of these files, with pauses for other tasks."""
    entries: dict[str, str] = {}
    for path, text in content.items():
        entries[path] = file_entry(text)
        await asyncio.sleep(0)
    return entries


def selectable(cluster: ManagedCluster) -> ManagedCluster:
    """The labels and claims by which a Placement selects clusters; no annotations or addresses."""
    status = cluster.status or ManagedClusterStatus()
    claims = sorted(status.cluster_claims or (), key=lambda claim: claim.name)
    return ManagedCluster(
        Metadata(cluster.metadata.name, labels=dict(sorted(cluster.labels.items()))),
        ManagedClusterSpec(taints=cluster.taints),
        ManagedClusterStatus(
            cluster_claims=tuple(claims),
            allocatable=dict(sorted((status.allocatable or {}).items())),
            capacity=dict(sorted((status.capacity or {}).items())),
        ),
    )


def rounded_valid_until(until: datetime | None, *, observed: datetime) -> datetime | None:
    """The next full hour.

    A score that was expired when it was observed gets the last full hour instead.

    So a fresh score stays fresh at the moment of observation, and an expired one stays expired.
    Agents renew validUntil at half of the TTL, so the exact time would change every line of every
    snapshot.
    """
    if until is None:
        return None
    until = in_utc(until)
    floor = until.replace(minute=0, second=0, microsecond=0)
    if until <= observed or floor == until or floor > LATEST - HOUR:
        return floor
    return floor + HOUR
