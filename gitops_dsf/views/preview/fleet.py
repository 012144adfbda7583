"""A valid fleet repository, whose values are compared without rendering, and the hub that it leads to:
Placements and bindings of the repository; labels, taints, claims and resources of a cluster as the hub has
them, field by field, because OCM reads those; clusters that only one side knows.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.hub import objects as hub
from gitops_dsf.hub.applications import placements_followed
from gitops_dsf.hub.maintenance import Maintenance
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.placements import resources_read, without_score_predicates
from gitops_dsf.hub.scorers import counted_span
from gitops_dsf.hub.scores import Scores
from gitops_dsf.hub.snapshot import Snapshot
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from gitops_dsf.pipeline import Checked
from gitops_dsf.plan import Plan
from gitops_dsf.render.delivery import delivery
from gitops_dsf.render.tree import shared_objects
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster
from gitops_dsf.resolve import Resolved
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.targets import on_the_hub
from gitops_dsf.simulator import HubState, SimulatorInputError, with_defaults

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FleetVersion:
    """A resolved and planned fleet repository. It is never changed."""

    resolved: Resolved
    plan: Plan

    @cached_property
    def delivered(self) -> tuple[Object, ...]:
        """ManagedClusterSetBindings, Placements and ApplicationSets as Argo CD would apply them."""
        return tuple(delivery(self.plan))

    @cached_property
    def spans(self) -> Mapping[str, tuple[int, int]]:
        """The lowest and highest score that OCM can count, by name of the AddOnPlacementScore."""
        return {
            item.resource_name: counted_span(item.published, item.spec.default_score)
            for item in self.resolved.scorers
        }

    @cached_property
    def maintenance(self) -> tuple[Maintenance, ...]:
        """Maintenance as the reconciler reads it."""
        return tuple(map(on_the_hub, self.resolved.maintenance))

    @cached_property
    def placements(self) -> Mapping[str, Object]:
        found = [(item["metadata"], item) for item in self.delivered if item["kind"] == "Placement"]
        return dict(
            sorted(
                (f"{metadata['namespace']}/{metadata['name']}", item) for metadata, item in found
            )
        )

    @cached_property
    def followers(self) -> Mapping[str, tuple[str, ...]]:
        """The sorted names of the ApplicationSets, in its namespace, that follow each Placement."""
        found = defaultdict[str, set[str]](set, {key: set() for key in self.placements})
        for item in (each for each in self.delivered if each["kind"] == "ApplicationSet"):
            metadata = item["metadata"]
            for name in placements_followed(item["spec"].get("generators")):
                found[f"{metadata['namespace']}/{name}"].add(metadata["name"])
        return {key: tuple(sorted(names)) for key, names in found.items()}

    @cached_property
    def bindings(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the rendered ManagedClusterSetBindings. OCM requires the name of the set."""
        metadata = [
            item["metadata"]
            for item in self.delivered
            if item["kind"] == "ManagedClusterSetBinding"
        ]
        return frozenset((each["namespace"], each["name"]) for each in metadata)

    @cached_property
    def assumed_bindings(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """By Placement, the bindings that it needs and the repository does not render.

        The hub may have them: somebody else keeps them. A Placement that lists no sets uses every set that is
        bound in its namespace. Where none is rendered there, any set may be.
        """
        bound = {namespace for namespace, _ in self.bindings}
        sets = sorted(
            {*BUILT_IN_SETS, *(item.metadata.name for item in self.resolved.cluster_sets)}
        )
        found = dict[str, tuple[tuple[str, str], ...]]()
        for key, item in self.placements.items():
            namespace = item["metadata"]["namespace"]
            listed = (item.get("spec") or {}).get("clusterSets")
            wanted = {(namespace, name) for name in listed or (() if namespace in bound else sets)}
            if missing := sorted(wanted - self.bindings):
                found[key] = tuple(missing)
        return found

    @cached_property
    def objects(self) -> Mapping[str, Object]:
        """Rendered objects by path, without those of single clusters."""
        return shared_objects(self.plan)

    @cached_property
    def scorers(self) -> Mapping[str, EffectiveScorer]:
        return {item.name: item for item in self.resolved.scorers}

    @cached_property
    def by_resource(self) -> Mapping[str, EffectiveScorer]:
        """Scorers by the name of the AddOnPlacementScore that they publish."""
        return {
            item.resource_name: item
            for item in self.resolved.scorers
            if item.spec.score_destination == "AddOnPlacementScore"
        }

    @cached_property
    def cluster_names(self) -> frozenset[str]:
        return frozenset(item.metadata.name for item in self.resolved.clusters)


def version_of(checked: Checked) -> FleetVersion | None:
    """Returns None if the repository has errors."""
    if checked.resolved is None or checked.plan is None:
        return None
    return FleetVersion(resolved=checked.resolved, plan=checked.plan)


class PreviewError(GitopsDsfError):
    """The repository and the hub data contain objects that no hub would accept."""


def hub_state(
    fleet: FleetVersion,
    snapshot: Snapshot | None,
    *,
    scores: Scores | None = None,
    decisions: Iterable[hub.PlacementDecision] | None = None,
    only: Collection[str] | None = None,
    base: FleetVersion | None = None,
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
    written = [_cluster(item, known.get(item.metadata.name)) for item in fleet.resolved.clusters]
    found = known_bindings(snapshot)
    if found is None:
        bindings = fleet.bindings.union(*fleet.assumed_bindings.values())
    else:
        bindings = fleet.bindings.union(found - (base.bindings if base else frozenset()))
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
    fleets: Iterable[FleetVersion], only: Collection[str] | None = None
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
    fleet: FleetVersion, only: Collection[str] | None = None
) -> Mapping[str, hub.Placement]:
    """Placements as an API server would store them, by `namespace/name`. Raises PreviewError."""
    placements = {
        key: item for key, item in fleet.placements.items() if only is None or key in only
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


def _sets(fleet: FleetVersion, snapshot: Snapshot | None) -> Iterator[hub.ManagedClusterSet]:
    """Sets from the hub, else from the inventory. OCM creates `default` and `global` itself."""
    known = snapshot.sets if snapshot else {}
    yield from known.values()
    declared = {item.metadata.name: item for item in fleet.resolved.cluster_sets}
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
