"""The clusters that a Placement may use, by its cluster sets.

Source: getValidManagedClusterSetBindings, getEligibleClusterSets and getAvailableClusters of OCM
v1.2.1, in pkg/placement/controllers/scheduling/scheduling_controller.go, and
GetClustersFromClusterSet of its sdk-go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.hub.objects import ManagedClusterSet
from gitops_dsf.hub.selectors import SelectorError, compile_selector


class MembershipError(Exception):
    """The controller's pass ends with this error before it schedules.

    Decisions stay as they are.
    """


@dataclass(frozen=True, slots=True)
class Membership:
    bindings: int
    """The number of valid ManagedClusterSetBindings in the Placement's namespace.

    A binding is valid if its set exists.
    """
    sets: tuple[str, ...]
    """Eligible sets, sorted."""
    clusters: tuple[int, ...]
    """Clusters of those sets that are not being deleted, in name order."""


NO_MEMBERSHIP = Membership(0, (), ())


def resolve_membership(
    *,
    bound: Sequence[str],
    listed: Sequence[str] | None,
    sets: Mapping[str, ManagedClusterSet],
    labels: LabelIndex[int],
    terminating: frozenset[int],
) -> Membership:
    """The bound sets, narrowed by those that the Placement lists, and their clusters.

    `bound` are the names of the ManagedClusterSetBindings in the Placement's namespace, `listed` is
    spec.clusterSets, `labels` are those of all clusters. Raises MembershipError as `members_of`
    does.
    """
    # OCM looks a set up by the name of its binding, and reads neither spec.clusterSet nor the
    # condition Bound. Its webhook makes sure that both names are equal.
    valid = [name for name in bound if name in sets]
    eligible = set(valid)
    if listed:
        eligible.intersection_update(listed)
    members: frozenset[int] = frozenset()
    for name in sorted(eligible):
        members |= members_of(sets[name], labels)
    # A cluster need not be accepted, joined or available: OCM expresses that by taints.
    usable = sorted(members - terminating)
    return Membership(len(valid), tuple(sorted(eligible)), tuple(usable))


def members_of(cluster_set: ManagedClusterSet, labels: LabelIndex[int]) -> frozenset[int]:
    """The clusters of a set.

    Raises MembershipError if the type of its selector is unknown or the selector is not valid.
    """
    name = cluster_set.metadata.name
    selector = None
    if cluster_set.spec:
        selector = cluster_set.spec.cluster_selector
    if selector is None or selector.selector_type in ("", "ExclusiveClusterSetLabel"):
        return labels.carrying(CLUSTER_SET_LABEL, name)
    if selector.selector_type != "LabelSelector":
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": selectorType is not right:'
            f" {selector.selector_type}"
        )
    if selector.label_selector is None:
        # A nil selector of Go selects nothing. An empty one would select everything.
        return frozenset()
    try:
        return labels.select(compile_selector(selector.label_selector))
    except SelectorError as error:
        raise MembershipError(
            f'failed to get clusters from ClusterSet "{name}": {error}'
        ) from error
