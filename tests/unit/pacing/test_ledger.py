"""The ledger as it is stored, and what of it stays when there is no room."""

import msgspec

from gitops_dsf.hub.moves.causes import by_return
from gitops_dsf.pacing.ledger import (
    CheckState,
    Hold,
    Ledger,
    LedgerMove,
    Phase,
    VerificationOutcome,
)

NOW = 10_000.0


def test_a_ledger_without_verified_moves_has_the_bytes_that_it_always_had() -> None:
    move = LedgerMove(placement="argocd/web", source="c1", target="c2", since=NOW, phase_since=NOW)
    ledger = Ledger((move,), {"argocd/web": ("c1",)})
    assert msgspec.json.encode(ledger) == (
        b'{"moves":[{"placement":"argocd/web","from":"c1","to":"c2","since":10000.0,'
        b'"phaseSince":10000.0}],"decided":{"argocd/web":["c1"]}}'
    )


def test_a_verified_move_is_stored_as_readers_expect_it() -> None:
    check = CheckState(score="shop-slo/shop", at_least=80, before=90, failing_since=NOW, last=62)
    verified = LedgerMove(
        placement="argocd/shop",
        source="eu-1",
        target="us-1",
        since=NOW,
        phase=Phase.ENDED,
        phase_since=NOW,
        verified=True,
        revision="r1",
        checks=(check,),
        outcome=VerificationOutcome.RETURNED,
    )
    back = LedgerMove(
        placement="argocd/shop",
        source="us-1",
        target="eu-1",
        since=NOW,
        returning=True,
        cause=by_return("shop-slo 62 of at least 80"),
    )
    hold = Hold(placement="argocd/shop", target="us-1", since=NOW, until=NOW + 60, revision="r1")
    ledger = Ledger((verified, back), holds=(hold,), returns=(NOW,), stopped_since=NOW)
    text = msgspec.json.encode(ledger)
    assert msgspec.json.decode(text) == {
        "moves": [
            {
                "placement": "argocd/shop",
                "from": "eu-1",
                "to": "us-1",
                "since": NOW,
                "phase": "Ended",
                "phaseSince": NOW,
                "verified": True,
                "revision": "r1",
                "checks": [
                    {
                        "score": "shop-slo/shop",
                        "atLeast": 80,
                        "before": 90,
                        "failingSince": NOW,
                        "last": 62,
                    }
                ],
                "outcome": "Returned",
            },
            {
                "placement": "argocd/shop",
                "from": "us-1",
                "to": "eu-1",
                "since": NOW,
                "cause": {"kind": "Return", "detail": "shop-slo 62 of at least 80"},
                "returning": True,
            },
        ],
        "holds": [
            {
                "placement": "argocd/shop",
                "target": "us-1",
                "since": NOW,
                "until": NOW + 60,
                "revision": "r1",
            }
        ],
        "returns": [NOW],
        "stoppedSince": NOW,
    }
    assert msgspec.json.decode(text, type=Ledger) == ledger


def test_times_in_the_future_are_now() -> None:
    """The hub's clock was wrong. What passed stays passed, and a hold gets no longer."""
    move = LedgerMove(placement="a/b", source="c1", target="c2", since=NOW, passed_at=NOW + 50)
    hold = Hold(placement="a/b", target="c2", since=NOW + 100, until=NOW + 160)
    ledger = Ledger((move,), holds=(hold,), returns=(NOW - 1, NOW + 7), stopped_since=NOW + 7)
    now = ledger.not_after(NOW)
    assert now.moves[0].passed_at == NOW
    assert (now.holds[0].since, now.holds[0].until) == (NOW, NOW + 60)
    assert now.returns == (NOW - 1, NOW)
    assert now.stopped_since == NOW


def test_a_hold_holds_from_its_beginning_to_its_end() -> None:
    hold = Hold(placement="a/b", target="c2", since=NOW, until=NOW + 60)
    assert [hold.active(NOW + seconds) for seconds in (-1, 0, 59, 60)] == [False, True, True, False]


def ended(
    outcome: VerificationOutcome | None, *, ago: float, returning: bool = False
) -> LedgerMove:
    return LedgerMove(
        placement="a/b",
        source="c1",
        target="c2",
        since=NOW - 9000,
        phase=Phase.ENDED,
        phase_since=NOW - ago,
        outcome=outcome,
        returning=returning,
    )


def test_how_a_verified_move_ended_is_remembered_for_an_hour_at_least() -> None:
    moves = [
        ended(None, ago=60),
        ended(VerificationOutcome.FAILED, ago=60),
        ended(VerificationOutcome.RETURNED, ago=3599),
        ended(None, ago=3599, returning=True),
        ended(VerificationOutcome.RETURNED, ago=3600),
    ]
    kept = Ledger(tuple(moves)).pruned(kept=60, now=NOW).moves
    assert kept == tuple(moves[1:4])
    assert Ledger(tuple(moves)).pruned(kept=7200, now=NOW).moves == tuple(moves)


def test_without_room_the_holds_go_that_end_first_and_a_stop_never_goes() -> None:
    holds = tuple(
        Hold(placement=f"argocd/app-{number:04}", target="us-1", since=NOW, until=NOW + number)
        for number in range(1000)
    )
    decided = {f"argocd/app-{number:04}": ("us-1",) for number in range(1000)}
    under_way = LedgerMove(placement="argocd/shop", source="c1", target="c2", since=NOW)
    whole = Ledger((under_way,), decided, holds=holds, returns=(NOW, NOW), stopped_since=NOW)
    room = 50_000
    ledger = whole.fitted(room, kept=3600)
    assert room - 200 < len(msgspec.json.encode(ledger)) <= room
    assert ledger.moves == (under_way,)
    assert (ledger.decided, ledger.returns, ledger.stopped_since) == ({}, (NOW, NOW), NOW)
    assert ledger.holds == holds[-len(ledger.holds) :]
    assert ledger.omitted == 0, "holds are not moves that somebody must count"
    small = whole.fitted(200, kept=3600)
    assert (small.moves, small.holds, small.stopped_since) == ((under_way,), (), NOW)


def test_with_room_for_all_but_the_decisions_no_hold_goes() -> None:
    hold = Hold(placement="a/b", target="c2", since=NOW, until=NOW + 60)
    decided = {f"argocd/app-{number:04}": ("us-1",) for number in range(1000)}
    ledger = Ledger((), decided, holds=(hold,)).fitted(5000, kept=3600)
    assert (ledger.decided, ledger.holds) == ({}, (hold,))
