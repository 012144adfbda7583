"""A ManagedCluster as CEL sees it.

It is not the stored JSON but what Go makes of its type (DefaultUnstructuredConverter). Unknown fields
are gone, and so are `kind` and `apiVersion`, which typed clients drop. Fields without `omitempty` are
always present (`spec.hubAcceptsClient`, `status.conditions`, `status.version`). Quantities have their
canonical text. Source: api/cluster/v1/types.go, metav1.ObjectMeta.
"""

from datetime import datetime
from typing import Any

import msgspec

from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.times import timestamp
from gitops_dsf.simulator.quantity import QuantityError, from_json

View = dict[str, Any]
_METADATA = ("name", "uid", "generation", "labels", "annotations", "ownerReferences", "finalizers")
"""Other fields are not read from a hub, and `limits` refuses expressions that name them."""


def cluster_view(cluster: ManagedCluster) -> View:
    """The value of the variable `managedCluster`."""
    document = msgspec.json.decode(msgspec.json.encode(cluster))
    metadata = document.get("metadata") or {}
    spec = document.get("spec") or {}
    status = document.get("status") or {}
    shown = {key: metadata[key] for key in _METADATA if metadata.get(key)}
    for key in ("creationTimestamp", "deletionTimestamp"):
        if metadata.get(key):
            shown[key] = _time(metadata[key])
    return {"metadata": shown, "spec": _spec(spec), "status": _status(status)}


def _spec(spec: View) -> View:
    shown = {"hubAcceptsClient": False, **_some(spec)}
    for config in shown.get("managedClusterClientConfigs", ()):
        config.setdefault("url", "")
    for taint in shown.get("taints", ()):
        taint |= {"key": "", "effect": "", **taint, "timeAdded": _time(taint.get("timeAdded"))}
    return shown


def _status(status: View) -> View:
    conditions = status.get("conditions")
    shown = {
        "version": {},
        **_some(status),
        "conditions": conditions and [*map(_condition, conditions)],
    }
    for key in ("capacity", "allocatable"):
        if key in shown:
            texts = {name: _quantity(value) for name, value in shown[key].items()}
            shown[key] = {name: text for name, text in texts.items() if text}
    if "clusterClaims" in shown:
        shown["clusterClaims"] = [_some(claim) for claim in shown["clusterClaims"]]
    for entry in shown.get("managedNamespaces", ()):
        conditions = entry.pop("conditions", ())
        entry |= {"name": "", "clusterSet": "", **entry}
        if conditions:
            entry["conditions"] = [_condition(condition) for condition in conditions]
    return shown


def _quantity(value: str | float) -> str:
    """The canonical text. It is empty for what is not a quantity, which counts as not reported."""
    try:
        return str(from_json(value))
    except QuantityError:
        return ""


def _condition(condition: View) -> View:
    shown = dict.fromkeys(("type", "status", "reason", "message"), "") | _some(condition)
    return shown | {"lastTransitionTime": _time(condition.get("lastTransitionTime"))}


def _some(source: View) -> View:
    """The fields that are not empty (`omitempty`)."""
    return {key: value for key, value in source.items() if value}


def _time(value: object) -> str | None:
    """metav1.Time: seconds in UTC; null if it is zero."""
    return timestamp(datetime.fromisoformat(str(value))) if value else None
