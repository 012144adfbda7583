"""A hub's objects, parsed once and indexed, for any number of simulated Placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gitops_dsf.hubnames import PLACEMENT_LABEL
from gitops_dsf.simulator import objects as hub
from gitops_dsf.simulator import quantity
from gitops_dsf.simulator.cel.predicates import CelPredicates
from gitops_dsf.simulator.errors import SimulatorInputError
from gitops_dsf.simulator.label_index import LabelIndex
from gitops_dsf.simulator.score_table import ScoreTable

RESOURCES = ("cpu", "memory")
"""What the ResourceAllocatable prioritizers read of a cluster's status."""

Key = tuple[str, str]
"""(namespace, name)."""


@dataclass(frozen=True)
class HubState:
    """The objects of one hub. Clusters are in name order, and a cluster's position in it is its number everywhere.

    Not changed after it was built; what it computes on demand (indexes, score columns, CEL answers) is remembered.
    """

    clusters: tuple[hub.ManagedCluster, ...]
    documents: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The clusters as given, aligned with `clusters`: CEL sees more of a cluster than the model does."""
    sets: Mapping[str, hub.ManagedClusterSet]
    bindings: Mapping[str, tuple[str, ...]]
    """Names of the ManagedClusterSetBindings of a namespace."""
    placements: Mapping[Key, hub.Placement]
    decisions: Mapping[Key, hub.PlacementDecision]
    scores: Mapping[str, Mapping[str, hub.AddOnPlacementScore]] = field(repr=False)
    """AddOnPlacementScores by name, then by cluster."""

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, Any]]) -> HubState:
        """Reads plain dicts of the six kinds; `kind: List` is opened.

        Raises:
            SimulatorInputError: an object that is not a dict, is of another kind, is there twice, or has a field that
                no API server would store.
        """
        return _Builder().read(documents)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.metadata.name for cluster in self.clusters)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    @cached_property
    def labels(self) -> LabelIndex:
        return LabelIndex([cluster.metadata.labels or {} for cluster in self.clusters])

    @cached_property
    def claims(self) -> LabelIndex:
        """Cluster claims; of two with one name the later counts (GetClusterClaims)."""
        claims = ((cluster.status.cluster_claims if cluster.status else None) or () for cluster in self.clusters)
        return LabelIndex([{claim.name: claim.value for claim in found} for found in claims])

    @cached_property
    def tainted(self) -> frozenset[int]:
        """Clusters with a taint that could drop them; PreferNoSelect never does."""
        return frozenset(
            position
            for position, cluster in enumerate(self.clusters)
            if cluster.spec and any(taint.effect != "PreferNoSelect" for taint in cluster.spec.taints or ())
        )

    @cached_property
    def terminating(self) -> frozenset[int]:
        return frozenset(position for position, cluster in enumerate(self.clusters) if cluster.metadata.deletion_timestamp is not None)

    @cached_property
    def score_table(self) -> ScoreTable:
        return ScoreTable(names=self.names, scores=self.scores)

    @cached_property
    def cel(self) -> CelPredicates:
        return CelPredicates(names=self.names, documents=self.documents, scores=self.scores)

    @cached_property
    def decision_counts(self) -> Mapping[str, int]:
        """How often each cluster appears in all PlacementDecisions of the hub."""
        return Counter(name for decision in self.decisions.values() for name in decision.cluster_names)

    @cached_property
    def decisions_of(self) -> Mapping[Key, tuple[hub.PlacementDecision, ...]]:
        """PlacementDecisions by namespace and placement label, which is how OCM finds a Placement's own."""
        found: dict[Key, list[hub.PlacementDecision]] = {}
        for (namespace, _), decision in self.decisions.items():
            label = (decision.metadata.labels or {}).get(PLACEMENT_LABEL)
            if label is not None:
                found.setdefault((namespace, label), []).append(decision)
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
        """Allocatable CPU and memory as floats; None where allocatable or capacity is missing."""
        return {resource: tuple(_allocatable(cluster, resource) for cluster in self.clusters) for resource in RESOURCES}

    def placement(self, reference: object) -> hub.Placement:
        """The Placement called `namespace/name`.

        Raises:
            SimulatorInputError: the reference has another form or there is no such Placement.
        """
        namespace, slash, name = reference.partition("/") if isinstance(reference, str) else ("", "", "")
        if not slash or not namespace or not name or "/" in name:
            raise SimulatorInputError(f"placement must be written as 'namespace/name', not {reference!r}")
        found = self.placements.get((namespace, name))
        if found is None:
            known = ", ".join(sorted("/".join(key) for key in self.placements)[:10]) or "none"
            raise SimulatorInputError(f"there is no Placement {reference}; Placements given: {known}")
        return found


