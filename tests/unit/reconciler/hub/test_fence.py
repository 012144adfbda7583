"""What speaks against a write at the moment when it is sent."""

import pytest

from gitops_dsf.reconciler.hub.fence import DELETION_SECONDS, MARGIN_SECONDS, QUIET_SECONDS, Fence
from tests.support.objecthub import FixedClaim

ENOUGH = DELETION_SECONDS + MARGIN_SECONDS


def reason(fence: Fence) -> str:
    refusal = fence.deletion()
    return "" if refusal is None else refusal.reason


@pytest.mark.parametrize(
    ("left", "write", "deletion"),
    [
        (12, "", ""),
        (ENOUGH, "", ""),
        (ENOUGH - 0.01, "", "LeaseNotHeld"),
        (0.01, "", "LeaseNotHeld"),
        (0, "LeaseNotHeld", "LeaseNotHeld"),
        (-60, *["LeaseNotHeld"] * 2),
    ],
)
def test_a_deletion_needs_room_for_its_own_time_out_and_other_writes_a_claim(
    left: float, write: str, deletion: str
) -> None:
    fence = Fence(claim=FixedClaim(seconds=left))
    refusal = fence.write()
    assert ("" if refusal is None else refusal.reason, reason(fence)) == (write, deletion)


def test_a_new_leader_writes_and_deletes_nothing_yet() -> None:
    fence = Fence(claim=FixedClaim(quiet=0.1))
    assert fence.write() is None
    assert reason(fence) == "LeadershipNew"
    assert reason(Fence(claim=FixedClaim(seconds=1, quiet=10))) == "LeaseNotHeld"


def test_a_deletion_without_an_answer_is_waited_out() -> None:
    now = 100.0
    fence = Fence(claim=FixedClaim(), clock=lambda: now)
    assert fence.clean
    fence.unanswered()
    assert (reason(fence), fence.clean) == ("DeletionUnanswered", False)
    assert fence.write() is None
    now += QUIET_SECONDS - 0.01
    assert (reason(fence), fence.clean) == ("DeletionUnanswered", False)
    now += 0.01
    assert (reason(fence), fence.clean) == ("", True)


def test_a_refusal_says_how_long_it_holds() -> None:
    """In the words and with the durations of docs/reconciler.md."""
    fence = Fence(claim=FixedClaim(seconds=1, quiet=10), clock=lambda: 100.0)
    refusals = [fence.deletion()]
    fence.claim = FixedClaim(quiet=10)
    refusals.append(fence.deletion())
    fence.claim = FixedClaim()
    fence.unanswered()
    refusals.append(fence.deletion())
    assert [(one.message, one.seconds) for one in refusals if one is not None] == [
        (
            (
                "too little is left of this replica's claim on the Lease: another replica may lead before the"
                " hub answers"
            ),
            1.0,
        ),
        (
            "this replica leads for less than 30 s, and deletions of the one before it may still take effect",
            10,
        ),
        (
            "the hub did not answer a deletion within the last 30 s, and it may still take effect",
            30.0,
        ),
    ]
