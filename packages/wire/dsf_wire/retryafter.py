"""How long a server asks its clients to wait (RFC 9110 section 10.2.3)."""

import email.utils
from collections.abc import Mapping
from typing import Final

MAX_RETRY_AFTER: Final = 3600.0
"""Longest Retry-After that is respected, in seconds."""


def http_date(date: str | None) -> float | None:
    """Unix time of an HTTP date (RFC 9110 section 5.6.7), or None."""
    try:
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """The seconds of a Retry-After header, at most MAX_RETRY_AFTER, if any. Header names are lower case."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        seconds = float(value[:9])
    else:
        date = http_date(value)
        if date is None:
            return None
        seconds = date - now
    return min(max(0.0, seconds), MAX_RETRY_AFTER)
