"""Whether a score is fresh, about to expire, expired, endless, empty, missing, or not to be expected yet.

OCM's rule (pkg/placement/plugins/addon): a score counts until the moment after validUntil, and for ever
without one. So one without validUntil counts, and is never fresh: nobody can tell from it whether its agent
still lives.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

Moment = TypeVar("Moment", float, datetime)

GRACE_SECONDS: Final = 120.0
"""Until a new scorer, cluster or add-on can have published: the kubelet alone takes 60 to 90 s to show the
agent a new entry.
"""
GRACE_INTERVALS: Final = 2
EXPIRING_SHARE: Final = 0.25
"""Share of the TTL that is left when a score is called expiring; agents renew at half."""


class State(StrEnum):
    """How a scorer's score on one cluster stands."""

    FRESH = "fresh"
    EXPIRING = "expiring"
    """Less than a quarter of the TTL is left; agents renew at half."""
    EXPIRED = "expired"
    """OCM counts it as 0."""
    ENDLESS = "endless"
    """Published without validUntil: OCM counts it for ever, whatever becomes of the agent."""
    EMPTY = "empty"
    """The AddOnPlacementScore holds no score: OCM counts it as 0."""
    MISSING = "missing"
    """The scorer should run there and nothing is published: OCM counts it as 0."""
    WAITING = "waiting"
    """Nothing is published yet, and the scorer, the cluster or the add-on is too new for that to be a fault.
    """
    MASKED = "masked"
    """A mask keeps the scorer off this cluster."""


LIVE: Final = frozenset({State.FRESH, State.EXPIRING, State.ENDLESS})
"""States in which OCM counts the value."""
DEAD: Final = frozenset({State.EXPIRED, State.EMPTY})
"""States in which something is published, and OCM counts it as 0."""


def expired(valid_until: Moment | None, now: Moment) -> bool:
    """Whether OCM no longer counts a score. Go: now.After(validUntil), so the very moment of validUntil still
    counts.
    """
    return valid_until is not None and now > valid_until


def state_of(valid_until: float | None, *, filled: bool, ttl: float, now: float) -> State:
    """The state of a score that is published. Times are seconds since 1970; `filled`: it holds at least one
    item.
    """
    if not filled:
        return State.EMPTY
    if valid_until is None:
        return State.ENDLESS
    if expired(valid_until, now):
        return State.EXPIRED
    return State.EXPIRING if valid_until - now < ttl * EXPIRING_SHARE else State.FRESH


def changes_at(valid_until: float, *, ttl: float, now: float) -> float:
    """When time alone changes the state of a score that has not expired: it begins to expire, or it has
    expired.
    """
    soon = valid_until - ttl * EXPIRING_SHARE
    return soon if now <= soon else valid_until


def grace(interval: float) -> float:
    """Seconds for which a score that should be there may be missing, by the interval of its scorer."""
    return max(GRACE_SECONDS, GRACE_INTERVALS * interval)


def state_of_absent(*, since: float, interval: float, now: float) -> State:
    """The state where nothing is published. `since`: the latest of when scorer, cluster and add-on came to be
    there.
    """
    return State.WAITING if now < since + grace(interval) else State.MISSING
