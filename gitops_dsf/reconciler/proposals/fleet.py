"""The fleet repository as this leader sees it: the newest head, our branches, and what differs."""

import logging
from collections.abc import Callable, Collection, Sequence

from gitops_dsf.reconciler.git import Cause, Clone, GitError
from gitops_dsf.reconciler.proposals.checkout import Checkout
from gitops_dsf.reconciler.proposals.decide import Finding
from gitops_dsf.reconciler.proposals.look import Look
from gitops_dsf.reconciler.proposals.memory import Memory
from gitops_dsf.reconciler.proposals.proposal import Naming, Subject

LOG = logging.getLogger(__name__)


class Fleet:
    """Owns the checkout. `branch` is the protected one."""

    def __init__(
        self,
        *,
        clone: Clone,
        checkout: Checkout,
        look: Look,
        memory: Memory,
        naming: Naming,
        branch: str,
        clock: Callable[[], float],
    ) -> None:
        self.clone, self.memory, self.naming, self.branch, self.clock = clone, memory, naming, branch, clock
        self._checkout, self._look = checkout, look
        self._said: dict[Subject, str] = {}
        self.head = ""
        """Commit that the checkout shows."""

    async def update(self) -> dict[str, str]:
        """Brings the checkout to the newest head; our branches with their commits. Raises GitError."""
        heads = await self.clone.heads(self.branch, self.naming.all)
        if self.branch not in heads:
            raise GitError(
                Cause.MISSING,
                f"the repository has no branch {self.branch}; --git-branch names the protected one",
            )
        if heads[self.branch] != self.head or not self.clone.holds(self.head):
            self.head = ""
            head = await self.clone.fetch(self.branch)
            await self._checkout.take(self.clone, head)
            self.head = head
        return {branch: commit for branch, commit in heads.items() if self.naming.subject(branch) is not None}

    async def findings(self, branches: Collection[str]) -> Sequence[Finding]:
        """What differs from the head, and of what is offered, what no longer does. Raises WorkerError."""
        offered = {subject for branch in branches if (subject := self.naming.subject(branch)) is not None}
        checkout, now = self._checkout, self.clock()
        found = await self._look.findings(
            checkout.root, commit=self.head, offered=offered, in_repository=checkout.in_repository, now=now
        )
        for finding in found:
            self._tell(finding)
        return found

    def settled(self, finding: Finding) -> bool:
        """Whether two looks, some time apart, found the same."""
        if finding.why:
            self.memory.unsure(finding.subject, self.clock())
            return False
        return self.memory.look(
            finding.subject, finding.proposal.digest if finding.proposal is not None else "", self.clock()
        )

    def _tell(self, finding: Finding) -> None:
        """Once for each reason."""
        words = finding.why or finding.note
        if words != self._said.get(finding.subject, ""):
            self._said[finding.subject] = words
            if words:
                LOG.warning("proposal %s: %s", finding.subject, words)
