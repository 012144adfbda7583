"""Which cluster sets a Placement may use, and which clusters they contain.

OCM: pkg/placement/controllers/scheduling/helpers.go. A cluster's availability does not matter here; taints
represent it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.objects import ManagedClusterSet, Placement
from gitops_dsf.hub.selectors import SelectorError, compile_selector
from gitops_dsf.simulator.state import HubState


class MembershipError(Exception):
    """The controller's pass ends with this error before it schedules. Decisions stay as they are."""


@dataclass(frozen=True, slots=True)
class Membership:
    bindings: int
    """Valid ManagedClusterSetBindings in the Placement's namespace: those whose set exists."""
    sets: tuple[str, ...]
    """Eligible sets, sorted."""
    clusters: tuple[int, ...]
    """Clusters of those sets that are not being deleted, in name order."""


NO_MEMBERSHIP = Membership(0, (), ())


def members_of(cluster_set: ManagedClusterSet, state: HubState) -> frozenset[int]:
    """The clusters of a set.

    Raises:
        MembershipError: an unknown selector type, or a selector that Kubernetes rejects.
    """
    name = cluster_set.metadata.name
    selector = cluster_set.spec.cluster_selector if cluster_set.spec else None
    kind = selector.selector_type if selector else ""
    if kind in ("", "ExclusiveClusterSetLabel"):
        return state.labels.carrying(CLUSTER_SET_LABEL, name)
    if kind != "LabelSelector":
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": selectorType is not right: {kind}'
        )
    if selector is None or selector.label_selector is None:  # a nil pointer selects nothing
        return frozenset()
    try:
        return state.labels.select(compile_selector(selector.label_selector))
    except SelectorError as error:
        raise MembershipError(f'failed to get clusters from ClusterSet "{name}": {error}') from error


def resolve_membership(placement: Placement, state: HubState) -> Membership:
    """Bound sets, narrowed by spec.clusterSets, and their clusters.

    Raises:
        MembershipError: see members_of.
    """
    bound = [
        name for name in state.bindings.get(placement.metadata.namespace or "", ()) if name in state.sets
    ]
    listed = placement.spec.cluster_sets
    sets = tuple(sorted(set(bound) & set(listed) if listed else bound))
    found: frozenset[int] = frozenset()
    for name in sets:
        found |= members_of(state.sets[name], state)
    return Membership(len(bound), sets, tuple(sorted(found - state.terminating)))