def _allocatable(cluster: hub.ManagedCluster, resource: str) -> float | None:
    status = cluster.status
    if status is None or not status.allocatable or not status.capacity or resource not in status.capacity:
        return None
    value = status.allocatable.get(resource)
    return None if value is None else quantity.from_json(value).approximate()


class _Builder:
    """Collects objects by kind and refuses duplicates."""

    def __init__(self) -> None:
        self.clusters: dict[str, tuple[hub.ManagedCluster, Mapping[str, Any]]] = {}
        self.sets: dict[str, hub.ManagedClusterSet] = {}
        self.bindings: dict[Key, hub.ManagedClusterSetBinding] = {}
        self.placements: dict[Key, hub.Placement] = {}
        self.decisions: dict[Key, hub.PlacementDecision] = {}
        self.scores: dict[str, dict[str, hub.AddOnPlacementScore]] = {}
        self.quantities: set[str | int | float] = set()
        """Values that parse; a fleet has few different ones."""

    def read(self, documents: Iterable[Mapping[str, Any]]) -> HubState:
        for position, document in hub.flatten(documents):
            self._add(hub.read(document, position), document, position)
        ordered: Sequence[str] = sorted(self.clusters)
        bindings: dict[str, list[str]] = {}
        for namespace, name in sorted(self.bindings):
            bindings.setdefault(namespace, []).append(name)
        return HubState(
            clusters=tuple(self.clusters[name][0] for name in ordered),
            documents=tuple(self.clusters[name][1] for name in ordered),
            sets=self.sets,
            bindings={namespace: tuple(names) for namespace, names in bindings.items()},
            placements=self.placements,
            decisions=self.decisions,
            scores=self.scores,
        )

    def _add(self, item: hub.HubObject, document: Mapping[str, Any], position: int) -> None:
        name = item.metadata.name
        if isinstance(item, hub.AddOnPlacementScore):
            table = self.scores.setdefault(name, {})
            namespace = _namespace(item, document, position)
            _unique(namespace in table, document, position)
            table[namespace] = item
        elif isinstance(item, hub.ManagedCluster):
            _unique(name in self.clusters, document, position)
            self._check_quantities(item, document, position)
            self.clusters[name] = (item, document)
        elif isinstance(item, hub.ManagedClusterSet):
            _unique(name in self.sets, document, position)
            self.sets[name] = item
        else:
            key = (_namespace(item, document, position), name)
            table_of: dict[Key, Any] = (
                self.placements
                if isinstance(item, hub.Placement)
                else self.decisions
                if isinstance(item, hub.PlacementDecision)
                else self.bindings
            )
            _unique(key in table_of, document, position)
            table_of[key] = item

    def _check_quantities(self, item: hub.ManagedCluster, document: Mapping[str, Any], position: int) -> None:
        status = item.status
        if status is None:
            return
        for field_name, resources in (("allocatable", status.allocatable), ("capacity", status.capacity)):
            if resources and not self.quantities.issuperset(resources.values()):
                for resource, value in resources.items():
                    self._check_quantity(value, f"status.{field_name}.{resource}", document, position)

    def _check_quantity(self, value: str | float, where: str, document: Mapping[str, Any], position: int) -> None:
        try:
            quantity.from_json(value)
        except quantity.QuantityError as error:
            raise SimulatorInputError(f"{hub.describe(document, position)}: {where} is {value!r}: {error}") from error
        self.quantities.add(value)


def _namespace(item: hub.HubObject, document: Mapping[str, Any], position: int) -> str:
    namespace = item.metadata.namespace
    if not namespace:
        raise SimulatorInputError(f"{hub.describe(document, position)} needs metadata.namespace")
    return namespace


def _unique(taken: bool, document: Mapping[str, Any], position: int) -> None:
    if taken:
        raise SimulatorInputError(f"{hub.describe(document, position)} is there twice; give each object once")
