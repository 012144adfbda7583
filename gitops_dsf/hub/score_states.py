"""The state of a scorer's score on one cluster, and until when OCM counts it.

OCM counts a score until just after validUntil, and forever without one
(pkg/placement/plugins/addon).
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

Moment = TypeVar("Moment", float, datetime)


GRACE_SECONDS: Final = 120.0
"""The time that something new may take to publish.

The kubelet alone takes 60 to 90 s until a pod sees a changed ConfigMap.
"""


GRACE_INTERVALS: Final = 2
"""Intervals of a scorer that something new may take, if that is longer."""


EXPIRING_SHARE: Final = 0.25
"""A score is expiring when less than this share of its TTL is left. Agents renew at half."""


class ScoreState(StrEnum):
    """The state of a scorer's score on one cluster."""

    FRESH = "fresh"
    EXPIRING = "expiring"
    """Less than a quarter of the TTL is left. Agents renew at half."""
    EXPIRED = "expired"
    """Its validUntil has passed: OCM counts it as 0."""
    ENDLESS = "endless"
    """Published without validUntil: OCM counts it forever, even if the agent is gone."""
    EMPTY = "empty"
    """The AddOnPlacementScore has no items: OCM counts it as 0."""
    MISSING = "missing"
    """The scorer should run there, but nothing is published: OCM counts it as 0."""
    WAITING = "waiting"
    """Nothing is published yet, which is normal for a new scorer, cluster or add-on."""
    MASKED = "masked"
    """A mask excludes the cluster."""


LIVE: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRING, ScoreState.ENDLESS})
"""States in which OCM counts the value."""


DEAD: Final = frozenset({ScoreState.EXPIRED, ScoreState.EMPTY})
"""States in which a score is published but OCM counts it as 0."""


def expired(valid_until: Moment | None, now: Moment) -> bool:
    """Whether OCM no longer counts a score.

    At validUntil itself OCM 1.2.1 still counts it: it asks `now.After(validUntil)`.
    """
    # OCM notices an expiry only at its next pass, which may be ten minutes later.
    return valid_until is not None and now > valid_until


def state_of(valid_until: float | None, *, filled: bool, ttl: float, now: float) -> ScoreState:
    """The state of a published score. Times are seconds since 1970; `filled`: it has an item."""
    if not filled:
        return ScoreState.EMPTY
    if valid_until is None:
        # Upstream's agent writes no validUntil.
        return ScoreState.ENDLESS
    if expired(valid_until, now):
        return ScoreState.EXPIRED
    if valid_until - now < ttl * EXPIRING_SHARE:
        return ScoreState.EXPIRING
    return ScoreState.FRESH


def grace(interval: float) -> float:
    """The seconds for which an expected score may be missing, given its scorer's interval."""
    return max(GRACE_SECONDS, GRACE_INTERVALS * interval)


def state_of_absent(*, since: float, interval: float, now: float) -> ScoreState:
    """The state when nothing is published.

    `since` is when the last of scorer, cluster and add-on was made. Times are seconds since 1970.
    """
    return ScoreState.WAITING if now < since + grace(interval) else ScoreState.MISSING
