"""What an answer's Date says of the hub's clock."""

import time
from email.utils import formatdate

import pytest

from gitops_dsf.reconciler.hub.clock import HubClock

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("ahead", "took", "offset"),
    [
        (0, 0.01, 0),
        (600, 0.01, 600),
        (-600, 0.01, -600),
        (0, 14, 0),
        (-600, 14, -600),
        (600, 14, 586),
        (2, 0, 0),
        (-2, 0, 0),
        (-1, 14, 0),
    ],
)
def test_the_date_was_written_between_sending_and_receiving(ahead: float, took: float, offset: float) -> None:
    """`ahead` is the hub's clock; it writes the Date at once, and the rest takes its time."""
    clock = HubClock()
    clock.told(formatdate(NOW + ahead, usegmt=True), sent=NOW, received=NOW + took)
    assert clock.known
    assert clock.offset == pytest.approx(offset, abs=0.02)


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 99 Jan 2099 00:00:00 GMT"])
def test_without_a_date_the_last_one_counts(date: str) -> None:
    clock = HubClock()
    assert not clock.known
    clock.told(formatdate(NOW + 600, usegmt=True), sent=NOW, received=NOW)
    clock.told(date, sent=NOW, received=NOW)
    assert not clock.known
    assert clock.now() == pytest.approx(time.time() + 600, abs=30)
