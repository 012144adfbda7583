"""The hub that a checked fleet leads to, once Argo CD applied it.

Where repository and hub both have an object, Placements and bindings are those of the repository.
Labels, taints, claims and resources of a cluster are as the hub has them, field by field, because
OCM reads those. Clusters that only one side has are in it, too.

Without a snapshot the state has no scores and no decisions: only the filters of a Placement can be
simulated on it.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from gitops_dsf.hub import objects as hub
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.placements import without_score_predicates
from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster
from gitops_dsf.simulator import HubState
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.placements import converted, refusing, typed_placements


def hub_state(
    fleet: CheckedFleet,
    snapshot: Snapshot | None,
    *,
    scores: Scores | None = None,
    decisions: Iterable[hub.PlacementDecision] | None = None,
    only: Collection[str] | None = None,
    base: CheckedFleet | None = None,
) -> HubState:
    """The hub once the repository is applied. Raises PreviewError.

    `scores` and `decisions` replace those of the snapshot. With `only`, the state has only these
    Placements (`namespace/name`). `base` is what is applied now: Argo CD deletes the bindings of it
    that the repository no longer renders.
    """
    if scores is None:
        scores = snapshot.scores if snapshot else {}
    if decisions is None:
        decisions = snapshot.decisions if snapshot else ()
    placements: Iterable[hub.Placement] = typed_placements(fleet, only).values()
    # In OCM 1.2.1 a CEL expression fails for a missing score, and drops the cluster: without
    # any score, every cluster.
    if snapshot is None:
        placements = map(without_score_predicates, placements)
    with refusing():
        return HubState.of(
            clusters=_clusters(fleet, snapshot),
            sets=_sets(fleet, snapshot),
            bindings=_bindings(fleet, snapshot, base),
            placements=placements,
            decisions=decisions,
            scores=scores,
        )


def known_bindings(snapshot: Snapshot | None) -> frozenset[tuple[str, str]] | None:
    """Namespace and name of the hub's ManagedClusterSetBindings; None if they are not known."""
    return None if snapshot is None or snapshot.bindings is None else frozenset(snapshot.bindings)


def stored_moves(snapshot: Snapshot | None) -> StoredMoves:
    """The ledger and the queue of the hub. Raises MovesError.

    Times that are later than the snapshot count as its own time: a clock of the hub was wrong.
    """
    if snapshot is None:
        return StoredMoves()
    moves = read_moves(snapshot.moves)
    if snapshot.observed_at is None:
        return moves
    return moves.not_after(snapshot.observed_at.timestamp())


def _bindings(
    fleet: CheckedFleet, snapshot: Snapshot | None, base: CheckedFleet | None
) -> frozenset[tuple[str, str]]:
    rendered = applied(fleet).bindings
    on_hub = known_bindings(snapshot)
    if on_hub is None:
        # The hub was not read. Others may keep these bindings there, and a preview must not say
        # that Placements have no cluster because of that.
        return rendered.union(*applied(fleet).assumed_bindings.values())
    if base is None:
        return rendered | on_hub
    # Argo CD deletes what the base rendered and the head does not. All others stay.
    return rendered | (on_hub - applied(base).bindings)


def _clusters(fleet: CheckedFleet, snapshot: Snapshot | None) -> Iterator[hub.ManagedCluster]:
    """The clusters of the inventory, then those that only the hub has, by name."""
    on_hub = snapshot.clusters if snapshot else {}
    for cluster in fleet.clusters:
        yield _with_set(_merged(cluster, on_hub.get(cluster.metadata.name)))
    for name in sorted(set(on_hub) - fleet.cluster_names):
        yield _with_set(on_hub[name])


def _merged(cluster: ManagedCluster, facts: hub.ManagedCluster | None) -> hub.ManagedCluster:
    """A cluster of the inventory, overridden field by field by what the hub knows of it."""
    data = cluster.model_dump(mode="json", by_alias=True)
    declared = converted(data, hub.ManagedCluster, cluster.metadata.name)
    if facts is None:
        return declared
    return hub.ManagedCluster(
        metadata=_overridden(declared.metadata, facts.metadata),
        spec=_overridden(declared.spec, facts.spec),
        status=_overridden(declared.status, facts.status),
    )


def _overridden(written: Struct | None, known: Struct | None) -> Any:  # noqa: ANN401 - of the type of both
    """The values of the hub; where it has none, those of the repository."""
    # A snapshot may leave parts out. What is absent there is not known, and what is empty is empty.
    if known is None:
        return written
    absent: dict[str, Any] = {}
    for name in known.__struct_fields__:
        if getattr(known, name) is None:
            absent[name] = getattr(written, name)
    return msgspec.structs.replace(known, **absent)


def _with_set(cluster: hub.ManagedCluster) -> hub.ManagedCluster:
    """The cluster as OCM stores it.

    A webhook of OCM 1.2.1 labels a cluster without a set as one of the set `default`, while the
    feature gate DefaultClusterSet is on, which is the default.
    """
    if CLUSTER_SET_LABEL in cluster.labels:
        return cluster
    labels = {CLUSTER_SET_LABEL: "default", **cluster.labels}
    metadata = msgspec.structs.replace(cluster.metadata, labels=labels)
    return msgspec.structs.replace(cluster, metadata=metadata)


def _sets(fleet: CheckedFleet, snapshot: Snapshot | None) -> Iterator[hub.ManagedClusterSet]:
    """Sets from the hub, else from the inventory, and those that OCM creates itself."""
    on_hub = snapshot.sets if snapshot else {}
    yield from on_hub.values()
    declared = {cluster_set.metadata.name: cluster_set for cluster_set in fleet.cluster_sets}
    for name, cluster_set in declared.items():
        if name not in on_hub:
            selector = cluster_set.spec.cluster_selector.model_dump(mode="json", exclude_none=True)
            spec = converted({"clusterSelector": selector}, hub.ManagedClusterSetSpec, name)
            yield hub.ManagedClusterSet(Metadata(name), spec)
    for name in BUILT_IN_SETS:
        if name not in on_hub and name not in declared:
            yield _built_in_set(name)


def _built_in_set(name: str) -> hub.ManagedClusterSet:
    """The set `global` selects every cluster; `default` those with the label of the set."""
    selector = hub.SetSelector()
    if name == "global":
        # In a LabelSelector an empty selector selects everything, and an absent one nothing.
        selector = hub.SetSelector("LabelSelector", hub.LabelSelector())
    return hub.ManagedClusterSet(Metadata(name), hub.ManagedClusterSetSpec(selector))
