"""The hub that a checked fleet leads to, once Argo CD applied it.

Placements and bindings are those of the repository. Labels, taints, claims and resources of a cluster are as
the hub has them, field by field, because OCM reads those. Clusters that only one side knows are in it, too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub import objects as hub
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.placements import resources_read, without_score_predicates
from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster
from gitops_dsf.simulator import HubState, SimulatorInputError, with_defaults
from gitops_dsf.views.preview.applied import applied

Object = Mapping[str, Any]


class PreviewError(GitopsDsfError):
    """The repository and the hub data contain objects that no hub would accept."""


def hub_state(
    fleet: CheckedFleet,
    snapshot: Snapshot | None,
    *,
    scores: Scores | None = None,
    decisions: Iterable[hub.PlacementDecision] | None = None,
    only: Collection[str] | None = None,
    base: CheckedFleet | None = None,
) -> HubState:
    """The hub once the repository is applied. What is given replaces the snapshot's. Raises PreviewError.

    `base` is what is applied now: Argo CD deletes the bindings of it that the repository no longer renders.
    """
    if scores is None:
        scores = snapshot.scores if snapshot else {}
    if decisions is None:
        decisions = snapshot.decisions if snapshot else ()
    placements = typed_placements(fleet, only).values()
    known = snapshot.clusters if snapshot else {}
    written = [_cluster(item, known.get(item.metadata.name)) for item in fleet.clusters]
    on_hub = known_bindings(snapshot)
    bindings = applied(fleet).bindings
    if on_hub is None:
        bindings = bindings.union(*applied(fleet).assumed_bindings.values())
    elif base is None:
        bindings |= on_hub
    else:
        bindings |= on_hub - applied(base).bindings
    others = [_with_set(known[name]) for name in sorted(set(known) - fleet.cluster_names)]
    with _accepted():
        return HubState.of(
            clusters=[*written, *others],
            sets=_sets(fleet, snapshot),
            bindings=bindings,
            placements=placements if snapshot else map(without_score_predicates, placements),
            decisions=decisions,
            scores=scores,
        )


def known_bindings(snapshot: Snapshot | None) -> frozenset[tuple[str, str]] | None:
    """The ManagedClusterSetBindings of the hub; None if they are not known."""
    return None if snapshot is None or snapshot.bindings is None else frozenset(snapshot.bindings)


def stored_moves(snapshot: Snapshot | None) -> StoredMoves:
    """The ledger and the queue of the hub. Raises MovesError."""
    if snapshot is None:
        return StoredMoves()
    moves, seen = read_moves(snapshot.moves), snapshot.observed_at
    return moves if seen is None else moves.not_after(seen.timestamp())


def resources_ranked(
    fleets: Iterable[CheckedFleet], only: Collection[str] | None = None
) -> frozenset[str] | None:
    """Names of the AddOnPlacementScores that Placements read; None means any. Raises PreviewError."""
    found: set[str] = set()
    for fleet in fleets:
        for item in typed_placements(fleet, only).values():
            read = resources_read(item)
            if read is None:
                return None
            found |= read
    return frozenset(found)


def typed_placements(
    fleet: CheckedFleet, only: Collection[str] | None = None
) -> Mapping[str, hub.Placement]:
    """Placements as an API server would store them, by `namespace/name`. Raises PreviewError."""
    placements = {
        key: item for key, item in applied(fleet).placements.items() if only is None or key in only
    }
    with _accepted():
        filled = with_defaults(placements.values())
    return {
        key: _typed(item, hub.Placement, key) for key, item in zip(placements, filled, strict=True)
    }


def _cluster(item: ManagedCluster, facts: hub.ManagedCluster | None) -> hub.ManagedCluster:
    """A cluster from the inventory, overridden field by field by the hub."""
    data = item.model_dump(mode="json", by_alias=True)
    written = _typed(data, hub.ManagedCluster, item.metadata.name)
    if facts is None:
        return _with_set(written)
    parts = ("metadata", "spec", "status")
    return _with_set(
        hub.ManagedCluster(*(_over(getattr(written, one), getattr(facts, one)) for one in parts))
    )


def _over(written: Struct, known: Struct | None) -> Any:  # noqa: ANN401 - of the type of both
    """What the hub knows; where it knows nothing, what is written."""
    if known is None:
        return written
    absent = (name for name in known.__struct_fields__ if getattr(known, name) is None)
    return msgspec.structs.replace(known, **{name: getattr(written, name) for name in absent})


def _with_set(cluster: hub.ManagedCluster) -> hub.ManagedCluster:
    """OCM's registration webhook adds clusters without a set to `default`."""
    if CLUSTER_SET_LABEL in cluster.labels:
        return cluster
    labels = {CLUSTER_SET_LABEL: "default", **cluster.labels}
    metadata = msgspec.structs.replace(cluster.metadata, labels=labels)
    return msgspec.structs.replace(cluster, metadata=metadata)


def _sets(fleet: CheckedFleet, snapshot: Snapshot | None) -> Iterator[hub.ManagedClusterSet]:
    """Sets from the hub, else from the inventory. OCM creates `default` and `global` itself."""
    known = snapshot.sets if snapshot else {}
    yield from known.values()
    declared = {item.metadata.name: item for item in fleet.cluster_sets}
    for name, item in declared.items():
        if name not in known:
            selector = item.spec.cluster_selector.model_dump(mode="json", exclude_none=True)
            spec = _typed({"clusterSelector": selector}, hub.ManagedClusterSetSpec, name)
            yield hub.ManagedClusterSet(Metadata(name), spec)
    for name in BUILT_IN_SETS:
        if name not in known and name not in declared:
            everything = hub.SetSelector("LabelSelector", hub.LabelSelector())
            spec = hub.ManagedClusterSetSpec(everything if name == "global" else hub.SetSelector())
            yield hub.ManagedClusterSet(Metadata(name), spec)


def _typed(data: Any, model: Any, name: str) -> Any:  # noqa: ANN401 - what the repository holds, as any of the hub's types
    with _accepted(name):
        return msgspec.convert(data, model)


@contextmanager
def _accepted(name: str = "") -> Iterator[None]:
    """Raises PreviewError for an object, perhaps of this name, that no hub would accept."""
    try:
        yield
    except SimulatorInputError as error:
        raise PreviewError(f"no hub would accept this: {error}") from error
    except msgspec.ValidationError as error:
        raise PreviewError(f"no hub would accept this: {name}: {problem_of(error)}") from error
