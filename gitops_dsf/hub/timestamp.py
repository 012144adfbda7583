"""Times as the API server writes them (metav1.Time): RFC 3339, UTC, whole seconds."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Formats a time such as `2026-11-21T08:30:00Z`, without fractions of a second. The datetime must have a
    time zone.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp_of(seconds: float) -> str:
    """Formats seconds since 1970."""
    return timestamp(datetime.fromtimestamp(int(seconds), tz=UTC))


def age_text(seconds: float) -> str:
    """Formats a duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"
