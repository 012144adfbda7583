"""What makes a snapshot change only when the hub did. Pure.

Published scores are never rounded: one point can decide a Placement.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)
DIGITS: Final = 4
"""Significant digits of a raw score: a new scoreRange maps it to 200 steps at most."""


def valid_until(until: datetime | None, *, observed: datetime) -> datetime | None:
    """The full hour beyond, seen from the moment of observation: what was fresh stays fresh at that moment,
    and what was expired, expired.

    Agents renew validUntil at half of the TTL, so that the exact one would change every line of every
    snapshot.
    """
    if until is None:
        return None
    until = until.astimezone(UTC)
    floor = until.replace(minute=0, second=0, microsecond=0)
    if until <= observed or floor == until:
        return floor
    return floor + HOUR


def raw_score(value: float) -> float:
    """Rounded to DIGITS significant digits, where that is a number."""
    rounded = float(f"{value:.{DIGITS}g}")
    return rounded if math.isfinite(rounded) else value
