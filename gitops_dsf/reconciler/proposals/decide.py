"""What to do about one subject, from what differs, what is on the server, and what people did there. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitops_dsf.reconciler.forge import Request
from gitops_dsf.reconciler.proposals.proposal import Proposal, Subject


class Outcome(StrEnum):
    """Of one look at one subject."""

    PUSHED = "pushed"
    UNCHANGED = "unchanged"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"
    WAITING = "waiting"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    NOTHING = "nothing"
    """Of a look at all subjects of a kind: none has anything to offer, and the repository could be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What differs from git about a subject."""

    subject: Subject
    proposal: Proposal | None = None
    """None: nothing, or it cannot be said."""
    why: str = ""
    """Why it cannot be said. Then everything stays as it is."""
    note: str = ""
    """What was left out of the proposal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """Of the server, for one subject."""

    branches: Mapping[str, str]
    """Its branches, with their commits."""
    opened: Mapping[str, Request] | None
    """Open requests by branch; None: there is no forge."""
    latest: Request | None
    """The newest request from the branch of this very proposal, where it has no open one."""
    declined: bool
    """Without a forge: people deleted the branch of this very proposal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What may be done now."""

    settled: bool
    """It was seen long enough."""
    may_push: bool
    """The last push about this subject is long ago."""
    has_room: bool
    """Not too many proposals are open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Push:
    """A commit on the newest head becomes the branch, which is at `expected` now (None: is not there)."""

    proposal: Proposal
    branch: str
    expected: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Open:
    """A request from a branch that is there."""

    proposal: Proposal
    branch: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """An outdated branch goes, its request first."""

    branch: str
    commit: str
    request: Request | None
    outcome: Outcome
    why: str


Step = Push | Open | Drop


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Steps in order: one that fails ends them. `outcome` where there is none to tell of a step; None:
    nothing is worth telling.
    """

    steps: Sequence[Step] = ()
    outcome: Outcome | None = None


def decide(finding: Finding, *, branch: str, now: Situation, limits: Limits) -> Decision:
    """`branch` is the one of the finding's proposal, "" where there is none."""
    if finding.why:
        return Decision(outcome=Outcome.UNDECIDED)
    if not limits.settled:
        return Decision(outcome=Outcome.WAITING if finding.proposal is not None else None)
    if finding.proposal is None:
        return Decision(
            steps=_drops(now, branch, Outcome.WITHDRAWN, "Withdrawn: there is nothing left to change.")
        )
    if _refused(branch, now):
        steps = _drops(
            now,
            branch,
            Outcome.WITHDRAWN,
            "Withdrawn: what is to change has changed, and was refused before.",
        )
        return Decision(steps=steps, outcome=Outcome.REFUSED)
    superseded = _drops(now, branch, Outcome.SUPERSEDED, f"Superseded by branch `{branch}`.")
    is_open = branch in now.branches and (now.opened is None or branch in now.opened)
    if is_open:
        return Decision(steps=superseded, outcome=Outcome.UNCHANGED)
    opening = [Open(proposal=finding.proposal, branch=branch)] if now.opened is not None else []
    if branch in now.branches and now.latest is None:
        # Whoever pushed it was ended before the request was opened.
        return Decision(steps=[*opening, *superseded], outcome=Outcome.UNCHANGED)
    if not limits.may_push or not (limits.has_room or superseded):
        return Decision(outcome=Outcome.WAITING)
    # A branch that was merged or withdrawn before has nothing to offer any more: it begins anew on the newest
    # head.
    push = Push(proposal=finding.proposal, branch=branch, expected=now.branches.get(branch))
    return Decision(steps=[push, *opening, *superseded])


def _refused(branch: str, now: Situation) -> bool:
    if now.opened is None:
        return now.declined and branch not in now.branches
    return branch not in now.opened and now.latest is not None and now.latest.refused


def _drops(now: Situation, keep: str, outcome: Outcome, why: str) -> list[Step]:
    opened = now.opened or {}
    return [
        Drop(branch=branch, commit=commit, request=opened.get(branch), outcome=outcome, why=why)
        for branch, commit in sorted(now.branches.items())
        if branch != keep
    ]
