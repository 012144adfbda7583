"""The output of `kubectl get -o yaml` for objects of a hub.

With everything that controllers add, in kubectl's order and indentation.
"""

from collections.abc import Sequence
from typing import Any

import yaml

Object = dict[str, Any]
OCM = "cluster.open-cluster-management.io"
DSF = "dynamic-scoring.open-cluster-management.io/v1alpha1"


class _Kubectl(yaml.CSafeDumper):
    """Go's YAML: keys sorted, lists not indented below their key."""


def printed(objects: Sequence[Object]) -> str:
    """Returns one object, or several as a List, as kubectl prints them."""
    listing = {
        "apiVersion": "v1",
        "items": list(objects),
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return yaml.dump(objects[0] if len(objects) == 1 else listing, Dumper=_Kubectl, sort_keys=True)


def _stored(
    version: str, kind: str, name: str, *, meta: Object | None = None, **rest: Any
) -> Object:
    """With what the API server writes into metadata."""
    fields = {
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}},
        "manager": "somebody",
    }
    metadata = {
        "creationTimestamp": "2026-03-01T08:15:30Z",
        "generation": 2,
        "managedFields": [fields],
        "name": name,
        "resourceVersion": "81723",
        "uid": "3f2c6f0e-4a4c-4f43-9f3a-9a8f0e0d5a11",
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata | (meta or {}), **rest}


def managed_cluster(
    name: str, *, labels: dict[str, str] | None = None, taints: Sequence[dict[str, str]] = ()
) -> Object:
    """A cluster that joined a while ago and lost its connection."""
    meta = {
        "annotations": {"agent.open-cluster-management.io/klusterlet-config": "default"},
        "finalizers": [f"{OCM}/api-resource-cleanup"],
        "labels": {
            "clusterID": "6a1c6e6b-9d6a-4b1e-8c55-0b7a3f1d2c3e",
            f"{OCM}/clusterset": "fleet",
            "feature.open-cluster-management.io/addon-gitops-dsf-agent": "available",
            **(labels or {}),
        },
    }
    lost = {"effect": "NoSelect", "key": f"{OCM}/unreachable"}
    client = {"caBundle": "LS0tLS1CRUdJTg==", "url": f"https://{name}.example.com:6443"}
    spec = {
        "hubAcceptsClient": True,
        "leaseDurationSeconds": 60,
        "managedClusterClientConfigs": [client],
        "taints": [{"timeAdded": "2026-05-01T09:00:00Z", **taint} for taint in (lost, *taints)],
    }
    claims = {
        "id.k8s.io": name,
        "kubeversion.open-cluster-management.io": "v1.31.2",
        "platform.open-cluster-management.io": "AWS",
    }
    accepted = {
        "lastTransitionTime": "2026-03-01T08:15:30Z",
        "message": "Accepted by hub cluster admin",
        "reason": "HubClusterAdminAccepted",
        "status": "True",
        "type": "HubAcceptedManagedCluster",
    }
    status = {
        "allocatable": {"cpu": "8", "memory": "32Gi"},
        "capacity": {"cpu": "8", "memory": "33Gi"},
        "clusterClaims": [{"name": key, "value": value} for key, value in claims.items()],
        "conditions": [accepted],
        "version": {"kubernetes": "v1.31.2"},
    }
    return _stored(f"{OCM}/v1", "ManagedCluster", name, meta=meta, spec=spec, status=status)


def cluster_set(name: str) -> Object:
    spec = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
    return _stored(
        f"{OCM}/v1beta2", "ManagedClusterSet", name, spec=spec, status={"conditions": []}
    )


def dynamic_scorer(
    name: str, *, interval: int = 30, labels: dict[str, str] | None = None
) -> Object:
    """A scorer on a hub with the upstream add-on, with the status that its controller writes."""
    applied = '{"kind":"DynamicScorer"}\n'
    meta = {
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": applied,
            "example.com/owner": "platform",
        },
        "labels": {"app.kubernetes.io/managed-by": "Helm", "team": "platform", **(labels or {})},
        "namespace": "open-cluster-management",
    }
    host, query = (
        f"http://{name}.scorers.svc:8000",
        'sum(rate(node_cpu_seconds_total{mode!="idle"}[5m]))',
    )
    spec = {
        "configSyncMode": "None",
        "configURL": f"{host}/config",
        "description": "Mean of the CPU use in the last hour",
        "location": "Internal",
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${scoreName}",
        "scoring": {
            "host": host,
            "params": {"interval": interval, "name": f"{name}_score"},
            "path": "/scoring",
        },
        "source": {
            "host": "http://prometheus.monitoring.svc:9090",
            "params": {"query": query, "range": 3600, "step": 60},
            "path": "/api/v1/query_range",
            "type": "Prometheus",
        },
    }
    scoring = {"path": "/scoring", "params": {"name": "sample_score", "interval": 30}}
    config = {"name": name, "description": "Mean CPU", "scoring": scoring}
    status = {"healthStatus": "Active", "lastSyncedConfig": config}
    return _stored(DSF, "DynamicScorer", name, meta=meta, spec=spec, status=status)


def scoring_config(*masks: tuple[str, str]) -> Object:
    meta = {
        "finalizers": ["dynamic-scoring.open-cluster-management.io/cleanup"],
        "namespace": "open-cluster-management",
    }
    spec = {"masks": [{"clusterName": cluster, "scoreName": score} for cluster, score in masks]}
    return _stored(
        DSF, "DynamicScoringConfig", "dynamic-scoring-config", meta=meta, spec=spec, status={}
    )
