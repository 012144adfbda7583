"""The controller of proposals: offers what differs between hub and git as pull requests.

Not guaranteed: that a proposal is made at once. A change must be found twice, and pushes have long
pauses, so that a page or a label that flips does not fill the inbox of reviewers.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff
from dsf_wire.constants import SCORE_GROUP
from dsf_wire.text import printable
from gitops_dsf.forge.address import address_of
from gitops_dsf.forge.forge import Forge
from gitops_dsf.forge.forges import FORGES
from gitops_dsf.forge.pullrequest import PullRequest
from gitops_dsf.forge.sending import ForgeError
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.forge import send
from gitops_dsf.reconciler.git.clone import Clone, working_clone
from gitops_dsf.reconciler.git.credentials import GitCredentials, GitError
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.loop import NotReady, run_controller
from gitops_dsf.reconciler.proposals.texts import commit_message, request_body, title
from gitops_dsf.reconciler.proposals.worker import ask
from gitops_dsf.reconciler.proposals.workload import Change, ProposalKind, Task
from gitops_dsf.reconciler.settings import GitSettings
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.model.reconciler import Proposals

MAX_PAUSE_SECONDS: Final = 1800.0
"""Longest pause between two passes while git or the forge fails."""
APART: Final = 30.0
"""Seconds between two passes that must find the same.

So pages and labels that flap are not proposed.
"""
BETWEEN: Final = Backoff(first=600.0, ceiling=4 * 3600.0, jitter=0)
"""Pauses between two pushes of a kind.

They double with each push, so that a page that flips does not cause pushes all day. After twice the
longest pause without a push they start at the first one again.
"""
LEFT: Final = 600.0
"""Seconds after which a cluster in git without a ManagedCluster has left.

An unavailable one has one.
"""
BRANCHES: Final = "gitops-dsf/"
DIGITS: Final = 16
"""Hexadecimal digits of the digest in a branch's name."""

LOG = logging.getLogger(__name__)


class _Made(NamedTuple):
    """A change, its commit, and the digest of its files.

    The last two are empty if nothing differs.
    """

    change: Change
    commit: str = ""
    digest: str = ""


@dataclass(kw_only=True, slots=True)
class _Memory:
    """The memory of a leader about a kind. Losing it delays a proposal, or repeats one once."""

    digest: str | None = None
    """The digest of the change that the last pass found; None if it found none for sure."""
    since: float = 0.0
    """The time when this change was found for the first time."""
    pushed_at: float = 0.0
    pushes: int = 0
    """The number of pushes without a long pause between them."""
    offered: str = ""
    """The branch that was on the server last."""
    scorers: list[str] = field(default_factory=list)
    """Scorers whose locks it changes."""
    reason: str = ""
    """The reason that was logged last."""
    stamp: str = ""
    """Digest of what the last change of the inventory was made of."""
    made: _Made | None = None
    """The change that this stamp belongs to."""
    written: str = ""
    """Digest of the files that it wrote."""


