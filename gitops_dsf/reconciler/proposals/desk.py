"""Carries decisions out with git and the forge. Every step can be cut short and begun again: what is done
already is seen and left.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

from gitops_dsf.reconciler.forge import Forge, ForgeCause, ForgeError
from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.reconciler.proposals.decide import Drop, Open, Outcome, Push, Step
from gitops_dsf.reconciler.proposals.message import commit_message, request_body, title
from gitops_dsf.reconciler.proposals.metrics import ProposalMetrics
from gitops_dsf.reconciler.proposals.proposal import Proposal, Subject

LOG = logging.getLogger(__name__)
ONE_ONLY: Final = frozenset({Cause.REJECTED, Cause.FAILED, Cause.MISSING, ForgeCause.REFUSED})
"""Faults that say something about one proposal, not about the server: the others go on."""

Say = Callable[[Proposal, str], Awaitable[None]]
"""Told of each proposal that was pushed, and of the branch."""


class Desk:
    """One clone, one forge or none."""

    def __init__(
        self,
        *,
        clone: Clone,
        forge: Forge | None,
        template: str,
        metrics: ProposalMetrics,
        clock: Callable[[], datetime],
        say: Say,
    ) -> None:
        self._clone, self._forge, self._template = clone, forge, template
        self._metrics, self._clock, self._say = metrics, clock, say

    async def carry_out(self, subject: Subject, steps: Sequence[Step], *, head: str) -> list[str]:
        """Branches that were removed. Raises GitError and ForgeError that concern every subject; others are
        told and counted.
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
            self._metrics.count(subject.kind, Outcome.FAILED)
        return removed

    async def commit(self, proposal: Proposal, *, parent: str) -> str:
        """The commit of a proposal, not pushed yet. Raises GitError."""
        message = commit_message(proposal, template=self._template)
        return await self._clone.commit(
            parent=parent, files=proposal.files, message=message, at=self._clock()
        )

    async def told(self, proposal: Proposal, branch: str) -> None:
        """Tells of a push: in the log, as a metric, as an Event."""
        LOG.info("proposal %s: pushed to %s", proposal.subject, branch)
        self._metrics.count(proposal.subject.kind, Outcome.PUSHED)
        await self._say(proposal, branch)

    async def _push(self, step: Push, head: str) -> None:
        if step.expected is not None and (theirs := await self._theirs(step.branch, step.expected)):
            raise GitError(
                Cause.REJECTED, f"{step.branch} is not written anew: its last commit is by {theirs}"
            )
        commit = await self.commit(step.proposal, parent=head)
        await self._clone.push(commit, branch=step.branch, expected=step.expected)
        await self.told(step.proposal, step.branch)

    async def _open(self, step: Open) -> None:
        if self._forge is not None:
            request = await self._forge.open(
                branch=step.branch, title=title(step.proposal), body=request_body(step.proposal)
            )
            LOG.info("proposal %s: %s", step.proposal.subject, request.url)

    async def _drop(self, step: Drop) -> bool:
        """Only what nobody else has worked on: a branch on which people pushed is theirs."""
        if theirs := await self._theirs(step.branch, step.commit):
            LOG.info("%s is outdated, and stays: its last commit is by %s", step.branch, theirs)
            return False
        if self._forge is not None and step.request is not None:
            await self._forge.close(step.request, why=step.why)
        await self._clone.delete(branch=step.branch, expected=step.commit)
        LOG.info("%s is removed: %s", step.branch, step.why)
        return True

    async def _theirs(self, branch: str, commit: str) -> str:
        """Who else worked on a branch that was at this commit; empty for nobody."""
        tip = await self._clone.fetch(branch)
        author = await self._clone.written_by(tip)
        return "" if tip == commit and author == str(self._clone.author) else author
