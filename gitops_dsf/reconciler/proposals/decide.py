"""What to do about one subject: by what differs, what is on the server, and what people did there. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitops_dsf.reconciler.forge import Request
from gitops_dsf.reconciler.proposals.proposal import Proposal, Subject


class ProposalOutcome(StrEnum):
    """The result of one pass for one subject."""

    PUSHED = "pushed"
    UNCHANGED = "unchanged"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"
    WAITING = "waiting"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    NOTHING = "nothing"
    """For a whole kind: no subject differs, and the repository could be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What differs between hub and git about a subject."""

    subject: Subject
    proposal: Proposal | None = None
    """None: nothing differs, or `why` says why that is not known."""
    why: str = ""
    """Why it is not known whether something differs. Then nothing is changed."""
    note: str = ""
    """What was left out of the proposal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchState:
    """Branches and requests on the server, for one subject."""

    branches: Mapping[str, str]
    """Branches of the subject, with their commits."""
    opened: Mapping[str, Request] | None
    """Open requests by branch. None: there is no forge."""
    latest: Request | None
    """The newest request from the branch of this proposal, if it has no open one."""
    declined: bool
    """Without a forge: people deleted the branch of this proposal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PushLimits:
    """What may be pushed now."""

    settled: bool
    """Two passes found the same change."""
    may_push: bool
    """The last push for this subject is long enough ago."""
    has_room: bool
    """The number of open proposals is below the limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Push:
    """Makes a commit on the newest head the branch, which is at `expected` now (None: it does not exist)."""

    proposal: Proposal
    branch: str
    expected: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Open:
    """Opens a request from an existing branch."""

    proposal: Proposal
    branch: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """Closes the request of an outdated branch, then deletes the branch."""

    branch: str
    commit: str
    request: Request | None
    outcome: ProposalOutcome
    why: str


Step = Push | Open | Drop


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposalDecision:
    """Steps in order; a failed step skips the rest. `outcome` is counted in addition to those of the steps;
    None: nothing is counted.
    """

    steps: Sequence[Step] = ()
    outcome: ProposalOutcome | None = None


def decide(finding: Finding, *, branch: str, now: BranchState, limits: PushLimits) -> ProposalDecision:
    """`branch` is the branch of the finding's proposal, "" without a proposal."""
    if finding.why:
        return ProposalDecision(outcome=ProposalOutcome.UNDECIDED)
    if not limits.settled:
        return ProposalDecision(outcome=ProposalOutcome.WAITING if finding.proposal is not None else None)
    if finding.proposal is None:
        return ProposalDecision(
            steps=_drops(
                now, branch, ProposalOutcome.WITHDRAWN, "Withdrawn: there is nothing left to change."
            )
        )
    if _refused(branch, now):
        steps = _drops(
            now,
            branch,
            ProposalOutcome.WITHDRAWN,
            "Withdrawn: the content has changed to one that was refused before.",
        )
        return ProposalDecision(steps=steps, outcome=ProposalOutcome.REFUSED)
    superseded = _drops(now, branch, ProposalOutcome.SUPERSEDED, f"Superseded by branch `{branch}`.")
    is_open = branch in now.branches and (now.opened is None or branch in now.opened)
    if is_open:
        return ProposalDecision(steps=superseded, outcome=ProposalOutcome.UNCHANGED)
    opening = [Open(proposal=finding.proposal, branch=branch)] if now.opened is not None else []
    if branch in now.branches and now.latest is None:
        # The leader before ended between the push and the request.
        return ProposalDecision(steps=[*opening, *superseded], outcome=ProposalOutcome.UNCHANGED)
    if not limits.may_push or not (limits.has_room or superseded):
        return ProposalDecision(outcome=ProposalOutcome.WAITING)
    # If this branch was merged or withdrawn before, it starts again on the newest head.
    push = Push(proposal=finding.proposal, branch=branch, expected=now.branches.get(branch))
    return ProposalDecision(steps=[push, *opening, *superseded])


def _refused(branch: str, now: BranchState) -> bool:
    if now.opened is None:
        return now.declined and branch not in now.branches
    return branch not in now.opened and now.latest is not None and now.latest.refused


def _drops(now: BranchState, keep: str, outcome: ProposalOutcome, why: str) -> list[Step]:
    opened = now.opened or {}
    return [
        Drop(branch=branch, commit=commit, request=opened.get(branch), outcome=outcome, why=why)
        for branch, commit in sorted(now.branches.items())
        if branch != keep
    ]
