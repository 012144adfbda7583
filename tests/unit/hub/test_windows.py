"""Windows of maintenance: when they are open, also while clocks change."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.windows import (
    DAYS,
    Period,
    Weekly,
    clock_change,
    next_period,
    open_period,
    together,
)

HOUR = 3600.0
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
)
EVERY_DAY = tuple(DAYS)
clocks = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
weeklies = st.builds(
    Weekly,
    days=st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True).map(tuple),
    opens=clocks,
    closes=clocks,
    zone=st.sampled_from(ZONES),
)
moments = st.floats(
    datetime(2024, 1, 1, tzinfo=UTC).timestamp(), datetime(2034, 1, 1, tzinfo=UTC).timestamp()
)


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def nightly(opens: str, closes: str, *days: str, zone: str = "Europe/Berlin") -> Weekly:
    return msgspec.convert(
        {"days": days or EVERY_DAY, "from": opens, "to": closes, "zone": zone}, type=Weekly
    )


def overlap(one: Period | Weekly, other: Period | Weekly) -> bool:
    return any(len(group) > 1 for _, group in together([one, other]))


def nominal(weekly: Weekly) -> timedelta:
    first, last = (
        timedelta(hours=int(text[:2]), minutes=int(text[3:]))
        for text in (weekly.opens, weekly.closes)
    )
    return (last - first) % timedelta(days=1)


@given(weeklies.filter(lambda each: each.opens != each.closes), moments)
def test_the_next_period_is_the_first_that_has_not_ended(weekly: Weekly, now: float) -> None:
    found = next_period(weekly, now)
    assert found is not None
    assert now < found.end
    assert found.start < found.end
    # A change of clocks makes a period shorter or longer by what it changes, and no more.
    assert abs(found.end - found.start - nominal(weekly).total_seconds()) <= HOUR
    local = datetime.fromtimestamp(found.start, ZoneInfo(weekly.zone))
    assert DAYS[local.weekday()] in weekly.days or clock_change(weekly) is not None
    assert (open_period(weekly, now) is None) == (now < found.start)
    # Nothing is left out between now and then.
    assert next_period(weekly, max(now, found.start - 1)) == found
    assert found.start - now <= 15 * 24 * HOUR


@given(weeklies, weeklies, moments)
def test_windows_that_are_open_at_once_overlap(one: Weekly, other: Weekly, now: float) -> None:
    if open_period(one, now) is not None and open_period(other, now) is not None:
        year = timedelta(days=364).total_seconds()
        assert overlap(one, other) or (
            one.zone != other.zone and now > at("2027-01-01T00:00:00Z") - year
        )
    assert overlap(one, other) == overlap(other, one)


@pytest.mark.parametrize(
    ("weekly", "now", "start", "end"),
    [
        # 02:30 does not exist on the 28th of March 2027, and exists twice on the 31st of October.
        (
            nightly("02:30", "04:30"),
            "2027-03-28T00:00:00+01:00",
            "03:30:00+02:00",
            "04:30:00+02:00",
        ),
        (
            nightly("01:00", "02:30"),
            "2027-03-28T00:00:00+01:00",
            "01:00:00+01:00",
            "03:30:00+02:00",
        ),
        (
            nightly("02:30", "04:30"),
            "2027-10-31T00:00:00+02:00",
            "02:30:00+02:00",
            "04:30:00+01:00",
        ),
        (
            nightly("01:00", "02:30"),
            "2027-10-31T00:00:00+02:00",
            "01:00:00+02:00",
            "02:30:00+01:00",
        ),
        (
            nightly("01:00", "02:30"),
            "2027-06-01T00:00:00+02:00",
            "01:00:00+02:00",
            "02:30:00+02:00",
        ),
    ],
)
def test_a_change_of_clocks_in_a_window(weekly: Weekly, now: str, start: str, end: str) -> None:
    day = now.partition("T")[0]
    assert next_period(weekly, at(now)) == Period(at(f"{day}T{start}"), at(f"{day}T{end}"))


def test_a_period_of_which_clocks_leave_nothing_is_left_out() -> None:
    weekly = nightly("02:15", "03:00", "Sun")
    assert next_period(weekly, at("2027-03-27T12:00:00+01:00")) == Period(
        at("2027-04-04T02:15:00+02:00"), at("2027-04-04T03:00:00+02:00")
    )


@pytest.mark.parametrize(
    ("weekly", "found"),
    [
        (nightly("02:30", "04:00", "Sun"), (date(2026, 3, 29), "02:30", False)),
        (nightly("23:00", "02:00", "Sat"), (date(2026, 3, 29), "02:00", False)),
        (
            nightly("23:00", "01:30", "Sat", zone="America/New_York"),
            (date(2026, 11, 1), "01:30", True),
        ),
        (nightly("02:30", "04:00", "Mon"), None),
        (nightly("03:00", "04:00", "Sun"), None),
        (nightly("02:30", "04:00", zone="UTC"), None),
    ],
)
def test_changes_of_clocks_that_hit_a_window(
    weekly: Weekly, found: tuple[date, str, bool] | None
) -> None:
    assert clock_change(weekly) == found


def test_a_single_period() -> None:
    window = Period(100.0, 200.0)
    assert [open_period(window, now) for now in (99.0, 100.0, 199.0, 200.0)] == [
        None,
        window,
        window,
        None,
    ]
    assert next_period(window, 50.0) == window
    assert next_period(window, 200.0) is None
    assert next_period(Period(200.0, 100.0), 0.0) is None
    assert next_period(nightly("02:00", "02:00"), 0.0) is None


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Period(0, 10), Period(9, 20), True),
        (Period(0, 10), Period(10, 20), False),
        (Period(0, 10), Period(8, 5), False),
        (nightly("22:00", "23:00"), nightly("23:00", "01:00"), False),
        (nightly("22:00", "23:01"), nightly("23:00", "01:00"), True),
        (nightly("23:00", "01:00", "Mon"), nightly("00:30", "02:00", "Tue"), True),
        (nightly("23:00", "01:00", "Mon"), nightly("00:30", "02:00", "Mon"), False),
        # 22:00 in Berlin is 21:00 by UTC in winter, and 20:00 in summer.
        (nightly("22:00", "22:30"), nightly("20:00", "20:30", zone="UTC"), True),
        (nightly("22:00", "22:30"), nightly("19:00", "20:00", zone="UTC"), False),
    ],
)
def test_overlaps(one: Period | Weekly, other: Period | Weekly, both: bool) -> None:
    assert (overlap(one, other), overlap(other, one)) == (both, both)


NIGHTS = (("01:00", "03:00"), ("02:00", "03:00"), ("03:00", "04:00"))


def test_what_is_open_at_once_is_found_when_it_opens() -> None:
    """Three nights of which only two touch, and a period that meets one of them in its third
    week.
    """
    first, second, third = (nightly(*hours, "Sun", zone="UTC") for hours in NIGHTS)
    weeks = Period(at("2027-03-01T00:00:00Z"), at("2027-03-31T00:00:00Z"))
    groups = {
        (opening, *sorted(group)) for opening, group in together([first, second, third, weeks])
    }
    assert {each[1:] for each in groups if 3 not in each} == {(0,), (0, 1), (2,)}
    assert {each[1:] for each in groups if 3 in each} == {(3,), (0, 3), (0, 1, 3), (2, 3)}
    assert (1, 0, 1) in groups
    assert (0, 0, 1) not in groups, "the first one opened alone"


def test_windows_that_follow_one_another_are_never_open_at_once() -> None:
    """Also where one of them touches both of the others."""
    found = {group for _, group in together([Period(0, 10), Period(5, 20), Period(10, 30)])}
    assert found == {frozenset(group) for group in ({0}, {0, 1}, {1, 2})}
