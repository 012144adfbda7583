"""The rule by which an agent writes scores (spec.publish), also for the backtest. Pure."""

import hashlib
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dsf_wire.constants import DEFAULT_DEADBAND, DEFAULT_MIN_INTERVAL_SECONDS, default_ttl_seconds
from dsf_wire.summary import ScorerSummary

REFRESH_FRACTION: Final = 0.5
"""Unchanged scores are written again after this part of the TTL."""
REFRESH_JITTER: Final = 0.1
"""A refresh comes up to this part earlier, by an amount that differs by cluster and score."""


@dataclass(frozen=True, kw_only=True)
class PublishSettings:
    """``deadband`` is in score points, the other values in seconds."""

    deadband: int
    min_interval: float
    ttl: float
    jitter: float
    """A number in [0, 1) that never changes for this cluster and score."""

    @classmethod
    def of(cls, scorer: ScorerSummary, *, jitter: float) -> "PublishSettings":
        rule = scorer.publish
        return cls(
            deadband=DEFAULT_DEADBAND if rule is None else rule.deadband,
            min_interval=DEFAULT_MIN_INTERVAL_SECONDS
            if rule is None
            else rule.min_interval_seconds,
            ttl=scorer.score_ttl_seconds or default_ttl_seconds(scorer.scoring_interval),
            jitter=jitter,
        )

    @property
    def refresh(self) -> float:
        """Seconds between two writes of unchanged scores."""
        return self.ttl * REFRESH_FRACTION * (1 - REFRESH_JITTER * self.jitter)


@dataclass(frozen=True, kw_only=True)
class PublishedItems:
    """Published items, and when they were written and expire (Unix seconds of the hub's clock)."""

    values: Mapping[str, int] = field(default_factory=dict)
    written: float
    valid_until: float


@dataclass(frozen=True, kw_only=True)
class WriteDecision:
    """The time of the write, and whether the scores changed.

    The time is Unix time of the hub; a past time means now.
    """

    at: float
    changed: bool


def unwritten(deadband: int) -> int:
    """The largest difference, in score points, for which a published score stays as it is."""
    # A deadband of 0 means the same as 1: published scores are integers.
    return max(1, deadband) - 1


def changed(wanted: Mapping[str, int], published: Mapping[str, int], *, deadband: int) -> bool:
    """Whether an item came, went, or changed by at least the deadband (0: by anything)."""
    if wanted is published or wanted == published:
        return False
    if wanted.keys() != published.keys():
        return True
    # map() compares tens of thousands of items in a few milliseconds.
    moves: Iterator[int] = map(operator.sub, wanted.values(), map(published.__getitem__, wanted))
    return max(map(abs, moves)) > unwritten(deadband)


def decide(
    wanted: Mapping[str, int], published: PublishedItems | None, *, rule: PublishSettings
) -> WriteDecision:
    """A change is written after the minimum interval, unchanged scores at the refresh time."""
    if published is None:
        return WriteDecision(at=0.0, changed=True)
    # The stored validUntil counts, too: it may have been written under a shorter TTL.
    refresh = min(
        published.written + rule.refresh, published.valid_until - rule.ttl * REFRESH_FRACTION
    )
    if changed(wanted, published.values, deadband=rule.deadband):
        return WriteDecision(at=min(refresh, published.written + rule.min_interval), changed=True)
    return WriteDecision(at=refresh, changed=False)


def stable_fraction(*parts: str) -> float:
    """A number in [0, 1) that depends only on the parts, so it is the same after a restart."""
    # NUL keeps the parts apart: (ab, c) and (a, bc) are not the same. A label may hold a lone
    # surrogate, which strict UTF-8 refuses.
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
