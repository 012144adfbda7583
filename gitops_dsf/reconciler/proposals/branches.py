"""One pass with branches and pull requests."""

from collections.abc import Mapping

from gitops_dsf.reconciler.forge import Forge, Request
from gitops_dsf.reconciler.proposals.checkout import FleetClone
from gitops_dsf.reconciler.proposals.decide import (
    BranchState,
    Finding,
    ProposalDecision,
    Push,
    PushLimits,
    decide,
)
from gitops_dsf.reconciler.proposals.proposal import Kind, Subject
from gitops_dsf.reconciler.proposals.publisher import ProposalMetrics, Publisher


class BranchWorkflow:
    """Decides about each subject, and carries the decision out."""

    def __init__(
        self,
        *,
        fleet: FleetClone,
        forge: Forge | None,
        publisher: Publisher,
        max_open: int,
        metrics: ProposalMetrics,
    ) -> None:
        self._fleet, self._forge, self._publisher = fleet, forge, publisher
        self._max_open, self._metrics = max_open, metrics

    async def run_pass(self) -> set[Kind]:
        """Returns the kinds for which something differed.

        Raises GitError, ForgeError and WorkerError when the rest of the pass cannot work.
        """
        fleet, memory = self._fleet, self._fleet.memory
        branches = await fleet.update()
        memory.observe(
            {branch: subject for branch in branches if (subject := fleet.naming.subject(branch)) is not None},
            fleet.clock(),
        )
        findings = await fleet.findings(branches)
        for finding in findings:
            if not finding.why:
                memory.wanted(finding.subject, self._branch(finding), fleet.clock())
        settled = {finding.subject: fleet.settled(finding) for finding in findings}
        changes = any(finding.proposal is not None and settled[finding.subject] for finding in findings)
        opened = await self._opened(ask=bool(branches) or changes)
        waiting = {
            subject
            for branch in (branches if opened is None else opened)
            if (subject := fleet.naming.subject(branch)) is not None
        }
        busy: set[Kind] = set()
        for finding in findings:
            decision = await self._decide(
                finding,
                branches,
                opened,
                settled=settled[finding.subject],
                room=self._max_open - len(waiting),
            )
            if decision.outcome is not None or decision.steps:
                busy.add(finding.subject.kind)
            if decision.outcome is not None:
                self._metrics.count(finding.subject.kind, decision.outcome)
            await self._carry_out(finding.subject, decision)
            if _pushes(decision):
                waiting.add(finding.subject)
        for kind in Kind:
            self._metrics.open.labels(kind=str(kind)).set(sum(subject.kind is kind for subject in waiting))
        return busy

    async def _opened(self, *, ask: bool) -> Mapping[str, Request] | None:
        """Our open requests by branch. The forge is asked only when something depends on it."""
        if self._forge is None:
            return None
        requests = await self._forge.opened() if ask else []
        return {
            request.branch: request
            for request in requests
            if self._fleet.naming.subject(request.branch) is not None
        }

    async def _decide(
        self,
        finding: Finding,
        branches: Mapping[str, str],
        opened: Mapping[str, Request] | None,
        *,
        settled: bool,
        room: int,
    ) -> ProposalDecision:
        fleet = self._fleet
        branch = self._branch(finding)
        latest = None
        if self._forge is not None and opened is not None and branch and settled and branch not in opened:
            latest = await self._forge.latest(branch)
        own = {
            name: commit for name, commit in branches.items() if fleet.naming.subject(name) == finding.subject
        }
        now = BranchState(branches=own, opened=opened, latest=latest, declined=fleet.memory.declined(branch))
        may_push = fleet.memory.may_push(finding.subject, fleet.clock())
        return decide(
            finding,
            branch=branch,
            now=now,
            limits=PushLimits(settled=settled, may_push=may_push, has_room=room > 0),
        )

    def _branch(self, finding: Finding) -> str:
        """The branch of the proposal; "" without one."""
        return self._fleet.naming.branch(finding.proposal) if finding.proposal is not None else ""

    async def _carry_out(self, subject: Subject, decision: ProposalDecision) -> None:
        removed = await self._publisher.execute(subject, decision.steps, head=self._fleet.head)
        for branch in removed:
            self._fleet.memory.removed(branch)
        if _pushes(decision):
            # A push that the server refuses counts as well, so that it is not repeated every minute.
            self._fleet.memory.pushed(subject, self._fleet.clock())


def _pushes(decision: ProposalDecision) -> bool:
    return any(isinstance(step, Push) for step in decision.steps)
