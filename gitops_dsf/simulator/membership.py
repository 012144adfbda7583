"""The clusters that a Placement may use, by its cluster sets (pkg/placement/controllers/scheduling/helpers.go).

The availability of a cluster does not matter here: OCM expresses it by taints.
"""

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
    """How many ManagedClusterSetBindings in the Placement's namespace are valid: their set exists."""
    sets: tuple[str, ...]
    """Eligible sets, sorted."""
    clusters: tuple[int, ...]
    """Clusters of those sets that are not being deleted, in name order."""


NO_MEMBERSHIP = Membership(0, (), ())


def members_of(cluster_set: ManagedClusterSet, state: HubState) -> frozenset[int]:
    """The clusters of a set.

    Raises MembershipError if the type of its selector is unknown or the selector is not valid.
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
    if selector is None or selector.label_selector is None:
        # A nil selector of Go selects nothing. An empty one would select everything.
        return frozenset()
    try:
        return state.labels.select(compile_selector(selector.label_selector))
    except SelectorError as error:
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": {error}'
        ) from error


def resolve_membership(placement: Placement, state: HubState) -> Membership:
    """The bound sets, narrowed by spec.clusterSets, and their clusters.

    Cached for each namespace and list of sets, because many Placements share them. Raises
    MembershipError as `members_of` does.
    """
    namespace = placement.metadata.namespace or ""
    listed = placement.spec.cluster_sets
    known = state.memberships.get((namespace, listed))
    if known is not None:
        return known
    bound = [name for name in state.bindings.get(namespace, ()) if name in state.sets]
    sets = tuple(sorted(set(bound) & set(listed) if listed else bound))
    members: frozenset[int] = frozenset()
    for name in sets:
        members |= members_of(state.sets[name], state)
    membership = Membership(len(bound), sets, tuple(sorted(members - state.terminating)))
    state.memberships[namespace, listed] = membership
    return membership
