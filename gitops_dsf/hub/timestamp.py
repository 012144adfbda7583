"""Moments as the API server writes them (metav1.Time): RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Text such as `2026-11-21T08:30:00Z`; fractions of a second are cut off. The moment must know its time
    zone.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_of(seconds: float) -> str:
    """The same from seconds since 1970."""
    return timestamp(datetime.fromtimestamp(int(seconds), tz=UTC))


def age_text(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
