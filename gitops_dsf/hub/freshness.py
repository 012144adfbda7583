"""The state of a score: fresh, expiring, expired, endless, empty, missing, or not expected yet.

OCM's rule (pkg/placement/plugins/addon): a score counts until just after validUntil, and forever without one.
A score without validUntil therefore counts, but it is never fresh: it does not show whether its agent is
alive.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

Moment = TypeVar("Moment", float, datetime)

GRACE_SECONDS: Final = 120.0
"""How long a new scorer, cluster or add-on may take to publish. The kubelet alone takes 60 to 90 s to show
the agent a new entry.
"""
GRACE_INTERVALS: Final = 2
EXPIRING_SHARE: Final = 0.25
"""A score is expiring when less than this share of its TTL is left. Agents renew at half."""


class State(StrEnum):
    """The state of a scorer's score on one cluster."""

    FRESH = "fresh"
    EXPIRING = "expiring"
    """Less than a quarter of the TTL is left. Agents renew at half."""
    EXPIRED = "expired"
    """OCM counts it as 0."""
    ENDLESS = "endless"
    """Published without validUntil: OCM counts it forever, even if the agent is gone."""
    EMPTY = "empty"
    """The AddOnPlacementScore has no items: OCM counts it as 0."""
    MISSING = "missing"
    """The scorer should run there, but nothing is published: OCM counts it as 0."""
    WAITING = "waiting"
    """Nothing is published yet, but the scorer, the cluster or the add-on is new, so this is not a fault."""
    MASKED = "masked"
    """A mask excludes the cluster."""


LIVE: Final = frozenset({State.FRESH, State.EXPIRING, State.ENDLESS})
"""States in which OCM counts the value."""
DEAD: Final = frozenset({State.EXPIRED, State.EMPTY})
"""States in which a score is published but OCM counts it as 0."""


def expired(valid_until: Moment | None, now: Moment) -> bool:
    """Whether OCM no longer counts a score. As in Go's now.After(validUntil), the score still counts at
    validUntil itself.
    """
    return valid_until is not None and now > valid_until


def state_of(valid_until: float | None, *, filled: bool, ttl: float, now: float) -> State:
    """The state of a published score. Times are seconds since 1970; `filled` says whether it has at least one
    item.
    """
    if not filled:
        return State.EMPTY
    if valid_until is None:
        return State.ENDLESS
    if expired(valid_until, now):
        return State.EXPIRED
    return State.EXPIRING if valid_until - now < ttl * EXPIRING_SHARE else State.FRESH


def grace(interval: float) -> float:
    """How many seconds an expected score may be missing, given the interval of its scorer."""
    return max(GRACE_SECONDS, GRACE_INTERVALS * interval)


def state_of_absent(*, since: float, interval: float, now: float) -> State:
    """The state when nothing is published. `since` is the latest creation time of the scorer, the cluster and
    the add-on.
    """
    return State.WAITING if now < since + grace(interval) else State.MISSING
