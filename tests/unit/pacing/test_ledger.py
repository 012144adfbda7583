"""The ledger as it is stored, and what of it stays when there is no room."""

import msgspec

from gitops_dsf.hub.moves.causes import by_return
from gitops_dsf.pacing.ledger import CheckState, Hold, Ledger, LedgerMove, Outcome, Phase

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
        outcome=Outcome.RETURNED,
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
