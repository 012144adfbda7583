"""One pass with commits on the protected branch, each worked out on the newest head."""

import logging
from collections.abc import Collection
from typing import Final

from gitops_dsf.reconciler.git import Cause, GitError
from gitops_dsf.reconciler.proposals.checkout import FleetClone
from gitops_dsf.reconciler.proposals.decide import ProposalOutcome
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal, Subject
from gitops_dsf.reconciler.proposals.publisher import ProposalMetrics, Publisher

LOG = logging.getLogger(__name__)
COMMITS: Final = 20
"""Commits of one pass at most."""
TRIES: Final = 3
"""Attempts when others push at the same time."""


class DirectWorkflow:
    """Never forces a push. When the branch has moved, the change is worked out again."""

    def __init__(self, *, fleet: FleetClone, publisher: Publisher, metrics: ProposalMetrics) -> None:
        self._fleet, self._publisher, self._metrics = fleet, publisher, metrics

    async def run_pass(self) -> set[Kind]:
        """Returns the kinds for which something differed. Raises GitError and WorkerError."""
        busy: set[Kind] = set()
        tries = 0
        failed: set[Subject] = set()
        for _ in range(COMMITS):
            await self._fleet.update()
            proposal = await self._next(failed, busy)
            if proposal is None:
                break
            try:
                commit = await self._publisher.commit(proposal, parent=self._fleet.head)
                await self._fleet.clone.advance(commit, branch=self._fleet.branch)
            except GitError as error:
                if error.cause is Cause.FAILED:
                    # This concerns one proposal, so the others go on.
                    LOG.warning("proposal %s: %s", proposal.subject, error)
                    self._metrics.count(proposal.subject.kind, ProposalOutcome.FAILED)
                    self._fleet.memory.pushed(proposal.subject, self._fleet.clock())
                    failed.add(proposal.subject)
                    continue
                tries += 1
                if error.cause is not Cause.REJECTED or tries >= TRIES:
                    raise
                LOG.info("branch %s has moved: %s", self._fleet.branch, error)
                continue
            self._fleet.memory.pushed(proposal.subject, self._fleet.clock())
            self._fleet.memory.committed(proposal.subject, self._fleet.naming.branch(proposal))
            await self._publisher.announce(proposal, self._fleet.branch)
        return busy

    async def _next(self, failed: Collection[Subject], busy: set[Kind]) -> Proposal | None:
        findings = [finding for finding in await self._fleet.findings(()) if finding.subject not in failed]
        busy.update(
            finding.subject.kind for finding in findings if finding.proposal is not None or finding.why
        )
        settled = [finding.proposal for finding in findings if self._fleet.settled(finding)]
        return next((proposal for proposal in settled if proposal is not None and self._may(proposal)), None)

    def _may(self, proposal: Proposal) -> bool:
        """False for a commit that people have reverted, and within the pause after the last push."""
        memory, now = self._fleet.memory, self._fleet.clock()
        reverted = memory.reverted(proposal.subject, self._fleet.naming.branch(proposal), now)
        if reverted or not memory.may_push(proposal.subject, now):
            self._metrics.count(
                proposal.subject.kind, ProposalOutcome.REFUSED if reverted else ProposalOutcome.WAITING
            )
            return False
        return True
