"""Windows of a maintenance: one period, or a weekly schedule in a time zone.

A local time that exists twice, because clocks go back, begins a window the first time and ends it
the second time. One that does not exist, because clocks go forward, counts as if they had not
changed yet (RFC 5545, section 3.3.5).
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Annotated, Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
DAYS: Final[tuple[Day, ...]] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CLOCK: Final = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
"""A local time of day."""
_SOON: Final = timedelta(days=21)
"""Within this time a weekly window opens again, also if clocks leave out one of its periods."""
_YEARS: Final = (date(2026, 1, 1), date(2031, 1, 1))
"""Changes of clocks within these years stand for those of any year."""
_YEAR: Final = (date(2026, 1, 1), date(2027, 1, 15))
"""Weekly windows that overlap do so within a year."""


class Weekly(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of every week, in local time."""

    days: Annotated[tuple[Day, ...], Meta(min_length=1, max_length=7)]
    opens: Annotated[str, Meta(pattern=CLOCK)] = msgspec.field(name="from")
    closes: Annotated[str, Meta(pattern=CLOCK)] = msgspec.field(name="to")
    """The end of the window. It is on the next day, if it is before `opens`."""
    zone: str


class Period(NamedTuple):
    """Seconds since 1970. The end is not part of it."""

    start: float
    end: float

    @property
    def empty(self) -> bool:
        return self.end <= self.start


Window = Period | Weekly


class ClockChange(NamedTuple):
    """A local time of a window that does not exist on a day, or exists twice."""

    day: date
    clock: str
    twice: bool


def is_zone(name: str) -> bool:
    """Whether this machine knows a time zone of this name."""
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return False
    return True


def next_period(window: Window, after: float) -> Period | None:
    """The period that is open then, or else the next one; None if there is none."""
    if isinstance(window, Period):
        return None if window.empty or window.end <= after else window
    local = datetime.fromtimestamp(after, UTC).date()
    # A period may have begun the day before, and the local day may be another one than that of UTC.
    days = _days_between(local - timedelta(days=3), local + _SOON)
    for period in _periods(window, days):
        if period.end > after:
            return period
    return None


def open_period(window: Window, now: float) -> Period | None:
    """The period that is open now; None if none is."""
    period = next_period(window, now)
    return period if period is not None and period.start <= now else None


def together(windows: Sequence[Window]) -> Iterator[tuple[int, frozenset[int]]]:
    """Whenever a window opens: its index, and all windows that are open then.

    Nothing else is ever open at once. Weekly windows are followed for a year, and for three weeks
    from the beginning of each period.
    """
    days: tuple[date, ...] = ()
    if any(isinstance(window, Weekly) for window in windows):
        days = _days_of(windows)
    openings: list[tuple[float, float, int]] = []
    for index, window in enumerate(windows):
        periods = (window,) if isinstance(window, Period) else _of_days(window, days)
        openings += [(*period, index) for period in periods if not period.empty]
    open_until: dict[int, float] = {}
    for start, end, index in sorted(openings):
        # A period does not contain its end, so a window that closes now is not open any more.
        open_until = {other: until for other, until in open_until.items() if start < until}
        open_until[index] = max(end, open_until.get(index, end))
        yield index, frozenset(open_until)


@lru_cache(maxsize=4096)
def clock_change(weekly: Weekly) -> ClockChange | None:
    """The first time that a change of clocks hits the beginning or the end of the window."""
    for day in _days_between(*_YEARS):
        if DAYS[day.weekday()] not in weekly.days:
            continue
        last = day + timedelta(days=weekly.closes < weekly.opens)
        for when, clock in ((day, weekly.opens), (last, weekly.closes)):
            first, second = _moments(when, clock, weekly.zone)
            if first != second:
                return ClockChange(when, clock, twice=first < second)
    return None


def _days_of(windows: Iterable[Window]) -> tuple[date, ...]:
    """The days on which weekly windows are compared with the others."""
    days = set(_days_between(*_YEAR))
    for window in windows:
        if isinstance(window, Period) and not window.empty:
            # A longer period meets nothing later that it does not meet in its first weeks.
            last = min(window.end, window.start + _SOON.total_seconds())
            first_day = datetime.fromtimestamp(window.start, UTC).date() - timedelta(days=2)
            last_day = datetime.fromtimestamp(last, UTC).date() + timedelta(days=2)
            days.update(_days_between(first_day, last_day))
    return tuple(sorted(days))


@lru_cache(maxsize=512)
def _of_days(weekly: Weekly, days: tuple[date, ...]) -> tuple[Period, ...]:
    return tuple(_periods(weekly, days))


def _periods(weekly: Weekly, days: Iterable[date]) -> Iterator[Period]:
    """The periods that begin on these days. A change of clocks may leave nothing of one."""
    # It could be empty or a whole day, which is undecidable. A rule reports it.
    if weekly.opens == weekly.closes:
        return
    for day in days:
        if DAYS[day.weekday()] not in weekly.days:
            continue
        last = day + timedelta(days=weekly.closes < weekly.opens)
        # The earlier beginning and the later end: rather too long than open for an hour less.
        start, _ = _moments(day, weekly.opens, weekly.zone)
        period = Period(start, max(_moments(last, weekly.closes, weekly.zone)))
        if not period.empty:
            yield period


def _moments(day: date, clock: str, zone: str) -> tuple[float, float]:
    """A local time by the clocks before a change and after it.

    Both are the same but for the few local times that exist twice or not at all.
    """
    local = datetime.combine(day, time.fromisoformat(clock), ZoneInfo(zone))
    # fold=1 means the second of two equal local times (PEP 495).
    return local.timestamp(), local.replace(fold=1).timestamp()


def _days_between(first: date, last: date) -> Iterator[date]:
    for number in range((last - first).days):
        yield first + timedelta(days=number)
