"""A hub's objects, parsed once and indexed, for any number of simulated Placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.score_states import expired as is_expired
from gitops_dsf.hub.scores import AddOnPlacementScore, Interner, PublishedScore, Scores
from gitops_dsf.simulator import quantity
from gitops_dsf.simulator.documents import (
    KINDS,
    HubObject,
    SimulatorInputError,
    describe,
    flatten,
    read,
)

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.predicates import CelPredicates
    from gitops_dsf.simulator.membership import Membership


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
        expired, ends = self.expired, enumerate(self.ends)
        limited = (
            (until, each) for each, until in ends if until is not None and each not in expired
        )
        return tuple(sorted(limited))

    @cached_property
    def first_expiry(self) -> datetime | None:
        """When the first of the valid scores expires; None if none of them does."""
        expired, ends = self.expired, enumerate(self.ends)
        return min(
            (until for each, until in ends if until is not None and each not in expired),
            default=None,
        )


class ScoreTable:
    """Computes columns on demand. They depend on the time: each holds until the next score in it expires."""

    def __init__(self, *, names: tuple[str, ...], scores: Scores) -> None:
        self._names = names
        self._scores = scores
        self._kept: dict[tuple[str, str], tuple[datetime, ScoreColumn]] = {}
        """The last column of each score, and the time that it was computed for."""

    def column(self, resource: str, score: str, now: datetime) -> ScoreColumn:
        known = self._kept.get((resource, score))
        if known is not None:
            since, column = known
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
        objects = self._scores.get(resource, {})
        values, ends = (
            [MISSING_SCORE] * len(self._names),
            list[datetime | None]([None]) * len(self._names),
        )
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


RESOURCES = ("cpu", "memory")
"""The resources of a cluster that the ResourceAllocatable prioritizers read."""

Key = tuple[str, str]
"""Namespace and name."""


_OF_CLUSTERS = frozenset(
    {
        "names",
        "positions",
        "labels",
        "claims",
        "tainted",
        "terminating",
        "allocatable",
        "memberships",
    }
)
_OF_SCORES = frozenset({"score_table", "cel"})
_OF_DECISIONS = frozenset({"decision_counts", "decisions_of", "decisions_in"})
"""Cached properties of HubState, by what they depend on."""


@dataclass(frozen=True)
class HubState:
    """The objects of one hub. Clusters are in order of name, and a cluster's position is its number
    everywhere.

    It is not changed after it was built. Indexes, score columns and CEL answers are computed on demand and
    cached.
    """

    clusters: tuple[ManagedCluster, ...]
    sets: Mapping[str, ManagedClusterSet]
    bindings: Mapping[str, tuple[str, ...]]
    """Names of the ManagedClusterSetBindings of a namespace."""
    placements: Mapping[Key, Placement]
    decisions: Mapping[Key, PlacementDecision]
    scores: Scores = field(repr=False)
    """AddOnPlacementScores by name, then by cluster."""

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, Any]]) -> HubState:
        """Reads plain dicts of the six kinds; expands `kind: List`. Raises SimulatorInputError: an object
        that is not a dict, is of another kind, appears twice, or has a field that no API server would store.
        """
        found: dict[type[HubObject], dict[Key, Any]] = {kind: {} for kind in KINDS.values()}
        for position, document in flatten(documents):
            item = read(document, position)
            key = (item.metadata.namespace or "", item.metadata.name)
            if key in found[type(item)]:
                msg = f"{describe(document, position)} appears twice; pass each object once"
                raise SimulatorInputError(msg)
            found[type(item)][key] = item
        interner = Interner()
        scores: dict[str, dict[str, PublishedScore]] = {}
        for (namespace, name), item in found[AddOnPlacementScore].items():
            scores.setdefault(name, {})[namespace] = interner.of(item.status)
        return cls.of(
            clusters=found[ManagedCluster].values(),
            sets=found[ManagedClusterSet].values(),
            bindings=found[ManagedClusterSetBinding],
            placements=found[Placement].values(),
            decisions=found[PlacementDecision].values(),
            scores=scores,
        )

    @classmethod
    def of(
        cls,
        *,
        clusters: Iterable[ManagedCluster],
        sets: Iterable[ManagedClusterSet],
        bindings: Iterable[tuple[str, str]],
        placements: Iterable[Placement],
        decisions: Iterable[PlacementDecision],
        scores: Scores,
    ) -> HubState:
        """Builds the state from typed objects without duplicates. A binding is its namespace and name.

        A resource of a cluster that is no quantity counts as not reported.
        """
        ordered = tuple(sorted(clusters, key=lambda item: item.metadata.name))
        bound: dict[str, list[str]] = {}
        for namespace, name in sorted(bindings):
            bound.setdefault(namespace, []).append(name)
        return cls(
            clusters=ordered,
            sets={item.metadata.name: item for item in sets},
            bindings={namespace: tuple(names) for namespace, names in bound.items()},
            placements={
                (item.metadata.namespace or "", item.metadata.name): item for item in placements
            },
            decisions={
                (item.metadata.namespace or "", item.metadata.name): item for item in decisions
            },
            scores=scores,
        )

    def deciding(self, decisions: Iterable[PlacementDecision]) -> HubState:
        """The same hub with other PlacementDecisions. Reuses what was computed for clusters and scores."""
        found = {(item.metadata.namespace or "", item.metadata.name): item for item in decisions}
        return self._keeping(_OF_CLUSTERS | _OF_SCORES, replace(self, decisions=found))

    def scoring(self, scores: Scores, *, changed: Collection[str] | None = None) -> HubState:
        """The same hub with other scores. Reuses what was computed for clusters and decisions.

        `changed` are the names of the AddOnPlacementScores that differ, on whatever cluster. Then the columns
        of the others are reused, too. None means that any of them may differ.
        """
        other = self._keeping(_OF_CLUSTERS | _OF_DECISIONS, replace(self, scores=scores))
        if changed is not None and "score_table" in self.__dict__:
            other.__dict__["score_table"] = self.score_table.replacing(scores, changed)
        return other

    def _keeping(self, names: frozenset[str], other: HubState) -> HubState:
        other.__dict__.update({name: self.__dict__[name] for name in names & self.__dict__.keys()})
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.metadata.name for cluster in self.clusters)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> LabelIndex[int]:
        return LabelIndex(
            {position: cluster.labels for position, cluster in enumerate(self.clusters)}
        )

    @cached_property
    def claims(self) -> LabelIndex[int]:
        """Cluster claims."""
        return LabelIndex(
            {position: cluster.claims for position, cluster in enumerate(self.clusters)}
        )

    @cached_property
    def tainted(self) -> frozenset[int]:
        """Clusters with a taint that could drop them. PreferNoSelect never does."""
        return frozenset(
            position
            for position, cluster in enumerate(self.clusters)
            if any(taint.effect != "PreferNoSelect" for taint in cluster.taints)
        )

    @cached_property
    def terminating(self) -> frozenset[int]:
        return frozenset(
            position for position, cluster in enumerate(self.clusters) if cluster.deleting
        )

    @cached_property
    def memberships(self) -> dict[tuple[str, tuple[str, ...] | None], Membership]:
        """What filters.resolve_membership found, by namespace and spec.clusterSets: most Placements of a hub
        ask the same.
        """
        return {}

    @cached_property
    def score_table(self) -> ScoreTable:
        return ScoreTable(names=self.names, scores=self.scores)

    @cached_property
    def cel(self) -> CelPredicates:
        # Most Placements have no expressions, so the engine is imported for the first one.
        from gitops_dsf.simulator.cel.predicates import CelPredicates  # noqa: PLC0415

        return CelPredicates(clusters=self.clusters, scores=self.scores)

    @cached_property
    def decision_counts(self) -> Mapping[str, int]:
        """How often each cluster appears in all PlacementDecisions of the hub."""
        return Counter(
            name for decision in self.decisions.values() for name in decision.cluster_names
        )

    @cached_property
    def decisions_of(self) -> Mapping[Key, tuple[PlacementDecision, ...]]:
        """PlacementDecisions by namespace and placement label, as OCM finds them."""
        found: dict[Key, list[PlacementDecision]] = {}
        for (namespace, _), decision in self.decisions.items():
            if PLACEMENT_LABEL in (decision.metadata.labels or {}):
                found.setdefault((namespace, decision.placement), []).append(decision)
        return {key: tuple(values) for key, values in found.items()}

    @cached_property
    def decisions_in(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """The clusters of each PlacementDecision, by namespace and name."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for (namespace, name), decision in self.decisions.items():
            found.setdefault(namespace, {})[name] = decision.cluster_names
        return found

    @cached_property
    def allocatable(self) -> Mapping[str, tuple[float | None, ...]]:
        """Allocatable CPU and memory as floats; None if allocatable or capacity is missing."""
        return {
            resource: tuple(_allocatable(cluster, resource) for cluster in self.clusters)
            for resource in RESOURCES
        }

    def placement(self, reference: object) -> Placement:
        """The Placement `namespace/name`. Raises SimulatorInputError: no such form, or no such Placement."""
        namespace, slash, name = (
            reference.partition("/") if isinstance(reference, str) else ("", "", "")
        )
        if not slash or not namespace or not name or "/" in name:
            raise SimulatorInputError(
                f"placement must be written as 'namespace/name', not {reference!r}"
            )
        found = self.placements.get((namespace, name))
        if found is None:
            known = ", ".join(sorted("/".join(key) for key in self.placements)[:10]) or "none"
            raise SimulatorInputError(
                f"there is no Placement {reference}; Placements given: {known}"
            )
        return found


def _allocatable(cluster: ManagedCluster, resource: str) -> float | None:
    status = cluster.status
    if (
        status is None
        or not status.allocatable
        or not status.capacity
        or resource not in status.capacity
    ):
        return None
    value = status.allocatable.get(resource)
    try:
        return None if value is None else quantity.from_json(value).approximate()
    except quantity.QuantityError:
        return None
