"""Times as metav1.Time has them: RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

EARLIEST: Final = datetime(1, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

Timestamp = Annotated[datetime, Meta(tz=True)]
"""RFC 3339 with an offset, as metav1.Time. The datetime must have a time zone."""


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC.

    An offset may lead beyond what a datetime can hold. Then it is the first or the last moment.
    """
    return min(max(moment, EARLIEST), LATEST).astimezone(UTC)


def moment_of(seconds: float) -> datetime:
    """The moment of seconds since 1970, within the same bounds."""
    bounded = min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp())
    return datetime.fromtimestamp(bounded, tz=UTC)


def seconds_of(value: object) -> float | None:
    """Seconds since 1970 of an RFC 3339 time with an offset; None for anything else."""
    try:
        return msgspec.convert(value, Timestamp).timestamp()
    except msgspec.ValidationError:
        return None


def timestamp(moment: datetime) -> str:
    """Formats a time such as `2026-11-21T08:30:00Z`, without fractions of a second."""
    return in_utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_of(seconds: float) -> str:
    """Formats seconds since 1970 in the same way."""
    return timestamp(moment_of(int(seconds)))


def age_text(seconds: float) -> str:
    """Formats a duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        # From two units on: "90 min" says more than "1 h".
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
