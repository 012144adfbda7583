"""Columns of scores: one score of an AddOnPlacementScore, for every cluster of a hub.

Guaranteed: a column has the values that OCM's add-on prioritizer would read at one time. Not
guaranteed: that it holds later, because scores expire; `ScoreTable` computes it again when that
happens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gitops_dsf.hub.score_states import expired as is_expired
from gitops_dsf.hub.scores import Scores

# OCM v1.2.1 starts from 0 and changes it only if the object exists, has not expired and has the
# score (pkg/placement/plugins/addon/addon.go: Score). 0 is the middle of -100..100, so a cluster
# without a score beats every cluster with a negative one.
MISSING_SCORE = 0
"""The score of a cluster without a valid score."""


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
    def endless(self) -> frozenset[int]:
        """Clusters that have this score and no validUntil: OCM counts it for ever."""
        without_end = [cluster for cluster, until in enumerate(self.ends) if until is None]
        return frozenset(without_end) - self.absent

    @cached_property
    def expiries(self) -> tuple[tuple[datetime, int], ...]:
        """(validUntil, cluster) of valid scores that will expire, soonest first."""
        return tuple(sorted(self._expiries()))

    @cached_property
    def first_expiry(self) -> datetime | None:
        """The time when the first of the valid scores expires; None if none of them does."""
        # Not expiries[0]: most columns are asked for nothing else, and need not be sorted.
        return min((until for until, _ in self._expiries()), default=None)

    def _expiries(self) -> Iterator[tuple[datetime, int]]:
        expired = self.expired
        for cluster, until in enumerate(self.ends):
            if until is not None and cluster not in expired:
                yield until, cluster


class ScoreTable:
    """Computes columns on demand, and keeps each until the next score in it expires."""

    def __init__(self, *, names: tuple[str, ...], scores: Scores) -> None:
        self._names = names
        self._scores = scores
        self._kept: dict[tuple[str, str], tuple[datetime, ScoreColumn]] = {}
        """The last column of each score, and the time that it was computed for."""

    def column(self, resource: str, score: str, now: datetime) -> ScoreColumn:
        """The column of a score, by the names of the AddOnPlacementScore and of the score in it."""
        kept = self._kept.get((resource, score))
        if kept is not None:
            since, column = kept
            if since == now or (since < now and not is_expired(column.first_expiry, now)):
                return column
        column = self._build(resource, score, now)
        self._kept[resource, score] = now, column
        return column

    def replacing(self, scores: Scores, changed: Collection[str]) -> ScoreTable:
        """The table for other scores, with the columns of those that are not in `changed`."""
        table = ScoreTable(names=self._names, scores=scores)
        table._kept = {key: kept for key, kept in self._kept.items() if key[0] not in changed}
        return table

    def _build(self, resource: str, score: str, now: datetime) -> ScoreColumn:
        by_cluster = self._scores.get(resource, {})
        values = [MISSING_SCORE] * len(self._names)
        ends: list[datetime | None] = [None] * len(self._names)
        expired: list[int] = []
        absent: list[int] = []
        # Most clusters share one tuple of score names (see Interner), so it is searched only once.
        # Its identity is the key, because hashing the tuple costs more than the search.
        indexes: dict[int, int | None] = {}
        for cluster, cluster_name in enumerate(self._names):
            published = by_cluster.get(cluster_name)
            if published is None:
                absent.append(cluster)
                continue
            score_names = published.names
            index = indexes.get(id(score_names), -1)
            if index == -1:
                index = _last_index(score_names, score)
                indexes[id(score_names)] = index
            ends[cluster] = published.valid_until
            if is_expired(published.valid_until, now):
                expired.append(cluster)
            elif index is not None:
                values[cluster] = published.values[index]
            if index is None:
                absent.append(cluster)
        return ScoreColumn(tuple(values), frozenset(expired), frozenset(absent), tuple(ends))


def _last_index(names: tuple[str, ...], name: str) -> int | None:
    """The index of a name in a list; None if it is not there.

    OCM v1.2.1 overwrites the value for every item of that name, so the last one counts. The CRD
    refuses duplicates.
    """
    for index in range(len(names) - 1, -1, -1):
        if names[index] == name:
            return index
    return None
