"""When an old copy whose move is verified may go.

The ledger of the API server must say that exactly its move has passed, whatever the leader
remembers.
"""

import asyncio

import msgspec
import pytest

from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.pace import PacedRanking, PacedTerm, Verification, VerifiedBy
from gitops_dsf.pacing.ledger import LedgerMove, Phase, VerificationOutcome
from gitops_dsf.reconciler.moves.deletion import CopyDeleter
from tests.integration.reconciler.moves.movehub import MoveHub, candidate, deleter_of, reason
from tests.support.heldrequest import HeldRequest
from tests.support.hubobjects import HUB

CHECK = VerifiedBy(scorer="slo", resource="slo", dimension="web", at_least=80)
VERIFICATION = Verification(checks=(CHECK,), seconds=1800.0, hold_seconds=60.0, revision="r1")
TERM = PacedTerm("free", "free", 1)
VERIFIED = msgspec.json.encode(PacedRanking((TERM,), 0, verification=VERIFICATION)).decode()
PLAIN = msgspec.json.encode(PacedRanking((TERM,), 0)).decode()


def move(
    phase: Phase = Phase.VERIFYING,
    *,
    target: str = "b",
    passed_at: float = 0.0,
    returning: bool = False,
    outcome: VerificationOutcome | None = None,
) -> LedgerMove:
    return LedgerMove(
        placement="argocd/web",
        source="a",
        target=target,
        since=1.0,
        phase=phase,
        verified=not returning,
        passed_at=passed_at,
        returning=returning,
        outcome=outcome,
    )


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        ((), "Verifying"),
        ((move(),), "Verifying"),
        ((move(Phase.HANDOVER),), "Verifying"),
        ((move(passed_at=2.0),), ""),
        ((move(Phase.ENDED, passed_at=2.0),), ""),
        ((move(Phase.ENDED, passed_at=2.0), move()), "Verifying"),
        ((move(passed_at=2.0, target="c"),), "Verifying"),
        ((move(Phase.HANDOVER, returning=True),), ""),
        ((move(Phase.ENDED, outcome=VerificationOutcome.FAILED),), "Verifying"),
    ],
    ids=[
        "no entry",
        "not passed",
        "not begun",
        "passed",
        "passed and ended",
        "an earlier move passed",
        "a move to another cluster passed",
        "a return",
        "failed",
    ],
)
async def test_the_ledger_decides(
    scene: MoveHub, deleter: CopyDeleter, moves: tuple[LedgerMove, ...], why: str
) -> None:
    scene.pace = VERIFIED
    scene.decide("b")
    scene.ledger(*moves)
    assert await reason(deleter.delete(candidate("a", "b"))) == why
    assert scene.copies() == (["web-a", "web-b"] if why else ["web-b"])


async def test_without_a_ledger_nothing_goes(scene: MoveHub, deleter: CopyDeleter) -> None:
    scene.pace = VERIFIED
    scene.decide("b")
    assert await reason(deleter.delete(candidate("a", "b"))) == "Verifying"
    scene.hub.put("configmaps", MOVES_CONFIGMAP, namespace=HUB, data={"ledger": "{]"})
    assert await reason(deleter.delete(candidate("a", "b"))) == "Unreadable"
    scene.hub.refused["configmaps"] = 403
    assert scene.copies() == ["web-a", "web-b"]


@pytest.mark.parametrize(
    ("pace", "why"),
    [(PLAIN, ""), ("", ""), ('{"verification": {"checks": 5}}', "Verifying"), ("{]", "Verifying")],
    ids=["paced only", "not paced", "a verification that cannot be read", "no JSON"],
)
async def test_others_go_without_a_look_at_the_ledger(
    scene: MoveHub, deleter: CopyDeleter, pace: str, why: str
) -> None:
    """When nobody can tell whether moves are verified, the old copy stays."""
    scene.pace = pace
    scene.decide("b")
    assert await reason(deleter.delete(candidate("a", "b"))) == why
    assert any("configmaps" in word for word in scene.hub.asked) is bool(why)


async def test_a_return_between_two_looks_at_the_ledger_keeps_the_copy(
    scene: MoveHub, deleter: CopyDeleter
) -> None:
    """The ledger was deleted after the first look, and another leader verifies the move anew."""
    scene.pace = VERIFIED
    scene.decide("b")
    scene.ledger(move(passed_at=2.0))

    def meanwhile(word: str) -> None:
        if word == "PATCH applications":
            scene.ledger(move())

    scene.hub.between = meanwhile
    assert await reason(deleter.delete(candidate("a", "b"))) == "Verifying"
    assert scene.copies() == ["web-a", "web-b"]


REQUESTS = 16
"""Of one removal: seven reads, one patch, seven reads, one deletion."""


@pytest.mark.parametrize("request_number", range(1, REQUESTS + 1))
async def test_a_frozen_leader_that_believes_a_move_passed_takes_no_copy_of_a_return(
    scene: MoveHub, deleter: CopyDeleter, request_number: int
) -> None:
    """a moved to b, passed, and OCM decided for a again; the other leader rightly deletes b.

    Then the held request of the first one arrives.
    """
    scene.pace = VERIFIED
    scene.decide("b")
    scene.ledger(move(passed_at=2.0))
    async with scene.hub.api() as second:
        request = HeldRequest(request_number)
        scene.hub.arrives = request
        frozen = asyncio.create_task(deleter.delete(candidate("a", "b")))
        await request.held.wait()
        scene.decide("a")
        back = LedgerMove(placement="argocd/web", source="b", target="a", since=3.0, returning=True)
        scene.ledger(move(Phase.ENDED, outcome=VerificationOutcome.RETURNED), back)
        assert await deleter_of(second).delete(candidate("b", "a")) is None
        request.release.set()
        assert await reason(frozen)
        assert scene.copies() == ["web-a"]