def _digest_of(files: Sequence[Path]) -> str:
    """The digest of what these files hold; some may have been removed."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes() if file.is_file() else None
        digest.update(msgspec.json.encode((str(file), content)))
    return digest.hexdigest()


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
        """`page_seconds` limits the time for a /config page.

        `secrets` is the folder with its credentials.
        """
        self._context = context
        self._api = context.api
        self._view = context.view
        self._metrics = context.metrics
        self._clock = context.clock
        self._git = git
        self._settings = settings
        self._page_seconds = page_seconds
        self._secrets = None if secrets is None else str(secrets.absolute())
        # Two fleets in one repository need different names.
        slug = re.sub(r"[^A-Za-z0-9_/-]+", "-", git.path).strip("/-")
        self._stem = f"{BRANCHES}{slug}/" if slug else BRANCHES
        self._kinds = sorted({ProposalKind(kind.lower()) for kind in settings.kinds}, reverse=True)
        self._memory = {kind: _Memory() for kind in self._kinds}
        self._absent: dict[str, float] = {}
        """Clusters of git that are not on the hub, and since when."""
        self._known: list[str] = []
        """Clusters in git at the last change."""
        self._worker_wrote = False
        """Whether a worker ran in the working tree after it was checked out."""
        self._forge: Forge | None = None
        if settings.forge != "None":
            api, repository = address_of(git.url, kind=settings.forge, api=settings.forge_url or "")
            send_signed = partial(send, credentials=GitCredentials(folder=git.credentials))
            self._forge = FORGES[settings.forge](
                api=api, place=repository, base=git.branch, send=send_signed
            )

    async def run(self) -> None:
        interval = self._settings.interval_seconds
        async with working_clone(self._git, "proposals", may_push=self._api.check_leads) as clone:
            await run_controller(
                partial(self._reconcile, clone),
                name="proposals",
                context=self._context,
                failing="not everything is proposed",
                reads=(*self._view.informers, self._view.masks),
                backoff=Backoff(first=2 * interval, ceiling=MAX_PAUSE_SECONDS, jitter=0),
            )

    async def _reconcile(self, clone: Clone) -> float:
        """Looks at every kind: what fails for one stops no other.

        Raises NotReady if something failed.
        """
        try:
            branches = await self._update(clone)
        except GitError as error:
            for kind in self._kinds:
                self._metrics.proposals.labels(kind=kind, outcome="failed").inc()
            raise NotReady(str(error)) from error
        outcomes: dict[ProposalKind, str] = {}
        failures: list[str] = []
        seconds = 0.0
        for kind in self._kinds:
            pattern = rf"{re.escape(self._stem)}{kind}-[0-9a-f]{{{DIGITS}}}"
            own = {name: tip for name, tip in branches.items() if re.fullmatch(pattern, name)}
            try:
                outcomes[kind] = await self._propose(clone, kind, own)
            except (GitError, ForgeError, ApiError) as error:
                outcomes[kind] = "failed"
                failures.append(f"{kind}: {error}")
                if isinstance(error, ForgeError):
                    seconds = max(seconds, error.wait)
            self._metrics.proposal_open.labels(kind=kind).set(len(own))
        for kind, outcome in outcomes.items():
            self._metrics.proposals.labels(kind=kind, outcome=outcome).inc()
        if failures:
            raise NotReady("; ".join(failures), seconds=seconds)
        return float(self._settings.interval_seconds)

    async def _update(self, clone: Clone) -> Mapping[str, str]:
        """Fetches the newest head.

        Returns the branches of this fleet with their commits. Raises GitError.
        """
        heads = await clone.heads(self._git.branch, f"{self._stem}*")
        head = heads.get(self._git.branch)
        if head is None:
            msg = f"the repository has no branch {self._git.branch}, which git.targetRevision names"
            raise GitError(msg)
        if head != clone.head:
            for memory in self._memory.values():
                memory.made = None
            await clone.checkout(await clone.fetch(self._git.branch), folder=self._git.path)
            self._worker_wrote = False
            try:
                await self._check_checkout(clone)
            except GitError:
                # So that the next pass checks it out again.
                clone.head = ""
                raise
        return heads

    async def _check_checkout(self, clone: Clone) -> None:
        """Raises GitError for a checkout that is not the whole fleet."""
        if not (clone.tree / self._git.path / SETTINGS_FILE).is_file():
            file = self._in_repository(SETTINGS_FILE)
            raise GitError(
                f"the repository has no {file}; git.path names the folder of the fleet in it"
            )
        lost = await clone.lost_sources(folder=self._git.path)
        if lost:
            names = printable(", ".join(lost), max_characters=300)
            raise GitError(
                f"the repository has sources that this clone cannot read: {names};"
                " proposals need all sources as plain files of the repository, and none in a"
                " submodule"
            )

    async def _propose(self, clone: Clone, kind: ProposalKind, own: dict[str, str]) -> str:
        """`own` are the branches of the kind; it is updated. Raises GitError and ForgeError.

        Raises ApiError when another replica may lead.
        """
        memory = self._memory[kind]
        now = self._clock()
        change, commit, digest = await self._change(clone, kind, offered=bool(own))
        reason = change.why or change.note
        if reason and reason != memory.reason:
            LOG.warning("proposal %s: %s", kind, reason)
        memory.reason = reason
        if change.why:
            memory.digest = None
            return "undecided"
        if digest != memory.digest:
            memory.digest = digest
            memory.since = now
        if now - memory.since < APART:
            return "waiting"
        if not digest:
            memory.offered = ""
            memory.scorers = []
            comment = "Withdrawn: there is nothing left to change."
            await self._drop(clone, kind, own, outcome="withdrawn", why=comment)
            return "nothing"
        branch = f"{self._stem}{kind}-{digest}"
        pull_request = await self._forge.latest(branch) if self._forge is not None else None
        if self._is_refused(pull_request, branch, memory, own):
            comment = "Withdrawn: the content has changed to one that was refused before."
            await self._drop(clone, kind, own, outcome="withdrawn", why=comment, keep=branch)
            return "refused"
        is_open = branch in own
        if self._forge is not None:
            is_open = is_open and pull_request is not None and pull_request.is_open
        outcome = "unchanged"
        # Without a pull request the leader before ended between the push and opening it. After a
        # merge the branch starts again on the newest head.
        if branch not in own or (not is_open and pull_request is not None):
            if now >= memory.pushed_at + 2 * BETWEEN.ceiling:
                memory.pushes = 0
            if memory.pushes and now < memory.pushed_at + BETWEEN.delay(memory.pushes):
                return "waiting"
            await self._push(clone, commit, branch, own)
            # A push that failed does not count: no reviewer was notified, and the loop has its own
            # pauses.
            memory.pushes += 1
            memory.pushed_at = now
            LOG.info("proposal %s: pushed to %s", kind, branch)
            self._record_events(change, branch)
            outcome = "pushed"
        if self._forge is not None and not is_open:
            # The push comes first: a forge opens no pull request for a branch that it lacks.
            self._api.check_leads()
            body = request_body(kind, change)
            opened = await self._forge.open(branch=branch, title=title(change), body=body)
            LOG.info("proposal %s: %s", kind, printable(opened.url, max_characters=300))
        memory.offered = branch
        memory.scorers = change.scorers
        comment = f"Superseded by branch `{branch}`."
        await self._drop(clone, kind, own, outcome="superseded", why=comment, keep=branch)
        return outcome

    def _is_refused(
        self,
        pull_request: PullRequest | None,
        branch: str,
        memory: _Memory,
        own: Mapping[str, str],
    ) -> bool:
        """Whether people refused this content: closed its pull request, or deleted its branch."""
        if pull_request is not None:
            return pull_request.refused
        return branch == memory.offered and branch not in own

    async def _change(self, clone: Clone, kind: ProposalKind, *, offered: bool) -> _Made:
        """The present difference between hub and git. Raises GitError."""
        memory = self._memory[kind]
        view = self._view
        # Absence in an informer that is known to be outdated says nothing: a cluster that has
        # joined since would count as gone.
        source = view.scorers if kind is ProposalKind.LOCKS else view.clusters
        stale_reason = view.stale_reason([source])
        if stale_reason:
            return _Made(Change(why=stale_reason))
        task = self._task(clone, kind)
        if not task.scorers and not task.clusters:
            return _Made(Change())
        stamp = ""
        if kind is ProposalKind.INVENTORY:
            stamp = hashlib.sha256(msgspec.json.encode(task)).hexdigest()
            if memory.made is not None and stamp == memory.stamp:
                return memory.made
        if self._worker_wrote:
            await clone.checkout(clone.head, folder=self._git.path)
        # Also a worker that fails may have written some of its files.
        self._worker_wrote = True
        change = await ask(task)
        if change.known:
            self._known = change.known
        memory.stamp = stamp
        if offered and not set(memory.scorers).isdisjoint(change.refused):
            # While the page of an offered lock cannot be read, the proposal stays as it is.
            memory.made = _Made(Change(why=change.why or change.note))
        elif change.files:
            memory.made = await self._committed(clone, kind, change)
        else:
            memory.made = _Made(change)
        return memory.made

    def _task(self, clone: Clone, kind: ProposalKind) -> Task:
        """The task of the worker."""
        root = str(clone.tree / self._git.path)
        task = Task(root=root, kind=kind, seconds=self._page_seconds, secrets=self._secrets)
        if kind is ProposalKind.LOCKS:
            # Scorers of an open proposal stay in it: otherwise its branch would lose their locks.
            due = set(self._memory[kind].scorers)
            for name, scorer in self._view.scorers.items.items():
                if scorer.condition("ConfigSynced").reason == "Drifted":
                    due.add(name)
            scorers = sorted(due)
            return msgspec.structs.replace(task, scorers=scorers)
        clusters = []
        for _, cluster in sorted(self._view.clusters.items.items()):
            if not cluster.deleting:
                head = {"apiVersion": f"{SCORE_GROUP}/v1", "kind": "ManagedCluster"}
                clusters.append({**head, **msgspec.to_builtins(cluster)})
        return msgspec.structs.replace(task, clusters=clusters, gone=self._gone())

    async def _committed(self, clone: Clone, kind: ProposalKind, change: Change) -> _Made:
        """The change with a commit of its files, which is not pushed."""
        memory = self._memory[kind]
        names = [self._in_repository(file) for file in change.files]
        written = await asyncio.to_thread(_digest_of, [clone.tree / name for name in names])
        # An open proposal is made again in each pass, and is nearly always the same.
        if memory.made is not None and memory.made.change == change and memory.written == written:
            return memory.made
        memory.written = written
        message = commit_message(kind, change)
        commit_time = datetime.fromtimestamp(int(self._api.now()), tz=UTC)
        commit = await clone.commit(names, parent=clone.head, message=message, at=commit_time)
        content = sorted((await clone.changes(clone.head, commit)).items())
        digest = ""
        if content:
            digest = hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:DIGITS]
        return _Made(change, commit, digest)

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
        if expected is not None:
            other = await self._other_author(clone, branch, expected)
            if other:
                msg = f"{branch} is not overwritten: its last commit is by {other}"
                raise GitError(msg)
        await clone.push(commit, branch=branch, expected=expected)
        own[branch] = commit

    def _record_events(self, change: Change, branch: str) -> None:
        """Records Events, for people who look at the hub and not at git."""
        for name in change.scorers:
            scorer = self._view.scorers.items.get(name)
            if scorer is not None:
                message = (
                    f"/config differs from the lock; a new lock is proposed on branch {branch}"
                )
                self._context.events.record(scorer_reference(scorer), "LockProposed", message)

    async def _drop(
        self,
        clone: Clone,
        kind: ProposalKind,
        own: dict[str, str],
        *,
        outcome: str,
        why: str,
        keep: str = "",
    ) -> None:
        """Closes the pull requests of outdated branches, and deletes the branches."""
        for branch, commit in sorted(own.items()):
            if branch == keep:
                continue
            other = await self._other_author(clone, branch, commit)
            if other:
                # Their commits would be lost with the branch.
                LOG.info("outdated branch %s is kept: its last commit is by %s", branch, other)
                continue
            if self._forge is not None:
                pull_request = await self._forge.latest(branch)
                # The pull request first: a forge may close it together with the branch, and one
                # that is closed without our mark counts as refused by people.
                if pull_request is not None and pull_request.is_open:
                    self._api.check_leads()
                    await self._forge.close(pull_request, why=why)
            await clone.push(None, branch=branch, expected=commit)
            del own[branch]
            LOG.info("branch %s is deleted: %s", branch, why)
            self._metrics.proposals.labels(kind=kind, outcome=outcome).inc()

    async def _other_author(self, clone: Clone, branch: str, commit: str) -> str:
        """Another author who pushed to a branch that should be at this commit; empty for none."""
        tip = await clone.fetch(branch)
        author = await clone.written_by(tip)
        return "" if tip == commit and author == clone.author else author
