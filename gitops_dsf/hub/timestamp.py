"""Times as the API server writes them (metav1.Time): RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime
from typing import Final

EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC. With an offset, times of the years 1 and 9999 may lie beyond what a datetime holds;
    they become the first or last moment that it can hold.
    """
    return min(max(moment, EARLIEST), LATEST).astimezone(UTC)


def moment_of(seconds: float) -> datetime:
    """The moment of seconds since 1970, within the same bounds."""
    return datetime.fromtimestamp(min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp()), tz=UTC)


def timestamp(moment: datetime) -> str:
    """Formats a time such as `2026-11-21T08:30:00Z`, without fractions of a second. The datetime must have a
    time zone.
    """
    return in_utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_of(seconds: float) -> str:
    """Formats seconds since 1970."""
    return timestamp(moment_of(int(seconds)))


def age_text(seconds: float) -> str:
    """Formats a duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
