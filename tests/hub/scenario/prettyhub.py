"""A hub on which everything is as it should be: what the test control plane lacks (pods, operators, agents)
is there as objects.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dsf_wire.constants import ADDON_NAME, AGENT_MANAGER, AGENT_NAMESPACE, MANAGED_BY_LABEL
from tests.hub.controlplane.api import MANAGER, Client, Object
from tests.hub.controlplane.applications import refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, Fleet, write_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import decided
from tests.hub.scenario.spokeagent import wait_for_deployment

ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
DEPLOYMENT = "apps/v1/Deployment"
SCORES = "cluster.open-cluster-management.io/v1alpha1/AddOnPlacementScore"
HUB_NAMESPACE, ARGOCD_NAMESPACE, OCM_NAMESPACE = (
    "open-cluster-management",
    "argocd",
    "open-cluster-management-hub",
)
CLUSTERS = ("cluster1", "cluster2")
SECRET = "api-token"
ROOT = Path(__file__).parents[3]
WORKLOADS = (
    (
        "Deployment",
        OCM_NAMESPACE,
        "cluster-manager-addon-manager-controller",
        "quay.io/open-cluster-management/addon-manager:v1.2.1",
    ),
    (
        "Deployment",
        OCM_NAMESPACE,
        "cluster-manager-placement-controller",
        "quay.io/open-cluster-management/placement:v1.2.1",
    ),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-applicationset-controller", "quay.io/argoproj/argocd:v3.6.1"),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-server", "quay.io/argoproj/argocd:v3.6.1"),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-dex-server", "ghcr.io/dexidp/dex:v2.46.0"),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-redis", "public.ecr.aws/docker/library/redis:8.10.1-alpine"),
    ("StatefulSet", ARGOCD_NAMESPACE, "argocd-application-controller", "quay.io/argoproj/argocd:v3.6.1"),
)


@dataclass(kw_only=True)
class PrettyHub:
    """An installed fleet with everything around it."""

    plane: ControlPlane
    argocd: ArgoCD
    installation: Installation

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    @property
    def fleet(self) -> Fleet:
        return self.installation.fleet

    def publish(
        self, cluster: str, value: int, *, resource: str = RESOURCE, ours: bool = True, age: float = 0.0
    ) -> None:
        """As our agent does it `age` seconds ago, or as somebody else; valid for the scorer's TTL
        of 900 s.
        """
        labels, manager = ({MANAGED_BY_LABEL: AGENT_MANAGER}, AGENT_MANAGER) if ours else ({}, MANAGER)
        body: Object = {
            "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": resource, "namespace": cluster, "labels": labels},
        }
        until = (datetime.now(UTC) + timedelta(seconds=900 - age)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.hub.apply(body)
        status = {"scores": [{"name": SCORE, "value": value}], "validUntil": until}
        self.hub.apply_status({**body, "status": status}, manager=manager)

    def decision(self) -> list[str]:
        return decided(self.hub, APPLICATION, namespace=ARGOCD_NAMESPACE)

    def applications(self) -> dict[str, Object]:
        """By cluster."""
        found = self.hub.list(
            "argoproj.io/v1alpha1/Application",
            namespace=ARGOCD_NAMESPACE,
            labels=f"gitops-dsf.io/application={APPLICATION}",
        )
        return {
            item["spec"]["destination"]["name"]: item
            for item in found
            if "deletionTimestamp" not in item["metadata"]
        }

    def move(self, cluster: str) -> None:
        """Makes this cluster the best by far, and waits until OCM decides for it and Argo CD makes
        the copy.
        """
        for name in CLUSTERS:
            self.publish(name, 90 if name == cluster else 5)
        wait_for(
            lambda: self.decision() == [cluster],
            what=f"OCM decides for {cluster}",
            seen=self.decision,
        )
        refresh_set(self.hub, APPLICATION, namespace=ARGOCD_NAMESPACE)
        wait_for(
            lambda: cluster in self.applications(),
            what=f"Argo CD makes the copy on {cluster}",
            seen=self.applications,
        )

    def agent_available(self, cluster: str, *, replicas: int = 1) -> None:
        """What a ready replica would make of the Deployment's status: no kubelet runs here."""
        counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
        status: dict[str, Any] = {**dict.fromkeys(counts, replicas), "observedGeneration": 1}
        self.plane.spokes[cluster].admin.patch_status(
            DEPLOYMENT, ADDON_NAME, status, namespace=AGENT_NAMESPACE
        )

    def available(self, cluster: str) -> str:
        found = self.hub.get(ADDON, ADDON_NAME, namespace=cluster).get("status", {}).get("conditions", [])
        return next((one["status"] for one in found if one["type"] == "Available"), "")

    def lead(self, *, ago: float = 0.0) -> None:
        """The Lease as a reconciler renewed it `ago` seconds ago; long enough for the test."""
        renewed = (datetime.now(UTC) - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.hub.apply(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "gitops-dsf-reconciler", "namespace": HUB_NAMESPACE},
                "spec": {"holderIdentity": "pod-a", "leaseDurationSeconds": 3600, "renewTime": renewed},
            }
        )


def workload(kind: str, namespace: str, name: str, image: str, **more: Any) -> Object:
    """A Deployment or StatefulSet, as an object: nothing runs it here."""
    labels = {"app.kubernetes.io/name": name, **more.pop("labels", {})}
    spec: Object = {
        "replicas": 1,
        "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
        "template": {
            "metadata": {"labels": {"app.kubernetes.io/name": name}},
            "spec": {"serviceAccountName": name, "containers": [{"name": "main", "image": image, **more}]},
        },
    }
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }


@contextmanager
def pretty_hub(
    plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, *, name: str
) -> Iterator[PrettyHub]:
    """Everything there, everything fresh, the application on cluster1."""
    fleet = Fleet(repository=git_server.create(name), name=name)
    write_fleet(fleet, clusters=list(CLUSTERS), secret=SECRET)
    fleet.render()
    shutil.copytree(ROOT / "argocd/install", fleet.root / "argocd/install")
    with ExitStack() as stack:
        for cluster in CLUSTERS:
            spoke = plane.spokes[cluster]
            argocd.add_cluster_secret(cluster, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, cluster)
        installation = stack.enter_context(installed(fleet, plane, clusters=CLUSTERS))
        scene = PrettyHub(plane=plane, argocd=argocd, installation=installation)
        for kind, namespace, what, image in WORKLOADS:
            scene.hub.apply(workload(kind, namespace, what, image))
            stack.callback(scene.hub.delete, f"apps/v1/{kind}", what, namespace=namespace)
        scene.lead()
        stack.callback(
            scene.hub.delete, "coordination.k8s.io/v1/Lease", "gitops-dsf-reconciler", namespace=HUB_NAMESPACE
        )
        for cluster in CLUSTERS:
            wait_for_deployment(plane, cluster)
            scene.agent_available(cluster)
        scene.move("cluster1")
        for cluster in CLUSTERS:
            wait_for(
                lambda cluster=cluster: scene.available(cluster) == "True",  # type: ignore[misc]
                what=f"the add-on of {cluster} is Available",
                seen=lambda cluster=cluster: scene.hub.get(ADDON, ADDON_NAME, namespace=cluster),  # type: ignore[misc]
            )
        yield scene
