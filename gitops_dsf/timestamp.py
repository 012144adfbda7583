"""Moments as the API server writes them (metav1.Time): RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Text such as `2026-11-21T08:30:00Z`; fractions of a second are cut off. The moment must know its time zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_of(seconds: float) -> str:
    """The same from seconds since 1970."""
    return timestamp(datetime.fromtimestamp(int(seconds), tz=UTC))
