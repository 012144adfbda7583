"""Values of a snapshot as the objects of a hub, for whoever reads objects: the simulator."""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.snapshot.values import Decision, PublishedScore

Object = Mapping[str, Any]


def score_objects(scores: Mapping[str, Mapping[str, PublishedScore]]) -> Iterator[Object]:
    """AddOnPlacementScores; `scores` is by name, then by cluster."""
    for name, table in scores.items():
        for cluster, found in table.items():
            status: dict[str, Any] = {"scores": [{"name": key, "value": value} for key, value in found.values.items()]}
            if found.valid_until is not None:
                status["validUntil"] = found.valid_until
            yield {"kind": "AddOnPlacementScore", "metadata": {"name": name, "namespace": cluster}, "status": status}


def decision_object(item: Decision) -> Object:
    """One PlacementDecision."""
    labels = {PLACEMENT_LABEL: item.placement} if item.placement else {}
    return {
        "kind": "PlacementDecision",
        "metadata": {"name": item.name, "namespace": item.namespace, "labels": labels},
        "status": {"decisions": [{"clusterName": name} for name in item.clusters]},
    }


def binding_object(namespace: str, name: str) -> Object:
    """One ManagedClusterSetBinding; OCM's webhook wants its name to be that of the set."""
    return {"kind": "ManagedClusterSetBinding", "metadata": {"name": name, "namespace": namespace}, "spec": {"clusterSet": name}}
