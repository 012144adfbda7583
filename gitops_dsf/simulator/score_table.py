"""AddOnPlacementScores as columns: one number per cluster for a resource and a score name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.freshness import expired as is_expired
from gitops_dsf.hub.scores import Scores

MISSING_SCORE = 0
"""What a cluster without a (valid) score is given, which is the middle of -100..100 (plugins/addon)."""


@dataclass(frozen=True)
class ScoreColumn:
    """One score for every cluster of the hub, in cluster order."""

    values: tuple[int, ...]
    expired: frozenset[int]
    """Clusters whose AddOnPlacementScore is past its validUntil; their value is 0."""
    limited: tuple[tuple[datetime, int], ...]
    """(validUntil, cluster) of those that are valid and will expire."""

    @cached_property
    def expiries(self) -> tuple[tuple[datetime, int], ...]:
        """`limited`, soonest first."""
        return tuple(sorted(self.limited))


class ScoreTable:
    """Columns on demand. They depend on the time, so only those of the last `now` are kept."""

    def __init__(self, *, names: tuple[str, ...], scores: Scores) -> None:
        self._names = names
        self._scores = scores
        self._kept: tuple[datetime | None, dict[tuple[str, str], ScoreColumn]] = (None, {})

    def column(self, resource: str, score: str, now: datetime) -> ScoreColumn:
        moment, columns = self._kept
        if moment != now:
            columns = {}
            self._kept = (now, columns)
        found = columns.get((resource, score))
        if found is None:
            found = columns[resource, score] = self._build(resource, score, now)
        return found

    def _build(self, resource: str, score: str, now: datetime) -> ScoreColumn:
        objects = self._scores.get(resource, {})
        values, expired, limited = [], [], []
        for position, name in enumerate(self._names):
            value = MISSING_SCORE
            found = objects.get(name)
            if found is not None:
                until = found.valid_until
                if is_expired(until, now):
                    expired.append(position)
                else:
                    if until is not None:
                        limited.append((until, position))
                    value = found.get(score) or MISSING_SCORE
            values.append(value)
        return ScoreColumn(tuple(values), frozenset(expired), tuple(limited))
