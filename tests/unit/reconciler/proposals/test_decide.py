"""What is done about a subject, case by case, and what is never done, whatever the case."""

from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.forge import Request, RequestState
from gitops_dsf.reconciler.forge.protocol import CLOSED_BY_US
from gitops_dsf.reconciler.proposals.decide import (
    BranchState,
    Drop,
    Finding,
    Open,
    ProposalDecision,
    ProposalOutcome,
    Push,
    PushLimits,
    decide,
)
from gitops_dsf.reconciler.proposals.proposal import Kind, Proposal, Subject

SUBJECT = Subject(kind=Kind.LOCKS, scorer="cpu")
PROPOSAL = Proposal(subject=SUBJECT, files={"locks/cpu.yaml": b"new"}, title="Accept", details=())
FREE = PushLimits(settled=True, may_push=True, has_room=True)
MINE, OLD = "mine", "old"


def request(branch: str, state: RequestState = RequestState.OPEN, *, ours: bool = False) -> Request:
    return Request(number=1, branch=branch, state=state, body=CLOSED_BY_US if ours else "", url="")


def case(
    *branches: str,
    opened: dict[str, Request] | None = None,
    latest: Request | None = None,
    declined: bool = False,
    proposal: Proposal | None = PROPOSAL,
    why: str = "",
    limits: PushLimits = FREE,
) -> ProposalDecision:
    now = BranchState(
        branches={name: f"commit of {name}" for name in branches},
        opened=opened,
        latest=latest,
        declined=declined,
    )
    return decide(
        Finding(subject=SUBJECT, proposal=proposal, why=why),
        branch=MINE if proposal else "",
        now=now,
        limits=limits,
    )


def kinds(decision: ProposalDecision) -> list[str]:
    return [type(step).__name__ for step in decision.steps]


def test_something_new_is_pushed_and_opened() -> None:
    assert case().steps == [Push(proposal=PROPOSAL, branch=MINE, expected=None)]
    assert kinds(case(opened={})) == ["Push", "Open"]


def test_what_is_offered_is_left_alone() -> None:
    assert case(MINE) == ProposalDecision(steps=[], outcome=ProposalOutcome.UNCHANGED)
    assert case(MINE, opened={MINE: request(MINE)}) == ProposalDecision(
        steps=[], outcome=ProposalOutcome.UNCHANGED
    )


def test_an_older_one_goes_after_the_newer_is_there() -> None:
    decision = case(OLD, opened={OLD: request(OLD)})
    assert kinds(decision) == ["Push", "Open", "Drop"]
    drop = decision.steps[2]
    assert isinstance(drop, Drop)
    assert (drop.branch, drop.commit, drop.outcome, drop.request) == (
        OLD,
        "commit of old",
        ProposalOutcome.SUPERSEDED,
        request(OLD),
    )
    assert kinds(case(OLD, MINE)) == ["Drop"]


def test_a_push_whose_request_was_never_opened_is_opened() -> None:
    assert case(MINE, opened={}).steps == [Open(proposal=PROPOSAL, branch=MINE)]


def test_what_people_refused_is_left_and_what_we_closed_or_they_merged_is_not() -> None:
    refused = case(OLD, opened={OLD: request(OLD)}, latest=request(MINE, RequestState.CLOSED))
    assert (kinds(refused), refused.outcome) == (["Drop"], ProposalOutcome.REFUSED)
    assert case(MINE, opened={}, latest=request(MINE, RequestState.CLOSED)) == ProposalDecision(
        steps=[], outcome=ProposalOutcome.REFUSED
    )
    assert kinds(case(opened={}, latest=request(MINE, RequestState.CLOSED, ours=True))) == ["Push", "Open"]
    merged = case(MINE, opened={}, latest=request(MINE, RequestState.MERGED))
    assert merged.steps[0] == Push(proposal=PROPOSAL, branch=MINE, expected="commit of mine")
    assert case(declined=True).outcome is ProposalOutcome.REFUSED
    assert case(MINE, declined=True).outcome is ProposalOutcome.UNCHANGED


def test_limits_delay() -> None:
    for limits in (
        PushLimits(settled=False, may_push=True, has_room=True),
        PushLimits(settled=True, may_push=False, has_room=True),
        PushLimits(settled=True, may_push=True, has_room=False),
    ):
        assert case(limits=limits) == ProposalDecision(outcome=ProposalOutcome.WAITING)
    assert kinds(case(OLD, limits=PushLimits(settled=True, may_push=True, has_room=False))) == [
        "Push",
        "Drop",
    ], "it takes the older one's place"


def test_nothing_to_change_withdraws_and_not_knowing_does_not() -> None:
    drops = case(OLD, MINE, proposal=None).steps
    assert [step.outcome for step in drops if isinstance(step, Drop)] == [
        ProposalOutcome.WITHDRAWN,
        ProposalOutcome.WITHDRAWN,
    ]
    assert case(proposal=None) == ProposalDecision(steps=[])
    assert case(OLD, MINE, proposal=None, why="the page is away") == ProposalDecision(
        outcome=ProposalOutcome.UNDECIDED
    )
    assert (
        case(OLD, proposal=None, limits=PushLimits(settled=False, may_push=True, has_room=True))
        == ProposalDecision()
    )


requests = st.builds(request, st.just(MINE), st.sampled_from(RequestState), ours=st.booleans())


@given(
    branches=st.sets(st.sampled_from([MINE, OLD, "older"])),
    opened=st.none() | st.dictionaries(st.sampled_from([MINE, OLD]), st.builds(request, st.just(MINE))),
    latest=st.none() | requests,
    declined=st.booleans(),
    limits=st.builds(PushLimits, settled=st.booleans(), may_push=st.booleans(), has_room=st.booleans()),
    proposal=st.sampled_from([PROPOSAL, None]),
)
def test_whatever_the_case(
    branches: set[str],
    opened: dict[str, Request] | None,
    latest: Request | None,
    declined: bool,
    limits: PushLimits,
    proposal: Proposal | None,
) -> None:
    decision = case(
        *branches, opened=opened, latest=latest, declined=declined, limits=limits, proposal=proposal
    )
    dropped = [step.branch for step in decision.steps if isinstance(step, Drop)]
    pushes = [step for step in decision.steps if isinstance(step, Push)]
    assert proposal is None or MINE not in dropped, "what is to be offered is never dropped"
    assert set(dropped) <= branches
    assert not pushes or (limits.settled and limits.may_push and proposal is not None)
    assert not decision.steps or limits.settled
    if opened is not None and MINE not in opened and latest is not None and latest.refused:
        assert not pushes
    if dropped and pushes:
        assert kinds(decision).index("Drop") > kinds(decision).index("Push")
    if opened is None:
        assert not any(isinstance(step, Open) for step in decision.steps)
