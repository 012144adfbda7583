"""Carries decisions out with git and the forge. Every step can be interrupted and repeated: what is done
already is not done again.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from gitops_dsf.reconciler.forge import Forge, ForgeCause, ForgeError
from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.reconciler.proposals.decide import Drop, Open, ProposalOutcome, Push, Step
from gitops_dsf.reconciler.proposals.message import commit_message, request_body, title
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal, Subject
from gitops_dsf.reconciler.series import PREFIX

LOG = logging.getLogger(__name__)
ONE_ONLY: Final = frozenset({Cause.REJECTED, Cause.FAILED, Cause.MISSING, ForgeCause.REFUSED})
"""Causes that concern one proposal and not the server, so the other proposals go on."""

Announce = Callable[[Proposal, str], Awaitable[None]]
"""Called with each proposal that was pushed, and its branch."""


class ProposalMetrics:
    """Series by kind: locks or inventory."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.outcomes = Counter(
            f"{PREFIX}_proposals",
            "Proposals by outcome: pushed, unchanged, superseded, withdrawn, failed, waiting (the change is"
            " too new, or too many are open), refused (by people), undecided (the log has the reason),"
            " nothing (nothing differs).",
            ["kind", "outcome"],
            registry=registry,
        )
        self.open = Gauge(
            f"{PREFIX}_proposal_open", "Proposals that wait for people.", ["kind"], registry=registry
        )

    def count(self, kind: Kind, outcome: str) -> None:
        """Adds one to an outcome."""
        self.outcomes.labels(kind=str(kind), outcome=outcome).inc()


class Publisher:
    """Writes to one git server, and to one forge or none."""

    def __init__(
        self,
        *,
        clone: Clone,
        forge: Forge | None,
        template: str,
        metrics: ProposalMetrics,
        clock: Callable[[], datetime],
        announce: Announce,
    ) -> None:
        self._clone, self._forge, self._template = clone, forge, template
        self._metrics, self._clock, self._announce = metrics, clock, announce

    async def execute(self, subject: Subject, steps: Sequence[Step], *, head: str) -> list[str]:
        """Returns the branches that were deleted. Raises GitError and ForgeError that concern every subject.
        Other errors are logged and counted.
        """
        removed: list[str] = []
        try:
            for step in steps:
                if isinstance(step, Push):
                    await self._push(step, head)
                elif isinstance(step, Open):
                    await self._open(step)
                elif await self._drop(step):
                    removed.append(step.branch)
                    self._metrics.count(subject.kind, step.outcome)
        except (GitError, ForgeError) as error:
            if error.cause not in ONE_ONLY:
                raise
            LOG.warning("proposal %s: %s", subject, error)
            self._metrics.count(subject.kind, ProposalOutcome.FAILED)
        return removed

    async def commit(self, proposal: Proposal, *, parent: str) -> str:
        """Creates the commit of a proposal, and does not push it. Raises GitError."""
        message = commit_message(proposal, template=self._template)
        return await self._clone.commit(
            parent=parent, files=proposal.files, message=message, at=self._clock()
        )

    async def announce(self, proposal: Proposal, branch: str) -> None:
        """Reports a push: in the log, as a metric, and as an Event."""
        LOG.info("proposal %s: pushed to %s", proposal.subject, branch)
        self._metrics.count(proposal.subject.kind, ProposalOutcome.PUSHED)
        await self._announce(proposal, branch)

    async def _push(self, step: Push, head: str) -> None:
        if step.expected is not None and (other := await self._other_author(step.branch, step.expected)):
            raise GitError(Cause.REJECTED, f"{step.branch} is not overwritten: its last commit is by {other}")
        commit = await self.commit(step.proposal, parent=head)
        await self._clone.push(commit, branch=step.branch, expected=step.expected)
        await self.announce(step.proposal, step.branch)

    async def _open(self, step: Open) -> None:
        if self._forge is not None:
            request = await self._forge.open(
                branch=step.branch, title=title(step.proposal), body=request_body(step.proposal)
            )
            LOG.info("proposal %s: %s", step.proposal.subject, request.url)

    async def _drop(self, step: Drop) -> bool:
        """Never delete a branch to which somebody else has pushed."""
        if other := await self._other_author(step.branch, step.commit):
            LOG.info("outdated branch %s is kept: its last commit is by %s", step.branch, other)
            return False
        if self._forge is not None and step.request is not None:
            await self._forge.close(step.request, why=step.why)
        await self._clone.delete(branch=step.branch, expected=step.commit)
        LOG.info("branch %s is deleted: %s", step.branch, step.why)
        return True

    async def _other_author(self, branch: str, commit: str) -> str:
        """Who else has pushed to a branch that should be at this commit; empty for nobody."""
        tip = await self._clone.fetch(branch)
        author = await self._clone.written_by(tip)
        return "" if tip == commit and author == str(self._clone.author) else author
