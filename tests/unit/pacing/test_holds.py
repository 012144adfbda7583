"""Which clusters an application does not go to for a while, and when a fleet stops."""

import pytest

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.pacing.fleetstop import acknowledged, counted
from gitops_dsf.pacing.holds import bounded, held_targets, holding, remaining
from gitops_dsf.pacing.ledger import Hold, Ledger
from gitops_dsf.repository.model.reconciler import Pace

NOW = 1_000_000.0
HOURS = 3600.0
WEEK = 604_800.0
KEY = "argocd/shop"
CHECK = VerifiedBy(scorer="slo", resource="slo", dimension="shop", at_least=80)
VERIFICATION = Verification(checks=(CHECK,), seconds=1800.0, hold_seconds=6 * HOURS, revision="r1")


def held(*holds: Hold, now: float = NOW, target: str = "us-1") -> tuple[Hold, ...]:
    return holding(
        holds,
        placement=KEY,
        target=target,
        verification=VERIFICATION,
        inventory="d1",
        detail="slo 62 of at least 80",
        now=now,
    )


def test_each_return_holds_twice_as_long_and_never_longer_than_a_week() -> None:
    holds: tuple[Hold, ...] = ()
    lengths: list[float] = []
    now = NOW
    for _ in range(25):
        holds = held(*holds, now=now)
        [hold] = holds
        lengths.append(hold.until - hold.since)
        now = hold.until
    assert lengths[:6] == [hours * HOURS for hours in (6, 12, 24, 48, 96, 168)]
    assert set(lengths[5:]) == {WEEK}
    assert holds[0].returns == 25


def test_a_hold_is_of_one_application_and_one_cluster() -> None:
    holds = held(*held(), target="us-2")
    assert [(hold.target, hold.returns) for hold in holds] == [("us-1", 1), ("us-2", 1)]
    assert held_targets(holds, NOW).keys() == {KEY}
    assert held_targets(holds, NOW)[KEY].keys() == {"us-1", "us-2"}
    assert held_targets(holds, NOW + 6 * HOURS) == {}


@pytest.mark.parametrize(
    ("revision", "digests", "later", "stays"),
    [
        ("r1", {"us-1": "d1"}, 0, True),
        ("r2", {"us-1": "d1"}, 0, False),
        ("r1", {"us-1": "d2"}, 0, False),
        ("r1", {}, 0, True),
        ("", {"us-1": "d1"}, 0, False),
        ("r1", {"us-1": "d1"}, 6 * HOURS + WEEK - 1, True),
        ("r1", {"us-1": "d1"}, 6 * HOURS + WEEK, False),
    ],
    ids=[
        "nothing changed",
        "the application or its scorers changed",
        "the cluster's entry changed",
        "the inventory is not known",
        "nobody verifies any more",
        "over, and remembered",
        "forgotten",
    ],
)
def test_what_ends_a_hold(
    revision: str, digests: dict[str, str], later: float, *, stays: bool
) -> None:
    verification = Verification(
        checks=(CHECK,), seconds=1800.0, hold_seconds=6 * HOURS, revision=revision
    )
    verifications = {KEY: verification} if revision else {}
    after = remaining(held(), verifications, digests, now=NOW + later)
    assert bool(after) is stays


def test_there_is_no_more_room_than_for_the_holds_that_end_last() -> None:
    holds = [
        Hold(placement=KEY, target=str(number), since=NOW, until=NOW + until)
        for number, until in enumerate((30, 10, 40, 20))
    ]
    assert [hold.target for hold in bounded(holds, 2)] == ["0", "2"]
    many = [
        Hold(placement=KEY, target=str(number), since=NOW, until=NOW + 1 + number)
        for number in range(2000)
    ]
    full = held(*many)
    assert len(full) == 2000
    assert "0" not in {hold.target for hold in full}
    assert full[-1].target == "us-1"


def test_a_text_that_was_measured_is_no_longer_than_two_hundred_characters() -> None:
    [hold] = holding(
        (),
        placement=KEY,
        target="us-1",
        verification=VERIFICATION,
        inventory="",
        detail="x" * 500,
        now=NOW,
    )
    assert len(hold.detail) == 200


PACE = Pace(stop_after_returns=3, returns_window_seconds=3600)


def test_a_fleet_stops_after_so_many_returns_within_the_window() -> None:
    ledger = counted(Ledger(), PACE, new=2, now=NOW)
    assert (ledger.returns, ledger.stopped_since) == ((NOW, NOW), 0.0)
    assert counted(ledger, PACE, new=1, now=NOW + 3599.5).stopped_since == NOW + 3599
    assert counted(ledger, PACE, new=1, now=NOW + 3600).stopped_since == 0.0
    assert counted(ledger, PACE, new=0, now=NOW + 3600).returns == ()


def test_a_stop_stays_whatever_else_happens() -> None:
    stopped = counted(Ledger(), PACE, new=3, now=NOW)
    assert stopped.stopped_since == NOW
    assert counted(stopped, PACE, new=0, now=NOW + 90_000).stopped_since == NOW
    assert counted(stopped, PACE, new=5, now=NOW + 90_000).stopped_since == NOW


@pytest.mark.parametrize(
    ("moment", "goes_on"),
    [
        (None, False),
        (NOW - 1, False),
        (NOW, True),
        (NOW + 60, True),
        (NOW + 400, True),
        (NOW + 401, False),
    ],
    ids=["nobody", "an earlier stop", "the time that is shown", "later", "skewed", "the future"],
)
def test_who_acknowledges_a_stop(moment: float | None, *, goes_on: bool) -> None:
    stopped = counted(Ledger(), PACE, new=3, now=NOW)
    after = acknowledged(stopped, moment, now=NOW + 100)
    assert (after.stopped_since == 0.0) is goes_on
    assert (after.returns == ()) is goes_on


def test_an_acknowledgement_of_nothing_changes_nothing() -> None:
    ledger = counted(Ledger(), PACE, new=2, now=NOW)
    assert acknowledged(ledger, NOW, now=NOW) is ledger


def test_a_ledger_without_returns_stays_the_same_object() -> None:
    ledger = Ledger()
    assert counted(ledger, PACE, new=0, now=NOW) is ledger
