"""A ManagedCluster as CEL sees it.

It is not the stored JSON, but the form that Go makes of its type (DefaultUnstructuredConverter).
Unknown fields are gone, and so are `kind` and `apiVersion`, which typed clients drop. Fields
without `omitempty` are always present (`spec.hubAcceptsClient`, `status.conditions`,
`status.version`). Quantities have their canonical text. Source: api/cluster/v1/types.go,
metav1.ObjectMeta.
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
    return {"metadata": _metadata(metadata), "spec": _spec(spec), "status": _status(status)}


def _metadata(metadata: View) -> View:
    view = {key: metadata[key] for key in _METADATA if metadata.get(key)}
    for key in ("creationTimestamp", "deletionTimestamp"):
        if metadata.get(key):
            view[key] = _time(metadata[key])
    return view


def _spec(spec: View) -> View:
    # An expression may read a field without `omitempty` even if it was not written. So a missing
    # one must be here, or the expression would fail on the cluster here and not in OCM.
    view = {"hubAcceptsClient": False, **_some(spec)}
    for config in view.get("managedClusterClientConfigs", ()):
        config.setdefault("url", "")
    for taint in view.get("taints", ()):
        taint |= {"key": "", "effect": "", **taint, "timeAdded": _time(taint.get("timeAdded"))}
    return view


def _status(status: View) -> View:
    view = {"version": {}, **_some(status)}
    # Without `omitempty`, and a nil slice in Go: an expression sees null, not an empty list.
    conditions = status.get("conditions")
    view["conditions"] = conditions and list(map(_condition, conditions))
    for key in ("capacity", "allocatable"):
        if key in view:
            view[key] = _quantities(view[key])
    if "clusterClaims" in view:
        view["clusterClaims"] = list(map(_some, view["clusterClaims"]))
    for entry in view.get("managedNamespaces", ()):
        conditions = entry.pop("conditions", ())
        entry |= {"name": "", "clusterSet": "", **entry}
        if conditions:
            entry["conditions"] = list(map(_condition, conditions))
    return view


def _quantities(resources: View) -> View:
    """Resources with the canonical texts of their quantities. Others are left out."""
    view: View = {}
    for name, amount in resources.items():
        text = _quantity(amount)
        if text:
            view[name] = text
    return view


def _quantity(value: str | float) -> str:
    """The canonical text. It is empty for what is not a quantity, which counts as not reported."""
    try:
        return str(from_json(value))
    except QuantityError:
        return ""


def _condition(condition: View) -> View:
    view: View = {"type": "", "status": "", "reason": "", "message": ""}
    view |= _some(condition)
    view["lastTransitionTime"] = _time(condition.get("lastTransitionTime"))
    return view


def _some(source: View) -> View:
    """The fields that are not empty (`omitempty`)."""
    return {key: value for key, value in source.items() if value}


def _time(value: object) -> str | None:
    """metav1.Time: seconds in UTC; null if it is zero."""
    if not value:
        return None
    return timestamp(datetime.fromisoformat(str(value)))
