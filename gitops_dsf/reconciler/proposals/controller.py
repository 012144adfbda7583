"""The control loop of proposals: offers what differs between hub and git as pull requests."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from dsf_wire.constants import SCORE_GROUP
from dsf_wire.text import printable
from gitops_dsf.forge.address import address_of
from gitops_dsf.forge.forge import Forge, ForgeError
from gitops_dsf.forge.forges import FORGES
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.forge import send
from gitops_dsf.reconciler.git.clone import Clone, working_clone
from gitops_dsf.reconciler.git.credentials import Credentials, GitError
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.proposals.worker import (
    Change,
    Kind,
    Task,
    ask,
    commit_message,
    request_body,
    title,
)
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.model.reconciler import Proposals

LOG = logging.getLogger(__name__)
LONGEST_SECONDS: Final = 1800.0
"""Longest pause between two passes while git or the forge fails."""
APART: Final = 30.0
"""Seconds between two passes that must find the same: pages and labels that flap are not proposed."""
BETWEEN: Final = Backoff(first=600.0, ceiling=4 * 3600.0, jitter=0)
"""Pauses between two pushes of a kind. They double with each push, so that a page that flips does not cause
pushes all day. After twice the longest one without a push they begin anew.
"""
LEFT: Final = 600.0
"""Seconds after which a cluster in git without a ManagedCluster has left. An unavailable one has one."""
BRANCHES: Final = "gitops-dsf/"
DIGITS: Final = 16
"""Hexadecimal digits of the digest in a branch's name."""


@dataclass(kw_only=True, slots=True)
class _Memory:
    """What a leader remembers about a kind. Losing it delays a proposal, or repeats one once."""

    digest: str | None = None
    """Of the change that the last pass found; None if it found none for sure."""
    since: float = 0.0
    """When this change was found for the first time."""
    pushed_at: float = 0.0
    pushes: int = 0
    """Without a long pause."""
    offered: str = ""
    """The branch that was on the server last."""
    scorers: list[str] = field(default_factory=list)
    """Scorers whose locks it changes."""
    reason: str = ""
    """What the log said last."""
    stamp: str = ""
    """Digest of what the last change of the inventory was made of."""
    made: tuple[Change, str, str] | None = None
    """That change, with its commit and the digest of its files, both empty if nothing differs."""


