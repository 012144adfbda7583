"""A hub for the verbs that write: discovery, server-side apply as a merge, deletions, and dry runs.

tests/hub/test_install.py shows the same on a real API server.
"""

import copy
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from tests.support.apiserver import ApiServer
from tests.support.objecthub import merged

Object = dict[str, Any]
KINDS: Final = {
    "/api/v1/configmaps": "ConfigMap",
    "/api/v1/pods": "Pod",
    "/api/v1/services": "Service",
    "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons": "ClusterManagementAddOn",
    "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons": "ManagedClusterAddOn",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "CustomResourceDefinition",
    "/apis/apps/v1/deployments": "Deployment",
    "/apis/apps/v1/statefulsets": "StatefulSet",
    "/apis/argoproj.io/v1alpha1/applications": "Application",
    "/apis/argoproj.io/v1alpha1/applicationsets": "ApplicationSet",
    "/apis/argoproj.io/v1alpha1/appprojects": "AppProject",
    "/apis/cluster.open-cluster-management.io/v1alpha1/addonplacementscores": "AddOnPlacementScore",
    "/apis/cluster.open-cluster-management.io/v1beta1/placements": "Placement",
    "/apis/coordination.k8s.io/v1/leases": "Lease",
    "/apis/work.open-cluster-management.io/v1/manifestworks": "ManifestWork",
}
CLUSTER_SCOPED: Final = {"ClusterManagementAddOn", "CustomResourceDefinition"}


@dataclass
class WritableHub(ApiServer):
    """`writes` has every stored write, in order."""

    writes: list[str] = field(default_factory=list)
    forbidden: set[str] = field(default_factory=set)
    """Writes that are refused, such as `PATCH Application gitops-dsf-platform`."""
    stuck: set[str] = field(default_factory=set)
    """Kinds whose objects stay after their deletion, as with a finalizer."""
    bodies: dict[str, Object] = field(default_factory=dict)
    """The body of the last write by its key."""

    def answer(self, target: str, accept: str, authorization: str | None) -> tuple[int, Object]:
        parts = urlsplit(target).path.strip("/").split("/")
        if len(parts) == (2 if parts[0] == "api" else 3):
            base = "/" + "/".join(parts)
            served = [path for path in self.objects if path.rpartition("/")[0] == base and path in KINDS]
            return 200, {
                "resources": [
                    {
                        "name": path.rpartition("/")[2],
                        "kind": KINDS[path],
                        "namespaced": KINDS[path] not in CLUSTER_SCOPED,
                    }
                    for path in served
                ]
            }
        return super().answer(target, accept, authorization)

    def change(self, method: str, target: str, body: Object) -> tuple[int, Object]:
        collection, namespace, name = self._place(urlsplit(target).path)
        query = parse_qs(urlsplit(target).query)
        dry = "dryRun" in query or "dryRun" in body
        key = f"{method} {KINDS[collection]} {name}"
        if key in self.forbidden:
            return 403, {"kind": "Status", "message": "you may not"}
        if collection not in self.objects:
            return 404, {"kind": "Status"}
        items = self.objects[collection]
        place = next(
            (
                at
                for at, item in enumerate(items)
                if (item["metadata"].get("namespace", ""), item["metadata"]["name"]) == (namespace, name)
            ),
            None,
        )
        if method == "DELETE" and place is None:
            return 404, {"kind": "Status"}
        before = {} if place is None else items[place]
        after = merged(copy.deepcopy(before), body) if method == "PATCH" else before
        if dry:
            return 200, after
        self.bodies[key] = body
        if method == "DELETE":
            self.writes.append(key)
            if KINDS[collection] not in self.stuck:
                del items[place or 0]
        elif after != before:
            self.writes.append(key)
            items[len(items) if place is None else place : len(items) if place is None else place + 1] = [
                after
            ]
        return 200, after
