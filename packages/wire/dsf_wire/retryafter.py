"""The Retry-After header: the time that a server asks clients to wait (RFC 9110 section 10.2.3)."""

import email.utils
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

MAX_RETRY_AFTER: Final = 3600.0
"""Longest Retry-After that is respected, in seconds."""

_MONTHS: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_FIXDATE: Final = re.compile(
    r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) ([12]\d{3}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII
)
"""The form that servers write today. The standard library takes five times as long to read it."""


@lru_cache(maxsize=16)
def http_date(date: str | None) -> float | None:
    """Unix time of an HTTP date (RFC 9110 section 5.6.7), or None.

    All answers of a second have the same one, so it is read once.
    """
    try:
        fixed = _FIXDATE.fullmatch(date or "")
        if fixed is not None:
            day, month, year, *clock = fixed.groups()
            hour, minute, second = map(int, clock)
            number = _MONTHS.index(month) // 3 + 1
            moment = datetime(int(year), number, int(day), hour, minute, second, tzinfo=UTC)
            return moment.timestamp()
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """The seconds of a Retry-After header, at most MAX_RETRY_AFTER, if any.

    Header names are lower case.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        # More digits change nothing: the maximum is below that.
        seconds = float(value[:9])
    else:
        date = http_date(value)
        if date is None:
            return None
        seconds = date - now
    # A date in the past asks for nothing. One far in the future must not stop a program for ever.
    return min(max(0.0, seconds), MAX_RETRY_AFTER)
