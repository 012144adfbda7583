"""The objects of one hub, parsed once and indexed, for any number of simulated Placements.

Guaranteed: a `HubState` does not change after it was built, so everything that was computed from it
stays true. `deciding`, `scoring` and `with_taints` give the hub with other decisions, scores or
taints, and keep the parts that do not depend on them. Not guaranteed: that it can be used from
several threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import (
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
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
from gitops_dsf.simulator.membership import Membership, resolve_membership
from gitops_dsf.simulator.score_columns import ScoreTable

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.predicates import CelPredicates

Key = tuple[str, str]
"""Namespace and name."""
ObjectT = TypeVar("ObjectT", Placement, PlacementDecision)

RESOURCES = ("cpu", "memory")
"""The resources of a cluster that the ResourceAllocatable prioritizers read."""

MAX_LISTED_PLACEMENTS = 10
"""A message about a Placement that does not exist lists that many others."""

# The cached properties of HubState, by what they depend on. A property that is missing here is
# computed again for each new state, which is slow but never wrong.
_OF_CLUSTERS = frozenset(
    {
        "names",
        "positions",
        "labels",
        "claims",
        "tainted",
        "terminating",
        "allocatable",
        "_memberships",
    }
)
_OF_SCORES = frozenset({"score_table", "cel"})
_OF_DECISIONS = frozenset({"decision_counts", "decisions_of", "decisions_in"})


@dataclass(frozen=True)
class HubState:
    """The objects of one hub, with indexes, score columns and CEL answers that are made on demand.

    Clusters are in order of name, and a cluster's position in that order is its number everywhere.
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
        """Reads plain dicts of the six kinds, and the items of `kind: List`.

        Raises SimulatorInputError for an object that is not a dict, is of another kind, appears
        twice, or has a field that no API server would store.
        """
        by_kind: dict[type[HubObject], dict[Key, Any]] = {kind: {} for kind in KINDS.values()}
        for position, document in flatten(documents):
            hub_object = read(document, position)
            objects = by_kind[type(hub_object)]
            key = _key_of(hub_object)
            if key in objects:
                raise SimulatorInputError(
                    f"{describe(document, position)} appears twice; pass each object once"
                )
            objects[key] = hub_object
        return cls.of(
            clusters=by_kind[ManagedCluster].values(),
            sets=by_kind[ManagedClusterSet].values(),
            bindings=by_kind[ManagedClusterSetBinding],
            placements=by_kind[Placement].values(),
            decisions=by_kind[PlacementDecision].values(),
            scores=_scores_of(by_kind[AddOnPlacementScore]),
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
        """Builds the state from typed objects without duplicates.

        A binding is its namespace and name.

        A resource of a cluster that is not a quantity counts as not reported.
        """
        bound: dict[str, tuple[str, ...]] = {}
        for namespace, name in sorted(bindings):
            bound[namespace] = (*bound.get(namespace, ()), name)
        return cls(
            clusters=tuple(sorted(clusters, key=lambda cluster: cluster.metadata.name)),
            sets={cluster_set.metadata.name: cluster_set for cluster_set in sets},
            bindings=bound,
            placements=_by_key(placements),
            decisions=_by_key(decisions),
            scores=scores,
        )

    def deciding(self, decisions: Iterable[PlacementDecision]) -> HubState:
        """The same hub with other PlacementDecisions.

        Keeps what was computed of clusters and scores.
        """
        other = replace(self, decisions=_by_key(decisions))
        return self._keeping(_OF_CLUSTERS | _OF_SCORES, other)

    def scoring(self, scores: Scores, *, changed: Collection[str] | None = None) -> HubState:
        """The same hub with other scores. Keeps what was computed of clusters and decisions.

        `changed` are the names of the AddOnPlacementScores that differ, on whatever cluster. Then
        the columns of the others are kept, too. None means that any of them may differ.
        """
        other = self._keeping(_OF_CLUSTERS | _OF_DECISIONS, replace(self, scores=scores))
        if changed is not None and "score_table" in self.__dict__:
            other.__dict__["score_table"] = self.score_table.replacing(scores, changed)
        return other

    def with_taints(self, clusters: Mapping[str, ManagedCluster]) -> HubState:
        """The same hub, in which these clusters (by name) have other taints and nothing else.

        Keeps what was computed of the rest of the clusters, of scores and of decisions. Clusters
        that the hub does not have are left out.
        """
        changed = tuple(clusters.get(cluster.metadata.name, cluster) for cluster in self.clusters)
        if changed == self.clusters:
            return self
        # A CEL expression may read the taints of a cluster.
        kept = (_OF_CLUSTERS | _OF_SCORES | _OF_DECISIONS) - {"tainted", "cel"}
        return self._keeping(kept, replace(self, clusters=changed))

    def _keeping(self, names: frozenset[str], other: HubState) -> HubState:
        # cached_property stores its value in __dict__ under the property's name.
        for name in names & self.__dict__.keys():
            other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(cluster.metadata.name for cluster in self.clusters)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return dict(zip(self.names, range(len(self.names)), strict=True))

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
        tainted = set[int]()
        for position, cluster in enumerate(self.clusters):
            for taint in cluster.taints:
                if taint.effect != "PreferNoSelect":
                    tainted.add(position)
        return frozenset(tainted)

    @cached_property
    def terminating(self) -> frozenset[int]:
        terminating = set[int]()
        for position, cluster in enumerate(self.clusters):
            if cluster.deleting:
                terminating.add(position)
        return frozenset(terminating)

    @cached_property
    def _memberships(self) -> dict[tuple[str, tuple[str, ...] | None], Membership]:
        """The results of `membership_of`, by namespace and spec.clusterSets."""
        return {}

    def membership_of(self, placement: Placement) -> Membership:
        """The clusters that a Placement may use, by its cluster sets.

        Cached for each namespace and list of sets, because most Placements of a hub share them.
        Raises MembershipError if a set has a selector that is not valid.
        """
        key = (placement.metadata.namespace or "", placement.spec.cluster_sets)
        membership = self._memberships.get(key)
        if membership is None:
            membership = resolve_membership(
                bound=self.bindings.get(key[0], ()),
                listed=placement.spec.cluster_sets,
                sets=self.sets,
                labels=self.labels,
                terminating=self.terminating,
            )
            self._memberships[key] = membership
        return membership

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
        """The number of times that each cluster appears in all PlacementDecisions of the hub."""
        counts: Counter[str] = Counter()
        for decision in self.decisions.values():
            counts.update(decision.cluster_names)
        return counts

    @cached_property
    def decisions_of(self) -> Mapping[Key, tuple[PlacementDecision, ...]]:
        """PlacementDecisions by namespace and placement label, as OCM finds them."""
        # OCM v1.2.1 selects them by the label alone (pkg/placement/plugins/steady/steady.go: Score,
        # and bind in scheduling_controller.go), whatever their name or owner says.
        labelled: dict[Key, list[PlacementDecision]] = {}
        for (namespace, _), decision in self.decisions.items():
            if PLACEMENT_LABEL in (decision.metadata.labels or {}):
                labelled.setdefault((namespace, decision.placement), []).append(decision)
        return {key: tuple(decisions) for key, decisions in labelled.items()}

    @cached_property
    def decisions_in(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """The clusters of each PlacementDecision, by namespace and name."""
        by_namespace: dict[str, dict[str, tuple[str, ...]]] = {}
        for (namespace, name), decision in self.decisions.items():
            by_namespace.setdefault(namespace, {})[name] = decision.cluster_names
        return by_namespace

    @cached_property
    def allocatable(self) -> Mapping[str, tuple[float | None, ...]]:
        """Allocatable CPU and memory as floats; None if allocatable or capacity is missing."""
        columns: dict[str, tuple[float | None, ...]] = {}
        for resource in RESOURCES:
            columns[resource] = tuple(_allocatable(cluster, resource) for cluster in self.clusters)
        return columns

    def placement(self, reference: object) -> Placement:
        """The Placement `namespace/name`.

        Raises SimulatorInputError if the reference has another form, or there is no such Placement.
        """
        namespace = name = ""
        if isinstance(reference, str):
            namespace, _, name = reference.partition("/")
        if not namespace or not name or "/" in name:
            raise SimulatorInputError(
                f"placement must be written as 'namespace/name', not {reference!r}"
            )
        placement = self.placements.get((namespace, name))
        if placement is None:
            names = sorted(map("/".join, self.placements))
            listed = ", ".join(names[:MAX_LISTED_PLACEMENTS]) or "none"
            raise SimulatorInputError(
                f"there is no Placement {reference}; Placements given: {listed}"
            )
        return placement


def _key_of(hub_object: HubObject) -> Key:
    return hub_object.metadata.namespace or "", hub_object.metadata.name


def _by_key(hub_objects: Iterable[ObjectT]) -> dict[Key, ObjectT]:
    return {_key_of(hub_object): hub_object for hub_object in hub_objects}


def _scores_of(objects: Mapping[Key, AddOnPlacementScore]) -> Scores:
    interner = Interner()
    scores: dict[str, dict[str, PublishedScore]] = {}
    # The namespace of an AddOnPlacementScore is its cluster.
    for (cluster, name), published in objects.items():
        scores.setdefault(name, {})[cluster] = interner.of(published.status)
    return scores


def _allocatable(cluster: ManagedCluster, resource: str) -> float | None:
    # OCM v1.2.1 wants both maps to have the resource, although it computes with `allocatable` alone
    # (pkg/placement/plugins/resource/resource.go: getClusterResource).
    status = cluster.status
    if (
        status is None
        or not status.allocatable
        or not status.capacity
        or resource not in status.capacity
    ):
        return None
    amount = status.allocatable.get(resource)
    if amount is None:
        return None
    try:
        return quantity.from_json(amount).approximate()
    except quantity.QuantityError:
        return None
