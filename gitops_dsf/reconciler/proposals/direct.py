"""One pass with commits on the protected branch, one after the other, each worked out on the newest head."""

import logging
from collections.abc import Collection
from typing import Final

from gitops_dsf.reconciler.git import Cause, GitError
from gitops_dsf.reconciler.proposals.decide import Outcome
from gitops_dsf.reconciler.proposals.desk import Desk
from gitops_dsf.reconciler.proposals.fleet import Fleet
from gitops_dsf.reconciler.proposals.metrics import ProposalMetrics
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal, Subject

LOG = logging.getLogger(__name__)
COMMITS: Final = 20
"""In one pass."""
TRIES: Final = 3
"""When others push at the same time."""


class Direct:
    """Never forces: when the branch has moved on, the change is worked out anew."""

    def __init__(self, *, fleet: Fleet, desk: Desk, metrics: ProposalMetrics) -> None:
        self._fleet, self._desk, self._metrics = fleet, desk, metrics

    async def go(self) -> set[Kind]:
        """Kinds about which there was something to do. Raises GitError and WorkerError."""
        busy: set[Kind] = set()
        tries = 0
        failed: set[Subject] = set()
        for _ in range(COMMITS):
            await self._fleet.update()
            proposal = await self._next(failed, busy)
            if proposal is None:
                break
            try:
                commit = await self._desk.commit(proposal, parent=self._fleet.head)
                await self._fleet.clone.advance(commit, branch=self._fleet.branch)
            except GitError as error:
                if error.cause is Cause.FAILED:
                    # It says something about this one proposal: the others go on.
                    LOG.warning("proposal %s: %s", proposal.subject, error)
                    self._metrics.count(proposal.subject.kind, Outcome.FAILED)
                    self._fleet.memory.pushed(proposal.subject, self._fleet.clock())
                    failed.add(proposal.subject)
                    continue
                tries += 1
                if error.cause is not Cause.REJECTED or tries >= TRIES:
                    raise
                LOG.info("%s has moved on: %s", self._fleet.branch, error)
                continue
            self._fleet.memory.pushed(proposal.subject, self._fleet.clock())
            self._fleet.memory.committed(proposal.subject, self._fleet.naming.branch(proposal))
            await self._desk.told(proposal, self._fleet.branch)
        return busy

    async def _next(self, failed: Collection[Subject], busy: set[Kind]) -> Proposal | None:
        findings = [finding for finding in await self._fleet.findings(()) if finding.subject not in failed]
        busy.update(
            finding.subject.kind for finding in findings if finding.proposal is not None or finding.why
        )
        settled = [finding.proposal for finding in findings if self._fleet.settled(finding)]
        return next((proposal for proposal in settled if proposal is not None and self._may(proposal)), None)

    def _may(self, proposal: Proposal) -> bool:
        """Not what was committed already and is gone again: people took it back."""
        memory, now = self._fleet.memory, self._fleet.clock()
        reverted = memory.reverted(proposal.subject, self._fleet.naming.branch(proposal), now)
        if reverted or not memory.may_push(proposal.subject, now):
            self._metrics.count(proposal.subject.kind, Outcome.REFUSED if reverted else Outcome.WAITING)
            return False
        return True
