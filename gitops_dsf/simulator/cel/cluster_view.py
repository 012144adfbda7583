"""A ManagedCluster as CEL sees it: not the stored JSON but what Go makes of its type
(DefaultUnstructuredConverter).

Unknown fields are gone, and so are `kind` and `apiVersion` (typed clients drop them). Fields without
`omitempty` are always present (`spec.hubAcceptsClient`, `status.conditions`, `status.version`). Quantities
have their canonical text. Source: api/cluster/v1/types.go, metav1.ObjectMeta.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.timestamp import timestamp
from gitops_dsf.simulator.quantity import QuantityError, from_json

View = dict[str, Any]
_METADATA = ("name", "uid", "generation", "labels", "annotations", "ownerReferences", "finalizers")
"""The other fields are not read from a hub; `limits` refuses expressions that name them."""


def cluster_view(cluster: ManagedCluster) -> View:
    """The value of the variable `managedCluster`."""
    document = msgspec.json.decode(msgspec.json.encode(cluster))
    metadata, spec, status = (document.get(part) or {} for part in ("metadata", "spec", "status"))
    shown = _set(metadata, *_METADATA)
    for key in ("creationTimestamp", "deletionTimestamp"):
        if metadata.get(key):
            shown[key] = _time(metadata[key])
    return {"metadata": shown, "spec": _spec(spec), "status": _status(status)}


def _spec(spec: Mapping[str, Any]) -> View:
    shown: View = {"hubAcceptsClient": bool(spec.get("hubAcceptsClient"))}
    if spec.get("leaseDurationSeconds"):
        shown["leaseDurationSeconds"] = spec["leaseDurationSeconds"]
    if spec.get("managedClusterClientConfigs"):
        shown["managedClusterClientConfigs"] = [
            {"url": config.get("url") or "", **_set(config, "caBundle")}
            for config in spec["managedClusterClientConfigs"]
        ]
    if spec.get("taints"):
        shown["taints"] = [
            {
                "key": taint.get("key") or "",
                "effect": taint.get("effect") or "",
                "timeAdded": _time(taint.get("timeAdded")),
                **_set(taint, "value"),
            }
            for taint in spec["taints"]
        ]
    return shown


def _status(status: Mapping[str, Any]) -> View:
    conditions = status.get("conditions")
    shown: View = {
        "conditions": None if conditions is None else [_condition(condition) for condition in conditions],
        "version": _set(status.get("version") or {}, "kubernetes"),
    }
    for key in ("capacity", "allocatable"):
        if status.get(key):
            shown[key] = {
                resource: text for resource, value in status[key].items() if (text := _quantity(value))
            }
    if status.get("clusterClaims"):
        shown["clusterClaims"] = [_set(claim, "name", "value") for claim in status["clusterClaims"]]
    if status.get("managedNamespaces"):
        shown["managedNamespaces"] = [
            {
                "name": entry.get("name") or "",
                "clusterSet": entry.get("clusterSet") or "",
                **(
                    {"conditions": [_condition(condition) for condition in entry["conditions"]]}
                    if entry.get("conditions")
                    else {}
                ),
            }
            for entry in status["managedNamespaces"]
        ]
    return shown


def _quantity(value: str | float) -> str:
    """The canonical text; empty for what is no quantity, which then counts as not reported."""
    try:
        return str(from_json(value))
    except QuantityError:
        return ""


def _condition(condition: Mapping[str, Any]) -> View:
    shown: View = {key: condition.get(key) or "" for key in ("type", "status", "reason", "message")}
    shown["lastTransitionTime"] = _time(condition.get("lastTransitionTime"))
    return shown | _set(condition, "observedGeneration")


def _set(source: Mapping[str, Any], *keys: str) -> View:
    """The fields that are not empty (`omitempty`)."""
    return {key: source[key] for key in keys if source.get(key)}


def _time(text: str | None) -> str | None:
    """metav1.Time: seconds in UTC; null if it is zero."""
    return timestamp(datetime.fromisoformat(text)) if text else None
