"""Load moves with the applications, and scores measure it late and with noise."""

from gitops_dsf.pacing.pace import Pace
from tests.support.closedloop import DELAY, HOUR, RANGE, Event, Loop, fleet, herd

PACE = Pace(concurrent=2, arrivals_per_cluster=1, settle_seconds=DELAY + RANGE, cooldown_seconds=0)
"""Without a cooldown, which would forbid moves back whatever the scores say."""
FLEET = fleet(
    clusters=6,
    applications=36,
    events=[
        Event(at=300, cluster="c01", capacity=60),
        Event(at=HOUR, cluster="c02", capacity=0),
        Event(at=2 * HOUR, cluster="c06", capacity=100),
    ],
    seconds=3 * HOUR,
)


def test_twenty_applications_do_not_move_as_a_herd() -> None:
    """They end within 10 points of even, and none moves back."""
    found = Loop(herd(), pace=PACE).run()
    even = sum(found.free.values()) / len(found.free)
    assert found.moves
    assert max(abs(free - even) for free in found.free.values()) <= 10
    assert (found.back, found.overload) == (0, 0.0)
    assert found.under_way <= PACE.concurrent


def test_without_a_pace_they_do() -> None:
    """The twin: the same applications fill a cluster and leave it again."""
    found = Loop(herd(seconds=HOUR // 2), pace=None).run()
    assert len([each for each in found.moves if each.at == found.moves[0].at]) == 20
    assert found.back > 20
    assert found.overload > 20


def test_a_fleet_that_changes_is_evened_out_without_a_move_back() -> None:
    """A cluster loses capacity, one fails and one joins; the pace holds all the time."""
    found = Loop(FLEET, pace=PACE).run()
    assert found.moves
    assert found.back == 0
    assert found.overload <= 5
    assert found.under_way == PACE.concurrent
    assert found.arriving == PACE.arrivals_per_cluster
    assert found.settled(0, HOUR) < HOUR
    assert found.settled(HOUR, 2 * HOUR) < HOUR
    assert found.free["c06"] < 100, "the new cluster is used"
