"""The life of verified moves, by what the hub shows."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.pacing.ledger import (
    CheckState,
    Hold,
    Ledger,
    LedgerMove,
    Phase,
    VerificationOutcome,
)
from gitops_dsf.pacing.progress import advance
from gitops_dsf.pacing.verification import Reading
from gitops_dsf.pacing.verifier import Evidence
from gitops_dsf.repository.model.reconciler import Pace

KEY = "argocd/shop"
NOW = 1_000_000.0
CHECK = VerifiedBy(
    scorer="slo",
    resource="slo",
    dimension="shop",
    at_least=80,
    for_seconds=600.0,
    lifetime=900.0,
)
VERIFICATION = Verification(checks=(CHECK,), seconds=1800.0, hold_seconds=3600.0, revision="r1")
OPEN = CheckState(score="slo/shop", at_least=80)
HELD = replace(OPEN, held_since=NOW - 600)
BAD = replace(OPEN, failing_since=NOW - 600)
PACE = Pace(stop_after_returns=2)


def move(phase: Phase = Phase.VERIFYING, ago: float = 700.0, **fields: object) -> LedgerMove:
    plain = LedgerMove(
        placement=KEY,
        source="eu-1",
        target="us-1",
        since=NOW - 5000,
        phase=phase,
        phase_since=NOW - ago,
        verified=True,
        revision="r1",
        checks=(OPEN,),
    )
    return replace(plain, **fields)


def after(
    *moves: LedgerMove,
    decided: str = "us-1",
    known: str = "us-1",
    value: int | None = 90,
    values: Mapping[str, int] | None = None,
    arrived: bool = True,
    eligible: bool = True,
    finished: bool = False,
    verification: Verification | None = VERIFICATION,
    lost: str = "",
    copies: tuple[str, ...] = (),
    refused: tuple[str, ...] = (),
    returns: tuple[float, ...] = (),
    now: float = NOW,
) -> Ledger:
    """The ledger after a look."""

    def read(_: VerifiedBy, cluster: str) -> Reading:
        measured = value if values is None else values.get(cluster)
        return Reading(value=measured, written=NOW, unbroken=True)

    evidence = Evidence(
        verifications={} if verification is None else {KEY: verification},
        read=read,
        arrived=lambda _: arrived,
        can_return=lambda _, cluster: eligible and cluster == "eu-1",
        old_copies=lambda _: copies,
        inventory={"us-1": "d1"},
    )
    return advance(
        Ledger(moves, {KEY: (known,)}, returns=returns),
        paced={KEY},
        decided={KEY: frozenset({decided})},
        published=set(),
        finished=lambda _: finished,
        refused=refused,
        loss=lambda cluster: MoveCause("ClusterLost") if cluster == lost else None,
        evidence=evidence,
        pace=PACE,
        now=now,
    )


def only(ledger: Ledger) -> LedgerMove:
    [found] = ledger.moves
    return found


def test_a_handover_is_verified_from_when_the_new_copy_is_healthy() -> None:
    waiting = only(after(move(Phase.HANDOVER), arrived=False))
    assert waiting.phase is Phase.HANDOVER
    began = only(after(move(Phase.HANDOVER)))
    assert (began.phase, began.phase_since) == (Phase.VERIFYING, NOW)
    assert began.checks == (OPEN,)


def test_a_verified_move_lasts_until_it_passed_and_the_old_copy_is_gone() -> None:
    still = only(after(move(), finished=True))
    assert (still.phase, still.passed_at) == (Phase.VERIFYING, 0.0)
    passed = only(after(move(checks=(HELD,))))
    assert (passed.phase, passed.passed_at, passed.outcome) == (
        Phase.VERIFYING,
        NOW,
        VerificationOutcome.COMPLETED,
    )
    assert passed.checks == (replace(HELD, last=90),)
    assert only(after(passed)) is passed
    ended = only(after(passed, finished=True))
    assert (ended.phase, ended.outcome) == (Phase.ENDED, VerificationOutcome.COMPLETED)


def test_what_has_passed_is_never_taken_back() -> None:
    passed = move(passed_at=NOW - 10, outcome=VerificationOutcome.COMPLETED, checks=(BAD,))
    assert only(after(passed, value=0)) is passed
    assert only(after(passed, value=0, now=NOW + 90_000)) is passed
    stricter = replace(VERIFICATION, revision="r2", checks=(replace(CHECK, at_least=95),))
    assert only(after(passed, value=0, verification=stricter)) is passed


def test_a_move_that_failed_returns_in_the_same_ledger() -> None:
    ledger = after(move(checks=(BAD,)), value=62)
    failed, back = ledger.moves
    assert (failed.phase, failed.outcome) == (Phase.ENDED, VerificationOutcome.RETURNED)
    assert failed.checks == (replace(BAD, last=62),)
    assert back == LedgerMove(
        placement=KEY,
        source="us-1",
        target="eu-1",
        since=NOW,
        phase_since=NOW,
        cause=MoveCause("Return", "slo/shop 62 of at least 80"),
        returning=True,
    )
    assert ledger.holds == (
        Hold(
            placement=KEY,
            target="us-1",
            since=NOW,
            until=NOW + 3600,
            revision="r1",
            inventory="d1",
            detail="slo/shop 62 of at least 80",
        ),
    )
    assert (ledger.returns, ledger.stopped_since) == ((NOW,), 0.0)
    assert after(move(checks=(BAD,)), value=62, returns=(NOW - 5,)).stopped_since == NOW


def test_a_move_that_cannot_return_is_reported_when_the_time_is_over() -> None:
    """Until then its old cluster may come back."""
    waiting = only(after(move(ago=1799, checks=(BAD,)), value=62, eligible=False))
    assert (waiting.phase, waiting.outcome) == (Phase.VERIFYING, None)
    ledger = after(move(ago=1800, checks=(BAD,)), value=62, eligible=False)
    assert only(ledger).outcome is VerificationOutcome.FAILED
    assert (ledger.holds, ledger.returns) == ((), ())


def test_a_new_copy_that_never_gets_healthy_counts_as_failed() -> None:
    young = only(after(move(Phase.HANDOVER, 1799), arrived=False))
    assert young.phase is Phase.HANDOVER
    failed, back = after(move(Phase.HANDOVER, 1800), arrived=False).moves
    assert failed.outcome is VerificationOutcome.RETURNED
    assert failed.detail == "us-1 has no healthy copy after 1800 s"
    assert str(back.cause) == "return: us-1 has no healthy copy after 1800 s"


@pytest.mark.parametrize(
    ("on_unknown", "admitted", "lost", "expected"),
    [
        ("Hold", True, "", [(Phase.VERIFYING, None)]),
        ("Return", True, "", [(Phase.ENDED, VerificationOutcome.RETURNED), (Phase.ADMITTED, None)]),
        ("Complete", True, "", [(Phase.VERIFYING, VerificationOutcome.UNKNOWN_COMPLETED)]),
        ("Hold", False, "eu-1", [(Phase.VERIFYING, VerificationOutcome.UNKNOWN_COMPLETED)]),
        ("Hold", False, "", [(Phase.VERIFYING, None)]),
        ("Return", False, "", [(Phase.VERIFYING, VerificationOutcome.UNKNOWN_COMPLETED)]),
        ("Complete", False, "", [(Phase.VERIFYING, VerificationOutcome.UNKNOWN_COMPLETED)]),
    ],
)
def test_what_happens_when_nobody_knows(
    on_unknown: str,
    admitted: bool,
    lost: str,
    expected: list[tuple[Phase, VerificationOutcome | None]],
) -> None:
    verification = replace(VERIFICATION, on_unknown=on_unknown)

    def outcomes(ago: float) -> list[tuple[Phase, VerificationOutcome | None]]:
        before = move(ago=ago, admitted=admitted)
        ledger = after(before, value=None, verification=verification, lost=lost)
        assert all(
            bool(each.passed_at) == bool(each.outcome is VerificationOutcome.UNKNOWN_COMPLETED)
            for each in ledger.moves
        )
        return [(each.phase, each.outcome) for each in ledger.moves]

    assert outcomes(1799) == [(Phase.VERIFYING, None)]
    assert outcomes(1800) == expected


@pytest.mark.parametrize(
    ("value", "detail"),
    [(None, "slo/shop not known"), (90, "slo/shop 90 of at least 80, but not for 600 s")],
)
@pytest.mark.parametrize("on_unknown", ["Return", "Complete"])
def test_a_move_of_which_nobody_knows_says_what_was_not_known(
    on_unknown: str, value: int | None, detail: str
) -> None:
    verification = replace(VERIFICATION, on_unknown=on_unknown)
    decided, *_ = after(move(ago=1800), value=value, verification=verification).moves
    assert decided.detail == detail


def test_a_move_that_its_checks_decided_needs_no_other_reason() -> None:
    failed, _ = after(move(checks=(BAD,)), value=62).moves
    assert failed.detail == ""
    assert only(after(move(checks=(HELD,)))).detail == ""


def test_what_ocm_moved_itself_is_reported_and_never_returns() -> None:
    ledger = after(move(admitted=False, checks=(BAD,)), value=62)
    failed = only(ledger)
    assert (failed.phase, failed.outcome) == (Phase.ENDED, VerificationOutcome.FAILED)
    assert (ledger.holds, ledger.returns) == ((), ())


def test_a_target_that_ocm_leaves_meanwhile_ends_the_verification() -> None:
    """OCM decides for eu-2, because us-1 is lost. What it did itself is verified, too."""
    for phase in (Phase.HANDOVER, Phase.VERIFYING):
        overtaken, own = after(move(phase), decided="eu-2", lost="us-1").moves
        assert (overtaken.phase, overtaken.outcome) == (Phase.ENDED, VerificationOutcome.OVERTAKEN)
        assert (own.source, own.target, own.admitted, own.verified) == (
            "us-1",
            "eu-2",
            False,
            True,
        )


def test_what_passed_stays_completed_when_ocm_decides_again() -> None:
    passed = move(passed_at=NOW - 5, outcome=VerificationOutcome.COMPLETED)
    assert after(passed, decided="eu-2").moves[0].outcome is VerificationOutcome.COMPLETED


def test_a_return_is_never_verified_and_never_returns() -> None:
    back = LedgerMove(
        placement=KEY,
        source="us-1",
        target="eu-1",
        since=NOW - 9000,
        phase=Phase.HANDOVER,
        phase_since=NOW - 9000,
        returning=True,
    )
    assert only(after(back, decided="eu-1", known="eu-1", value=0)) is back
    ended = only(after(back, decided="eu-1", known="eu-1", value=0, finished=True))
    assert (ended.phase, ended.outcome) == (Phase.ENDED, None)


def test_a_return_that_ocm_does_not_follow_is_tried_again() -> None:
    back = LedgerMove(
        placement=KEY,
        source="us-1",
        target="eu-1",
        since=NOW - 900,
        phase=Phase.WITHDRAWN,
        phase_since=NOW - 10,
        returning=True,
    )
    assert only(after(back)).phase is Phase.ADMITTED
    assert only(after(back, refused=("eu-1",))) is back
    failed = only(after(back, eligible=False))
    assert (failed.phase, failed.outcome) == (Phase.ENDED, VerificationOutcome.FAILED)
    # An admitted move is forgotten in the same place.
    assert after(replace(back, returning=False)).moves == ()


def test_without_a_verification_in_git_a_move_ends_as_others_do() -> None:
    assert only(after(move(), verification=None)).phase is Phase.VERIFYING
    assert only(after(move(), verification=None, finished=True)).phase is Phase.ENDED


def test_an_application_that_is_new_is_not_verified() -> None:
    ledger = advance(
        Ledger((), {"argocd/other": ("c1",)}),
        paced={KEY},
        decided={KEY: frozenset({"us-1"})},
        published=(),
        finished=lambda _: False,
        evidence=Evidence(verifications={KEY: VERIFICATION}),
        now=NOW,
    )
    assert (only(ledger).source, only(ledger).verified) == ("", False)


def test_an_old_copy_that_no_move_explains_is_verified() -> None:
    """The ledger was deleted while both copies ran."""
    adopted = only(after(copies=("eu-1", "us-1")))
    assert (adopted.source, adopted.target, adopted.phase) == ("eu-1", "us-1", Phase.HANDOVER)
    assert (adopted.admitted, adopted.verified, adopted.checks) == (False, True, (OPEN,))
    assert after(copies=("us-1",)).moves == ()
    assert after(copies=("eu-1", "us-1"), verification=None).moves == ()


@pytest.mark.parametrize(
    ("known", "adopts"),
    [
        (move(), False),
        (move(Phase.ENDED, passed_at=NOW - 5, outcome=VerificationOutcome.COMPLETED), False),
        (move(Phase.ENDED, outcome=VerificationOutcome.FAILED), False),
        (move(Phase.ENDED, verified=False, checks=()), True),
        (move(Phase.ENDED, source="eu-2", passed_at=NOW - 5), True),
    ],
    ids=["under way", "passed", "failed lately", "ended before verify", "of another copy"],
)
def test_an_old_copy_that_the_ledger_knows_is_not_verified_twice(
    known: LedgerMove, *, adopts: bool
) -> None:
    moves = after(known, copies=("eu-1", "us-1")).moves
    assert len(moves) == (2 if adopts else 1)


def test_old_copies_are_verified_one_after_the_other() -> None:
    assert [each.source for each in after(copies=("eu-2", "eu-1")).moves] == ["eu-1"]


def test_the_score_of_the_old_copy_is_remembered_when_ocm_moves_it_itself() -> None:
    check = replace(CHECK, at_least=None, no_worse_than=10)
    verification = replace(VERIFICATION, checks=(check,))
    own = only(after(known="eu-1", values={"eu-1": 70, "us-1": 90}, verification=verification))
    assert own.checks == (CheckState(score="slo/shop", at_least=60, before=70),)
