"""How the hub's clock is learned from the Date of answers, and delays between attempts."""

import asyncio
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import HubClock, happens_within

NOW = 1_800_000_000.0


class Hands:
    """The local clocks, which a test sets."""

    def __init__(self) -> None:
        self.steady, self.shown = 100.0, NOW


@pytest.fixture
def hands() -> Hands:
    return Hands()


def answer(clock: HubClock, hands: Hands, *, hub: float, took: float = 0.0) -> None:
    """An answer whose Date the hub wrote at this time of its clock.

    It arrived after ``took`` seconds.
    """
    sent = hands.steady
    hands.steady += took
    hands.shown += took
    clock.learn(formatdate(hub, usegmt=True), sent=sent, received=hands.steady)


@pytest.mark.parametrize(
    ("ahead", "took", "offset"),
    [
        (0, 0.01, 0),
        (600, 0.01, 600),
        (-600, 0.01, -599),
        (0, 14, 0),
        (-600, 14, -599),
        (600, 14, 586),
        (-1, 14, 0),
    ],
)
def test_the_date_was_written_between_sending_and_receiving(
    hands: Hands, ahead: float, took: float, offset: float
) -> None:
    """The header is rounded down to the second.

    Within the bounds that remain, the local clock is used.
    """
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW + ahead, took=took)
    assert clock.known
    assert clock.offset == pytest.approx(offset, abs=0.02)


def test_the_hubs_clock_goes_on_when_the_local_one_jumps(hands: Hands) -> None:
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    assert (clock.wall(), clock.offset) == (NOW, None)
    answer(clock, hands, hub=NOW + 600)
    assert clock.offset == 600
    hands.shown -= 3600
    hands.steady += 7
    assert clock.wall() == NOW + 607
    answer(clock, hands, hub=NOW + 607)
    assert clock.wall() == NOW + 607
    assert clock.offset == 600 + 3600 + 7


def test_answers_narrow_the_bounds(hands: Hands) -> None:
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW + 600, took=14)
    assert clock.wall() == pytest.approx(NOW + 600)
    hands.steady += 1
    answer(clock, hands, hub=NOW + 615)
    assert clock.wall() == pytest.approx(NOW + 615)


HOURS = 6 * 3600


def test_one_answer_alone_does_not_move_the_clock_by_hours(hands: Hands) -> None:
    """A server behind the same address has a wrong clock for a moment.

    Nothing may be deleted or begin by such a time.
    """
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW)
    answer(clock, hands, hub=NOW + HOURS)
    assert clock.wall() == pytest.approx(NOW, abs=1)
    assert not clock.known
    answer(clock, hands, hub=NOW)
    assert clock.wall() == pytest.approx(NOW, abs=1)
    assert clock.known


@pytest.mark.parametrize("direction", [1, -1])
def test_a_clock_that_was_set_is_followed_after_half_a_minute(hands: Hands, direction: int) -> None:
    """The healthy twin: the hub's time was corrected, and every answer says so."""
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW)
    for seconds in (0, 10, 20):
        answer(clock, hands, hub=NOW + direction * HOURS + seconds)
        assert not clock.known
        assert clock.wall() == pytest.approx(NOW + seconds, abs=1)
        hands.steady += 10
        hands.shown += 10
    answer(clock, hands, hub=NOW + direction * HOURS + 30)
    assert clock.known
    assert clock.wall() == pytest.approx(NOW + direction * HOURS + 30, abs=1)


def test_many_wrong_answers_within_a_second_confirm_nothing(hands: Hands) -> None:
    """A look of the reconciler has several answers, all from the same server."""
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW)
    for _ in range(20):
        answer(clock, hands, hub=NOW + HOURS, took=0.05)
    assert clock.wall() == pytest.approx(NOW + 1, abs=1)
    assert not clock.known


def test_a_server_with_a_wrong_clock_among_others_is_never_followed(hands: Hands) -> None:
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    for number in range(60):
        answer(clock, hands, hub=hands.shown + (HOURS if number % 3 == 2 else 0))
        assert clock.wall() == pytest.approx(hands.shown, abs=1)
        hands.steady += 5
        hands.shown += 5


def test_with_a_wrong_local_clock_the_hubs_counts_at_once_and_is_known_after_half_a_minute(
    hands: Hands,
) -> None:
    """The healthy twin at the start: the machine's clock is wrong, and the hub's is right.

    An agent publishes with the hub's time from the first answer. What deletes by age waits for
    others.
    """
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    for seconds in (0, 15, 30):
        answer(clock, hands, hub=NOW + HOURS + seconds)
        assert clock.wall() == pytest.approx(NOW + HOURS + seconds, abs=1)
        assert clock.known is (seconds == 30)
        hands.steady += 15
        hands.shown += 15


def test_a_first_answer_that_is_wrong_is_forgotten_with_the_second(hands: Hands) -> None:
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW + HOURS)
    assert not clock.known
    answer(clock, hands, hub=NOW)
    assert clock.known
    assert clock.wall() == pytest.approx(NOW, abs=1)


def test_a_pause_of_the_machine_by_minutes_needs_no_confirmation(hands: Hands) -> None:
    """The monotonic clock stands still while a virtual machine is paused, and the wall clock is set
    then.
    """
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    answer(clock, hands, hub=NOW)
    hands.shown += 840
    answer(clock, hands, hub=NOW + 840)
    assert clock.known
    assert clock.wall() == pytest.approx(NOW + 840, abs=1)


@pytest.mark.parametrize(
    "date",
    [
        "",
        None,
        "yesterday",
        "Thu, 99 Jan 2099 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ],
)
def test_without_a_plausible_date_the_last_one_counts(hands: Hands, date: str | None) -> None:
    clock = HubClock(wall=lambda: hands.shown, steady=lambda: hands.steady)
    assert not clock.known
    answer(clock, hands, hub=NOW + 600)
    clock.learn(date, sent=hands.steady, received=hands.steady)
    assert not clock.known
    assert clock.wall() == NOW + 600


@pytest.mark.parametrize("turns", range(8))
async def test_a_task_that_is_cancelled_when_its_event_arrives_ends(turns: int) -> None:
    """Some turns of the loop after the event; between waking and running there are two or three."""
    event = asyncio.Event()

    async def wait() -> None:
        while True:
            await happens_within(event, seconds=60)
            event.clear()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0.02)
    event.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=30)
    # Once more, so that this test fails rather than hangs.
    task.cancel()
    assert done, f"{turns} turns after the event the cancellation was lost"


@given(st.integers(1, 10**6))
def test_delays_stay_within_their_limits(attempt: int) -> None:
    """They double up to the ceiling with a jitter of a fifth, and do not overflow after months."""
    delay = Backoff(first=5, ceiling=300).delay(attempt)
    assert 4 <= delay <= 360


def test_delays_double() -> None:
    backoff = Backoff(first=5, ceiling=30, jitter=0)
    assert [backoff.delay(attempt) for attempt in (1, 2, 3, 4, 5)] == [5, 10, 20, 30, 30]