class ProposalController:
    """Writes branches below its prefix, their pull requests, and Events on DynamicScorers."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        git: GitSettings,
        settings: Proposals,
        page_seconds: float,
        secrets: Path | None = None,
    ) -> None:
        """`page_seconds` limits the time for a /config page. `secrets` is the folder with its credentials."""
        self._secrets = None if secrets is None else str(secrets.absolute())
        self._api, self._view, self._events = context.api, context.view, context.events
        self._metrics = context.metrics
        self._git, self._settings, self._page_seconds = git, settings, page_seconds
        self._clock = context.clock
        # Two fleets in one repository need different names.
        slug = re.sub(r"[^A-Za-z0-9_/-]+", "-", git.path).strip("/-")
        self._stem = f"{BRANCHES}{slug}/" if slug else BRANCHES
        self._kinds = sorted({Kind(kind.lower()) for kind in settings.kinds}, reverse=True)
        self._memory = {kind: _Memory() for kind in self._kinds}
        self._absent: dict[str, float] = {}
        """Clusters of git that are not on the hub, and since when."""
        self._known: list[str] = []
        """Clusters in git at the last change."""
        self._forge: Forge | None = None
        if settings.forge != "None":
            api, place = address_of(git.url, kind=settings.forge, api=settings.forge_url or "")
            credentials = Credentials(folder=git.credentials)
            send_signed = partial(send, credentials=credentials)
            self._forge = FORGES[settings.forge](
                api=api, place=place, base=git.branch, send=send_signed
            )

    async def run(self) -> None:
        await self._view.synced()
        failures = 0
        backoff = Backoff(
            first=2 * self._settings.interval_seconds, ceiling=LONGEST_SECONDS, jitter=0
        )
        async with working_clone(self._git, "proposals", may_push=self._api.check_leads) as clone:
            while True:
                wait = float(self._settings.interval_seconds)
                errors = await self._pass(clone)
                failures = failures + 1 if errors else 0
                if errors:
                    asked = (each.wait for each in errors if isinstance(each, ForgeError))
                    wait = max(backoff.delay(failures), *asked, 0.0)
                await asyncio.sleep(wait)

    async def _pass(self, clone: Clone) -> list[GitError | ForgeError | ApiError]:
        """One look at every kind. Returns what failed."""
        try:
            branches = await self._update(clone)
        except GitError as error:
            LOG.warning("proposals: %s", error)
            for kind in self._kinds:
                self._metrics.proposals.labels(kind=kind, outcome="failed").inc()
            return [error]
        errors: list[GitError | ForgeError | ApiError] = []
        for kind in self._kinds:
            own = {
                name: commit
                for name, commit in branches.items()
                if re.fullmatch(rf"{re.escape(self._stem)}{kind}-[0-9a-f]{{{DIGITS}}}", name)
            }
            try:
                outcome = await self._propose(clone, kind, own)
            except (GitError, ForgeError, ApiError) as error:
                LOG.warning("proposal %s: %s", kind, error)
                outcome = "failed"
                errors.append(error)
            self._metrics.proposals.labels(kind=kind, outcome=outcome).inc()
            self._metrics.proposal_open.labels(kind=kind).set(len(own))
        return errors

    async def _update(self, clone: Clone) -> Mapping[str, str]:
        """Fetches the newest head. Returns the branches of this fleet with their commits. Raises GitError."""
        heads = await clone.heads(self._git.branch, f"{self._stem}*")
        head = heads.get(self._git.branch)
        if head is None:
            msg = f"the repository has no branch {self._git.branch}, which git.targetRevision names"
            raise GitError(msg)
        if head != clone.head:
            for memory in self._memory.values():
                memory.made = None
            await clone.checkout(await clone.fetch(self._git.branch), folder=self._git.path)
            if not (clone.tree / self._git.path / SETTINGS_FILE).is_file():
                clone.head = ""
                msg = (
                    f"the repository has no {self._in_repository(SETTINGS_FILE)}; git.path names the folder"
                    " of the fleet in it"
                )
                raise GitError(msg)
            lost = await clone.lost_sources(folder=self._git.path)
            if lost:
                clone.head = ""
                names = printable(", ".join(lost), most=300)
                msg = (
                    f"the repository has sources that this clone cannot read: {names}; proposals need all"
                    " sources as plain files of the repository, and none in a submodule"
                )
                raise GitError(msg)
        return heads

    async def _propose(self, clone: Clone, kind: Kind, own: dict[str, str]) -> str:
        """`own` are the branches of the kind; it is updated. Raises GitError and ForgeError.

        Raises ApiError when another replica may lead.
        """
        memory, now = self._memory[kind], self._clock()
        change, commit, digest = await self._change(clone, kind, offered=bool(own))
        reason = change.why or change.note
        if reason and reason != memory.reason:
            LOG.warning("proposal %s: %s", kind, reason)
        memory.reason = reason
        if change.why:
            memory.digest = None
            return "undecided"
        if digest != memory.digest:
            memory.digest, memory.since = digest, now
        if now - memory.since < APART:
            return "waiting"
        if not digest:
            memory.offered, memory.scorers = "", []
            await self._drop(
                clone, kind, own, "withdrawn", "Withdrawn: there is nothing left to change."
            )
            return "nothing"
        branch = f"{self._stem}{kind}-{digest}"
        request = await self._forge.latest(branch) if self._forge is not None else None
        is_open = branch in own and (
            self._forge is None or (request is not None and request.is_open)
        )
        refused = (
            request.refused
            if request is not None
            else branch == memory.offered and branch not in own
        )
        if refused:
            why = "Withdrawn: the content has changed to one that was refused before."
            await self._drop(clone, kind, own, "withdrawn", why, keep=branch)
            return "refused"
        outcome = "unchanged"
        # Without a request the leader before ended between push and request. After a merge the branch starts
        # again on the newest head.
        if branch not in own or (not is_open and request is not None):
            if now >= memory.pushed_at + 2 * BETWEEN.ceiling:
                memory.pushes = 0
            if memory.pushes and now < memory.pushed_at + BETWEEN.delay(memory.pushes):
                return "waiting"
            await self._push(clone, commit, branch, own)
            # One that failed does not count: nobody was bothered, and the run has its own pauses.
            memory.pushes, memory.pushed_at = memory.pushes + 1, now
            LOG.info("proposal %s: pushed to %s", kind, branch)
            await self._record_event(change, branch)
            outcome = "pushed"
        if self._forge is not None and not is_open:
            self._api.check_leads()
            opened = await self._forge.open(
                branch=branch, title=title(change), body=request_body(kind, change)
            )
            LOG.info("proposal %s: %s", kind, printable(opened.url, most=300))
        memory.offered, memory.scorers = branch, change.scorers
        why = f"Superseded by branch `{branch}`."
        await self._drop(clone, kind, own, "superseded", why, keep=branch)
        return outcome

    async def _change(self, clone: Clone, kind: Kind, *, offered: bool) -> tuple[Change, str, str]:
        """What differs now, its commit, and the digest of its files. Raises GitError."""
        memory, view = self._memory[kind], self._view
        # Absence in an informer that is known to be outdated says nothing: a cluster that has joined since
        # would count as gone.
        if outdated := view.stale_reason((view.scorers if kind is Kind.LOCKS else view.clusters,)):
            return Change(why=outdated), "", ""
        root = clone.tree / self._git.path
        task = Task(root=str(root), kind=kind, seconds=self._page_seconds, secrets=self._secrets)
        if kind is Kind.LOCKS:
            drifted = {
                name
                for name, item in self._view.scorers.items.items()
                if item.condition("ConfigSynced").reason == "Drifted"
            }
            task = msgspec.structs.replace(task, scorers=sorted(drifted.union(memory.scorers)))
            stamp = ""
        else:
            clusters = [
                {
                    "apiVersion": f"{SCORE_GROUP}/v1",
                    "kind": "ManagedCluster",
                    **msgspec.to_builtins(item),
                }
                for _, item in sorted(self._view.clusters.items.items())
                if not item.deleting
            ]
            task = msgspec.structs.replace(task, clusters=clusters, gone=self._gone())
            stamp = hashlib.sha256(msgspec.json.encode(task)).hexdigest()
        if not task.scorers and not task.clusters:
            return Change(), "", ""
        if memory.made is not None and stamp and stamp == memory.stamp:
            return memory.made
        await clone.checkout(clone.head, folder=self._git.path)
        change = await ask(task)
        if change.known:
            self._known = change.known
        commit, digest = "", ""
        # While the page of an offered lock cannot be read, the proposal stays as it is.
        held = sorted({*memory.scorers} & {*change.refused}) if offered else []
        if held:
            change = Change(why=change.why or change.note)
        elif change.files:
            names = [self._in_repository(file) for file in change.files]
            message = commit_message(kind, change)
            at = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
            commit = await clone.commit(names, parent=clone.head, message=message, at=at)
            content = sorted((await clone.changes(clone.head, commit)).items())
            digest = (
                hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:DIGITS] if content else ""
            )
        memory.stamp, memory.made = stamp, (change, commit, digest)
        return memory.made

    def _in_repository(self, file: str) -> str:
        return f"{self._git.path}/{file}" if self._git.path else file

    def _gone(self) -> list[str]:
        """Clusters in git that have left. A new leader counts from zero."""
        now = self._clock()
        absent = set(self._known) - set(self._view.clusters.items)
        self._absent = {name: self._absent.get(name, now) for name in absent}
        return sorted(name for name, since in self._absent.items() if now - since >= LEFT)

    async def _push(self, clone: Clone, commit: str, branch: str, own: dict[str, str]) -> None:
        expected = own.get(branch)
        if expected is not None and (other := await self._other_author(clone, branch, expected)):
            msg = f"{branch} is not overwritten: its last commit is by {other}"
            raise GitError(msg)
        await clone.push(commit, branch=branch, expected=expected)
        own[branch] = commit

    async def _record_event(self, change: Change, branch: str) -> None:
        """For people who look at the hub and not at git."""
        for name in change.scorers:
            if (item := self._view.scorers.items.get(name)) is not None:
                message = (
                    f"/config differs from the lock; a new lock is proposed on branch {branch}"
                )
                self._events.record(scorer_reference(item), "LockProposed", message)

    async def _drop(
        self,
        clone: Clone,
        kind: Kind,
        own: dict[str, str],
        outcome: str,
        why: str,
        *,
        keep: str = "",
    ) -> None:
        """Closes the requests of outdated branches, and deletes the branches."""
        for branch, commit in sorted(own.items()):
            if branch == keep:
                continue
            if other := await self._other_author(clone, branch, commit):
                LOG.info("outdated branch %s is kept: its last commit is by %s", branch, other)
                continue
            if self._forge is not None:
                request = await self._forge.latest(branch)
                if request is not None and request.is_open:
                    self._api.check_leads()
                    await self._forge.close(request, why=why)
            await clone.push(None, branch=branch, expected=commit)
            del own[branch]
            LOG.info("branch %s is deleted: %s", branch, why)
            self._metrics.proposals.labels(kind=kind, outcome=outcome).inc()

    async def _other_author(self, clone: Clone, branch: str, commit: str) -> str:
        """Who else has pushed to a branch that should be at this commit; empty for nobody."""
        tip = await clone.fetch(branch)
        author = await clone.written_by(tip)
        return "" if tip == commit and author == clone.author else author
