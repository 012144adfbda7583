"""The clusters of the inventory as OCM's placement controller would see them.

The inventory does not have all facts that a hub has of a cluster. Facts that are the same for every
cluster that has joined are filled in.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import ManagedCluster, RawPlacement
from gitops_dsf.resolve.context import Context

if TYPE_CHECKING:
    from gitops_dsf.simulator import HubState

NEW_NAME: Final = "new"
"""The name of the cluster that stands in where the inventory has none."""
_GROUP: Final = "cluster.open-cluster-management.io"
_JOINED: Final = (
    "HubAcceptedManagedCluster",
    "ManagedClusterJoined",
    "ManagedClusterConditionAvailable",
)
_STATUS: Final[Mapping[str, Any]] = {
    "conditions": [
        {
            "type": condition,
            "status": "True",
            "reason": condition,
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for condition in _JOINED
    ],
    "version": {"kubernetes": "v1.34.0"},
}
"""The status of a cluster that joined."""


def hub_state(
    context: Context,
    placements: Sequence[Item[RawPlacement]],
    *,
    empty_scores: Collection[str] = (),
) -> "HubState | None":
    """A hub with the clusters of the inventory, and with the predicates of these Placements.

    It has no AddOnPlacementScores but those of ``empty_scores``, which have no scores on any
    cluster: agents write such objects where a scorer never had a score.

    The Placements are named n/p0, n/p1 and so on. None if a cluster has a mistake, which another
    rule reports.
    """
    # The simulator is slow to import, and few repositories have raw Placements.
    from gitops_dsf.simulator import HubState, SimulatorInputError, with_defaults  # noqa: PLC0415

    objects = list(map(_as_joined, context.declared.clusters))
    # A mistake that shows only when an expression runs needs a cluster on which it runs.
    if not objects:
        objects.append(_filled(NEW_NAME, {}, {}, {}))
    names = [cluster["metadata"]["name"] for cluster in objects]
    for resource in empty_scores:
        for name in names:
            objects.append(_without_scores(resource, cluster=name))
    for number, placement in enumerate(placements):
        objects.append(
            {
                "apiVersion": f"{_GROUP}/v1beta1",
                "kind": "Placement",
                "metadata": {"name": f"p{number}", "namespace": "n"},
                "spec": {"predicates": placement.value.spec["predicates"]},
            }
        )
    try:
        return HubState.build(with_defaults(objects))
    except SimulatorInputError:
        return None


def _without_scores(resource: str, *, cluster: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_GROUP}/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": resource, "namespace": cluster},
        "status": {},
    }


def _as_joined(cluster: Item[ManagedCluster]) -> dict[str, Any]:
    value = cluster.value
    annotations = value_at(cluster.document.data, ("metadata", "annotations"))
    return _filled(
        value.metadata.name,
        metadata={
            "labels": value.metadata.labels,
            "annotations": annotations if isinstance(annotations, dict) else {},
        },
        spec={"hubAcceptsClient": True, "taints": value.spec.taints},
        status={
            "clusterClaims": [claim.model_dump() for claim in value.status.cluster_claims],
            "allocatable": value.status.allocatable,
            "capacity": value.status.capacity,
        },
    )


def _filled(
    name: str, metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
) -> dict[str, Any]:
    """A cluster with what the API server and the registration add to it."""
    # The API server omits empty fields of the status, and CEL's has() is false for those.
    reported = {field: value for field, value in status.items() if value}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ManagedCluster",
        "metadata": {
            **metadata,
            "name": name,
            "uid": name,
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": [f"{_GROUP}/managedcluster-role"],
            # A joined cluster has annotations of the programs that created it.
            "annotations": {"gitops-dsf.io/filled-in": "", **metadata.get("annotations", {})},
        },
        "spec": {"hubAcceptsClient": True, "leaseDurationSeconds": 60, **spec},
        "status": {**_STATUS, **reported},
    }
