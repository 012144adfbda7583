"""AddOnPlacementScores as columns: one number per cluster, for a resource and a score name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.scores import expired as is_expired

MISSING_SCORE = 0
"""The score of a cluster without a valid score: the middle of -100..100 (plugins/addon)."""


@dataclass(frozen=True)
class ScoreColumn:
    """One score for every cluster of the hub, in order of cluster."""

    values: tuple[int, ...]
    expired: frozenset[int]
    """Clusters whose AddOnPlacementScore is past its validUntil; their value is 0."""
    absent: frozenset[int]
    """Clusters without the AddOnPlacementScore, or without this score in it; their value is 0."""
    ends: tuple[datetime | None, ...]
    """validUntil of each cluster's AddOnPlacementScore; None if it has none or does not exist."""

    @cached_property
    def expiries(self) -> tuple[tuple[datetime, int], ...]:
        """(validUntil, cluster) of valid scores that will expire, soonest first."""
        expired = self.expired
        limited = (
            (until, cluster)
            for cluster, until in enumerate(self.ends)
            if until is not None and cluster not in expired
        )
        return tuple(sorted(limited))


class ScoreTable:
    """Computes columns on demand. They depend on the time, so only those of the last `now` are kept."""

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
        values, ends = [MISSING_SCORE] * len(self._names), list[datetime | None]([None]) * len(self._names)
        expired, absent = [], []
        # Most clusters share the same tuple of names, so it is searched only once.
        places: dict[int, int | None] = {}
        for position, name in enumerate(self._names):
            found = objects.get(name)
            if found is None:
                absent.append(position)
                continue
            until, names = found.valid_until, found.names
            place = places.get(id(names), -1)
            if place == -1:
                place = places[id(names)] = _place(names, score)
            ends[position] = until
            if is_expired(until, now):
                expired.append(position)
            elif place is not None:
                values[position] = found.values[place]
            if place is None:
                absent.append(position)
        return ScoreColumn(tuple(values), frozenset(expired), frozenset(absent), tuple(ends))


def _place(names: tuple[str, ...], score: str) -> int | None:
    """If a name appears twice, the last one counts."""
    return next((place for place in range(len(names) - 1, -1, -1) if names[place] == score), None)
