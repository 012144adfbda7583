"""A hub in memory: objects as the API has them, decoded as the reconciler decodes them."""

import json
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.placements import PlacementSummary
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import cluster, placement, scorer


def raw(item: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(item).encode())


def made(
    name: str = "cpu", *, interval: int = 5, uid: str = "u", generation: int = 1, score: str = "", **spec: Any
) -> DynamicScorer:
    params = {"name": score or name, "interval": interval}
    whole = {"configURL": "http://a/config", "scoring": {"params": params}, "scoreTTLSeconds": 900, **spec}
    metadata = {"name": name, "namespace": "hub", "uid": uid, "generation": generation}
    return scorer(raw({"metadata": metadata, "spec": whole}))[1]


def managed_cluster(
    name: str, *, claims: dict[str, str] | None = None, deleting: bool = False, **labels: str
) -> ManagedCluster:
    status = {"clusterClaims": [{"name": key, "value": value} for key, value in (claims or {}).items()]}
    metadata = {
        "name": name,
        "labels": labels,
        **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}),
    }
    return cluster(raw({"metadata": metadata, "status": status}))[1]


def ranking(*pairs: tuple[str, str], uid: str = "p", predicates: Any = ()) -> PlacementSummary:
    configurations = [
        {
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": dimension}},
            "weight": 1,
        }
        for resource, dimension in pairs
    ]
    spec = {
        "predicates": list(predicates),
        "prioritizerPolicy": {"mode": "Exact", "configurations": configurations},
    }
    return placement(raw({"metadata": {"name": "web", "uid": uid}, "spec": spec}))[1]
