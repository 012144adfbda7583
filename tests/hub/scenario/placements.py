"""Placements as a test writes them by hand.

The clusters and scores that they rank, and what OCM made of them.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.times import timestamp_of
from tests.hub.controlplane.api import MANAGER, Client, Object, manifest
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import wait_for, wait_until_gone
from tests.hub.scenario import fleet

CLUSTER = "cluster.open-cluster-management.io"
PLACEMENT = f"{CLUSTER}/v1beta1/Placement"
DECISION = f"{CLUSTER}/v1beta1/PlacementDecision"
SCORE = f"{CLUSTER}/v1alpha1/AddOnPlacementScore"
MANAGED_CLUSTER = f"{CLUSTER}/v1/ManagedCluster"
CLUSTER_SET = f"{CLUSTER}/v1beta2/ManagedClusterSet"
BINDING = f"{CLUSTER}/v1beta2/ManagedClusterSetBinding"
PLACEMENT_LABEL = f"{CLUSTER}/placement"
SET_LABEL = "test.example.com/set"


def placement(name: str, *, namespace: str, **spec: Any) -> Object:
    """A Placement with this spec and nothing written out besides."""
    return manifest(PLACEMENT, name, namespace=namespace, spec=spec)


def score_prioritizer(resource: str, score: str, *, weight: int = 1) -> Object:
    """A prioritizer that ranks by one score of an AddOnPlacementScore."""
    return {
        "scoreCoordinate": {
            "type": "AddOn",
            "addOn": {"resourceName": resource, "scoreName": score},
        },
        "weight": weight,
    }


def builtin(name: str, *, weight: int = 1) -> Object:
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}


def exact(*prioritizers: Object) -> Object:
    return {"mode": "Exact", "configurations": list(prioritizers)}


def cluster_set(name: str, selector: Object | None = None) -> Object:
    """A ManagedClusterSet by label selector; by default of the clusters with `SET_LABEL: name`."""
    chosen = {"matchLabels": {SET_LABEL: name}} if selector is None else selector
    spec = {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": chosen}}
    return manifest(CLUSTER_SET, name, spec=spec)


def binding(cluster_set: str, *, namespace: str, name: str | None = None) -> Object:
    return manifest(
        BINDING, name or cluster_set, namespace=namespace, spec={"clusterSet": cluster_set}
    )


def publish(
    hub: Client,
    cluster: str,
    resource: str,
    scores: Mapping[str, int],
    *,
    seconds: float | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """One AddOnPlacementScore with exactly these scores, as its two writes.

    Valid for so many seconds, or always. The writer is whom the labels name.
    """
    manager = (labels or {}).get(MANAGED_BY_LABEL, MANAGER)
    status: Object = {"scores": [{"name": name, "value": value} for name, value in scores.items()]}
    if seconds is not None:
        status["validUntil"] = timestamp_of(int(time.time() + seconds))
    hub.apply(manifest(SCORE, resource, namespace=cluster, meta={"labels": dict(labels or {})}))
    if scores:
        hub.apply_status(
            manifest(SCORE, resource, namespace=cluster, status=status), manager=manager
        )
    else:
        # Kubernetes 1.37 makes null of a list whose last item an apply takes away, and refuses it.
        hub.patch_status(SCORE, resource, status, namespace=cluster)


def scores(hub: Client, cluster: str, resource: str) -> dict[str, int]:
    """The items of an AddOnPlacementScore; none where there is no such object."""
    found = hub.find(SCORE, resource, namespace=cluster) or {}
    return {item["name"]: item["value"] for item in found.get("status", {}).get("scores") or []}


def pages(hub: Client, name: str, *, namespace: str) -> list[Object]:
    """The PlacementDecisions of a Placement, by their owner: a name too long for a label finds
    them, too.
    """
    found = hub.list(DECISION, namespace=namespace)
    return [
        page
        for page in found
        if any(owner["name"] == name for owner in page["metadata"].get("ownerReferences", []))
    ]


def clusters_of(page: Object) -> list[str]:
    return [decision["clusterName"] for decision in page.get("status", {}).get("decisions") or []]


def decided(hub: Client, name: str, *, namespace: str = "argocd") -> list[str]:
    """The clusters in all pages, sorted."""
    return sorted(
        cluster for page in pages(hub, name, namespace=namespace) for cluster in clusters_of(page)
    )


def wait_for_decision(hub: Client, name: str, *clusters: str, namespace: str = "argocd") -> None:
    wait_for(
        lambda: decided(hub, name, namespace=namespace) == sorted(clusters),
        what=f"OCM decides for {', '.join(clusters)}",
        seen=lambda: (
            pages(hub, name, namespace=namespace),
            hub.find(PLACEMENT, name, namespace=namespace),
        ),
    )


def prefer(hub: Client, name: str, *best: str, namespace: str = "argocd", **more: Any) -> None:
    """Makes these spokes the best by far, and waits until OCM has decided for them.

    `more`: see publish.
    """
    for cluster in SPOKES:
        publish(hub, cluster, fleet.RESOURCE, {fleet.SCORE: 90 if cluster in best else 5}, **more)
    wait_for_decision(hub, name, *best, namespace=namespace)


@contextmanager
def clusters_in_set(
    plane: ControlPlane, name: str, clusters: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, ...]]:
    """These clusters (name -> labels), registered, in a ManagedClusterSet `name` that is bound to a
    namespace of that name.
    """
    hub = plane.hub.admin
    hub.apply(manifest("v1/Namespace", name))
    hub.apply(cluster_set(name))
    hub.apply(binding(name, namespace=name))
    try:
        plane.add_clusters(
            {cluster: {**labels, SET_LABEL: name} for cluster, labels in clusters.items()}
        )
        yield tuple(clusters)
    finally:
        for one in hub.list(PLACEMENT, namespace=name):
            hub.delete(PLACEMENT, one["metadata"]["name"], namespace=name)
        remove_clusters(plane, tuple(clusters))
        hub.delete(BINDING, name, namespace=name)
        hub.delete(CLUSTER_SET, name)


def remove_clusters(plane: ControlPlane, clusters: tuple[str, ...]) -> None:
    """Deletes the ManagedClusters and their scores, and waits until OCM let them go."""
    hub = plane.hub.admin
    for cluster in clusters:
        delete_scores(hub, cluster)
        hub.delete(MANAGED_CLUSTER, cluster)
    wait_until_gone(hub, MANAGED_CLUSTER, *clusters)


def delete_scores(hub: Client, *clusters: str) -> None:
    """All that there are of these clusters."""
    for cluster in clusters:
        for score in hub.list(SCORE, namespace=cluster):
            hub.delete(SCORE, score["metadata"]["name"], namespace=cluster)
