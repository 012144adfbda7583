"""The output of `kubectl get -o yaml` for objects of a hub: with everything that controllers add, in
kubectl's order and indentation.
"""

from collections.abc import Sequence
from typing import Any

import yaml

OCM = "cluster.open-cluster-management.io"


class _Kubectl(yaml.CSafeDumper):
    """Go's YAML: keys sorted, lists not indented below their key."""


def printed(objects: Sequence[dict[str, Any]]) -> str:
    """Returns one object, or several as a List, as kubectl prints them."""
    if len(objects) == 1:
        return yaml.dump(objects[0], Dumper=_Kubectl, sort_keys=True)
    listing = {
        "apiVersion": "v1",
        "items": list(objects),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return yaml.dump(listing, Dumper=_Kubectl, sort_keys=True)


def managed_cluster(
    name: str, *, labels: dict[str, str] | None = None, taints: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    """A cluster that joined a while ago and lost its connection."""
    return {
        "apiVersion": f"{OCM}/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "annotations": {"agent.open-cluster-management.io/klusterlet-config": "default"},
            "creationTimestamp": "2026-03-01T08:15:30Z",
            "finalizers": [f"{OCM}/api-resource-cleanup"],
            "generation": 2,
            "labels": {
                "clusterID": "6a1c6e6b-9d6a-4b1e-8c55-0b7a3f1d2c3e",
                f"{OCM}/clusterset": "fleet",
                "feature.open-cluster-management.io/addon-gitops-dsf-agent": "available",
                **(labels or {}),
            },
            "managedFields": [
                {
                    "apiVersion": f"{OCM}/v1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {}},
                    "manager": "registration",
                }
            ],
            "name": name,
            "resourceVersion": "81723",
            "uid": "3f2c6f0e-4a4c-4f43-9f3a-9a8f0e0d5a11",
        },
        "spec": {
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [
                {"caBundle": "LS0tLS1CRUdJTg==", "url": f"https://{name}.example.com:6443"}
            ],
            "taints": [
                {"effect": "NoSelect", "key": f"{OCM}/unreachable", "timeAdded": "2026-05-01T09:00:00Z"},
                *({"timeAdded": "2026-05-01T09:00:00Z", **taint} for taint in taints),
            ],
        },
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi"},
            "capacity": {"cpu": "8", "memory": "33Gi"},
            "clusterClaims": [
                {"name": "id.k8s.io", "value": name},
                {"name": "kubeversion.open-cluster-management.io", "value": "v1.31.2"},
                {"name": "platform.open-cluster-management.io", "value": "AWS"},
            ],
            "conditions": [
                {
                    "lastTransitionTime": "2026-03-01T08:15:30Z",
                    "message": "Accepted by hub cluster admin",
                    "reason": "HubClusterAdminAccepted",
                    "status": "True",
                    "type": "HubAcceptedManagedCluster",
                }
            ],
            "version": {"kubernetes": "v1.31.2"},
        },
    }


def cluster_set(name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{OCM}/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {
            "creationTimestamp": "2026-03-01T08:00:00Z",
            "generation": 1,
            "name": name,
            "resourceVersion": "700",
            "uid": "u",
        },
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        "status": {"conditions": []},
    }


def dynamic_scorer(name: str, *, interval: int = 30, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A scorer on a hub with the upstream addon, with the status that its controller writes."""
    config = {
        "name": name,
        "description": "Mean CPU",
        "scoring": {"path": "/scoring", "params": {"name": "sample_score", "interval": 30}},
    }
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": '{"kind":"DynamicScorer"}\n',
                "example.com/owner": "platform",
            },
            "creationTimestamp": "2026-03-01T08:15:30Z",
            "generation": 1,
            "labels": {"app.kubernetes.io/managed-by": "Helm", "team": "platform", **(labels or {})},
            "name": name,
            "namespace": "open-cluster-management",
            "resourceVersion": "4711",
            "uid": "0b7a3f1d",
        },
        "spec": {
            "configSyncMode": "None",
            "configURL": f"http://{name}.scorers.svc:8000/config",
            "description": "Mean of the CPU use in the last hour",
            "location": "Internal",
            "scoreDestination": "AddOnPlacementScore",
            "scoreDimensionFormat": "${scoreName}",
            "scoring": {
                "host": f"http://{name}.scorers.svc:8000",
                "params": {"interval": interval, "name": f"{name}_score"},
                "path": "/scoring",
            },
            "source": {
                "host": "http://prometheus.monitoring.svc:9090",
                "params": {
                    "query": 'sum(rate(node_cpu_seconds_total{mode!="idle"}[5m]))',
                    "range": 3600,
                    "step": 60,
                },
                "path": "/api/v1/query_range",
                "type": "Prometheus",
            },
        },
        "status": {"healthStatus": "Active", "lastSyncedConfig": config},
    }


def scoring_config(*masks: tuple[str, str], name: str = "dynamic-scoring-config") -> dict[str, Any]:
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {
            "finalizers": ["dynamic-scoring.open-cluster-management.io/cleanup"],
            "name": name,
            "namespace": "open-cluster-management",
        },
        "spec": {"masks": [{"clusterName": cluster, "scoreName": score} for cluster, score in masks]},
        "status": {},
    }
