"""A hub's objects, parsed once and indexed, for any number of simulated Placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import msgspec

from gitops_dsf.hub.labels import LabelIndex
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from gitops_dsf.hub.scores import AddOnPlacementScore, Interner, Score, Scores
from gitops_dsf.simulator import quantity
from gitops_dsf.simulator.documents import HubObject, describe, flatten, read
from gitops_dsf.simulator.errors import SimulatorInputError
from gitops_dsf.simulator.score_table import ScoreTable

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.predicates import CelPredicates

RESOURCES = ("cpu", "memory")
"""The resources of a cluster that the ResourceAllocatable prioritizers read."""

Key = tuple[str, str]
"""Namespace and name."""


_WITHOUT_SCORES = frozenset(
    {"names", "positions", "labels", "claims", "tainted", "terminating", "allocatable", "decision_counts"}
    | {"decisions_of", "decisions_in"}
)
"""Cached properties of HubState that do not depend on its scores."""
_WITHOUT_DECISIONS = frozenset(
    {"names", "positions", "labels", "claims", "tainted", "terminating", "score_table", "cel", "allocatable"}
)
"""Cached properties of HubState that do not depend on its decisions."""


@dataclass(frozen=True)
class HubState:
    """The objects of one hub. Clusters are in order of name, and a cluster's position is its number
    everywhere.

    It is not changed after it was built. Indexes, score columns and CEL answers are computed on demand and
    cached.
    """

    clusters: tuple[ManagedCluster, ...]
    documents: Sequence[Mapping[str, Any]] = field(repr=False)
    """The clusters as plain objects for CEL, aligned with `clusters`. Only Placements with CEL expressions
    use them.
    """
    sets: Mapping[str, ManagedClusterSet]
    bindings: Mapping[str, tuple[str, ...]]
    """Names of the ManagedClusterSetBindings of a namespace."""
    placements: Mapping[Key, Placement]
    decisions: Mapping[Key, PlacementDecision]
    scores: Scores = field(repr=False)
    """AddOnPlacementScores by name, then by cluster."""

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, Any]]) -> HubState:
        """Reads plain dicts of the six kinds; expands `kind: List`.

        Raises:
            SimulatorInputError: an object that is not a dict, is of another kind, appears twice, or has a
                field that no API server would store.
        """
        return _Builder().read(documents)

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
        return cls(
            clusters=ordered,
            documents=_Documents(ordered),
            sets={item.metadata.name: item for item in sets},
            bindings=_by_namespace(bindings),
            placements={(item.metadata.namespace or "", item.metadata.name): item for item in placements},
            decisions={(item.metadata.namespace or "", item.metadata.name): item for item in decisions},
            scores=scores,
        )

    def deciding(self, decisions: Iterable[PlacementDecision]) -> HubState:
        """The same hub with other PlacementDecisions. Reuses what was computed for clusters and scores."""
        other = replace(
            self, decisions={(item.metadata.namespace or "", item.metadata.name): item for item in decisions}
        )
        other.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name in _WITHOUT_DECISIONS}
        )
        return other

    def scoring(self, scores: Scores) -> HubState:
        """The same hub with other scores. Reuses what was computed for clusters and decisions."""
        other = replace(self, scores=scores)
        other.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name in _WITHOUT_SCORES}
        )
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.metadata.name for cluster in self.clusters)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> LabelIndex[int]:
        return LabelIndex({position: cluster.labels for position, cluster in enumerate(self.clusters)})

    @cached_property
    def claims(self) -> LabelIndex[int]:
        """Cluster claims."""
        return LabelIndex({position: cluster.claims for position, cluster in enumerate(self.clusters)})

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
        return frozenset(position for position, cluster in enumerate(self.clusters) if cluster.deleting)

    @cached_property
    def score_table(self) -> ScoreTable:
        return ScoreTable(names=self.names, scores=self.scores)

    @cached_property
    def cel(self) -> CelPredicates:
        # Most Placements have no expressions, so the engine is imported for the first one.
        from gitops_dsf.simulator.cel.predicates import CelPredicates  # noqa: PLC0415

        return CelPredicates(names=self.names, documents=self.documents, scores=self.scores)

    @cached_property
    def decision_counts(self) -> Mapping[str, int]:
        """How often each cluster appears in all PlacementDecisions of the hub."""
        return Counter(name for decision in self.decisions.values() for name in decision.cluster_names)

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
        """The Placement named `namespace/name`.

        Raises:
            SimulatorInputError: the reference has another form, or there is no such Placement.
        """
        namespace, slash, name = reference.partition("/") if isinstance(reference, str) else ("", "", "")
        if not slash or not namespace or not name or "/" in name:
            raise SimulatorInputError(f"placement must be written as 'namespace/name', not {reference!r}")
        found = self.placements.get((namespace, name))
        if found is None:
            known = ", ".join(sorted("/".join(key) for key in self.placements)[:10]) or "none"
            raise SimulatorInputError(f"there is no Placement {reference}; Placements given: {known}")
        return found


def _allocatable(cluster: ManagedCluster, resource: str) -> float | None:
    status = cluster.status
    if status is None or not status.allocatable or not status.capacity or resource not in status.capacity:
        return None
    value = status.allocatable.get(resource)
    try:
        return None if value is None else quantity.from_json(value).approximate()
    except quantity.QuantityError:
        return None


def _by_namespace(bindings: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for namespace, name in sorted(bindings):
        found.setdefault(namespace, []).append(name)
    return {namespace: tuple(names) for namespace, names in found.items()}


class _Documents(Sequence[Mapping[str, Any]]):
    """Typed clusters as plain objects, converted one at a time."""

    def __init__(self, clusters: tuple[ManagedCluster, ...]) -> None:
        self._clusters = clusters

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(index, slice):
            return _Documents(self._clusters[index])
        found: Mapping[str, Any] = msgspec.to_builtins(self._clusters[index])
        return found

    def __len__(self) -> int:
        return len(self._clusters)


class _Builder:
    """Collects plain dicts by kind, and rejects duplicates."""

    def __init__(self) -> None:
        self.clusters: dict[str, tuple[ManagedCluster, Mapping[str, Any]]] = {}
        self.sets: dict[str, ManagedClusterSet] = {}
        self.bindings: dict[Key, ManagedClusterSetBinding] = {}
        self.placements: dict[Key, Placement] = {}
        self.decisions: dict[Key, PlacementDecision] = {}
        self.scores: dict[str, dict[str, Score]] = {}
        self.interner = Interner()
        self.quantities: set[str | int | float] = set()
        """Values that are known to parse. A fleet has few different ones."""

    def read(self, documents: Iterable[Mapping[str, Any]]) -> HubState:
        for position, document in flatten(documents):
            self._add(read(document, position), document, position)
        ordered: Sequence[str] = sorted(self.clusters)
        return HubState(
            clusters=tuple(self.clusters[name][0] for name in ordered),
            documents=tuple(self.clusters[name][1] for name in ordered),
            sets=self.sets,
            bindings=_by_namespace(self.bindings),
            placements=self.placements,
            decisions=self.decisions,
            scores=self.scores,
        )

    def _add(self, item: HubObject, document: Mapping[str, Any], position: int) -> None:
        name = item.metadata.name
        if isinstance(item, AddOnPlacementScore):
            table = self.scores.setdefault(name, {})
            namespace = _namespace(item, document, position)
            _unique(namespace in table, document, position)
            table[namespace] = self.interner.of(item.status)
        elif isinstance(item, ManagedCluster):
            _unique(name in self.clusters, document, position)
            for where, value in _quantities(item, self.quantities):
                _check_quantity(value, describe(document, position), where)
                self.quantities.add(value)
            self.clusters[name] = (item, document)
        elif isinstance(item, ManagedClusterSet):
            _unique(name in self.sets, document, position)
            self.sets[name] = item
        else:
            key = (_namespace(item, document, position), name)
            table_of: dict[Key, Any] = (
                self.placements
                if isinstance(item, Placement)
                else self.decisions
                if isinstance(item, PlacementDecision)
                else self.bindings
            )
            _unique(key in table_of, document, position)
            table_of[key] = item


def _quantities(
    item: ManagedCluster, known: set[str | int | float]
) -> Iterator[tuple[str, str | int | float]]:
    """Resources of a cluster that are not known to parse, with their paths."""
    status = item.status
    for field_name, resources in (
        (("allocatable", status.allocatable), ("capacity", status.capacity)) if status else ()
    ):
        if resources and not known.issuperset(resources.values()):
            for resource, value in resources.items():
                yield f"status.{field_name}.{resource}", value


def _check_quantity(value: str | float, what: str, where: str) -> None:
    try:
        quantity.from_json(value)
    except quantity.QuantityError as error:
        raise SimulatorInputError(f"{what}: {where} is {value!r}: {error}") from error


def _namespace(item: HubObject, document: Mapping[str, Any], position: int) -> str:
    namespace = item.metadata.namespace
    if not namespace:
        raise SimulatorInputError(f"{describe(document, position)} needs metadata.namespace")
    return namespace


def _unique(taken: bool, document: Mapping[str, Any], position: int) -> None:
    if taken:
        raise SimulatorInputError(f"{describe(document, position)} appears twice; pass each object once")
