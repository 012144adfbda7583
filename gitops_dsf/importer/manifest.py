"""Converts an object of the hub to the manifest that git should hold: what people decide, without what
controllers report. Pure.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.names import MAINTENANCE_TAINT, OCM_GROUP
from gitops_dsf.importer.selection import Selection
from gitops_dsf.repository.model.base import DNS_SUBDOMAIN, DSF_API, OLDER_DSF_API
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME

Object = dict[str, Any]

OCM_TAINTS: Final = (f"{OCM_GROUP}/unavailable", f"{OCM_GROUP}/unreachable")
"""Taints that OCM adds and removes itself (docs/contributing/behaviour.md#taints-that-ocm-sets)."""
_PASSING_TAINTS: Final = (*OCM_TAINTS, MAINTENANCE_TAINT)
"""Those that the inventory does not keep: the reconciler takes its own away when a maintenance ends."""

_TOOL_METADATA: Final = (
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
)


def manifest(data: Mapping[str, Any], selection: Selection) -> Object | None:
    """Returns the manifest of an object; None for kinds and objects that git does not hold. Raises
    RepositoryError for a malformed object.
    """
    build = _KINDS.get((str(data.get("apiVersion")), str(data.get("kind"))))
    return None if build is None else build(data, selection)


def name_of(data: Mapping[str, Any]) -> str:
    """The value of metadata.name. It becomes part of a path, so anything but a Kubernetes name is an error.
    Raises RepositoryError.
    """
    found = _mapping(data, "metadata").get("name")
    if not isinstance(found, str) or len(found) > 253 or not re.fullmatch(DNS_SUBDOMAIN, found):
        raise RepositoryError(f"{data.get('kind')}: metadata.name {found!r} is not the name of an object")
    return found


def is_rendered(data: Mapping[str, Any]) -> bool:
    """Whether the object was rendered from a fleet repository, so that git has its source."""
    labels = _mapping(_mapping(data, "metadata"), "labels")
    return labels.get(MANAGED_BY_LABEL) == GENERATOR_MANAGER


def _cluster(data: Mapping[str, Any], selection: Selection) -> Object:
    labels = _mapping(_mapping(data, "metadata"), "labels")
    spec, status = _mapping(data, "spec"), _mapping(data, "status")
    result = _object(data)
    if taken := {key: value for key, value in sorted(labels.items()) if selection.takes_label(key)}:
        result["metadata"]["labels"] = taken
    result["spec"] = {"hubAcceptsClient": bool(spec.get("hubAcceptsClient"))}
    taints = [
        {key: taint[key] for key in ("key", "value", "effect") if taint.get(key)}
        for taint in _list(spec, "taints")
        if taint.get("key") not in _PASSING_TAINTS
    ]
    if taints:
        result["spec"]["taints"] = taints
    claims = [
        {"name": str(claim.get("name")), "value": str(claim.get("value", ""))}
        for claim in _list(status, "clusterClaims")
        if selection.takes_claim(str(claim.get("name")))
    ]
    known: Object = {"clusterClaims": sorted(claims, key=lambda claim: claim["name"])}
    if selection.resources:
        known |= {field: dict(_mapping(status, field)) for field in ("allocatable", "capacity")}
    if known := {field: value for field, value in known.items() if value}:
        result["status"] = known
    return result


def _cluster_set(data: Mapping[str, Any], _: Selection) -> Object | None:
    if name_of(data) in BUILT_IN_SETS:
        return None
    selector = _mapping(_mapping(data, "spec"), "clusterSelector")
    return _object(data) | ({"spec": {"clusterSelector": _plain(selector)}} if selector else {})


def _scorer(data: Mapping[str, Any], _: Selection) -> Object:
    result = _object(data) | {"apiVersion": DSF_API, "spec": _plain(_mapping(data, "spec"))}
    for field in ("labels", "annotations"):
        written = _mapping(_mapping(data, "metadata"), field)
        if kept := {key: value for key, value in written.items() if not key.startswith(_TOOL_METADATA)}:
            result["metadata"][field] = kept
    return result


def _scoring_config(data: Mapping[str, Any], selection: Selection) -> Object | None:
    return _scorer(data, selection) if name_of(data) == SINGLETON_NAME else None


def _object(data: Mapping[str, Any]) -> Object:
    return {"apiVersion": data["apiVersion"], "kind": data["kind"], "metadata": {"name": name_of(data)}}


_KINDS: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any], Selection], Object | None]]] = {
    (f"{OCM_GROUP}/v1", "ManagedCluster"): _cluster,
    (f"{OCM_GROUP}/v1beta2", "ManagedClusterSet"): _cluster_set,
    (DSF_API, "DynamicScorer"): _scorer,
    (DSF_API, "DynamicScoringConfig"): _scoring_config,
    (OLDER_DSF_API, "DynamicScorer"): _scorer,
    (OLDER_DSF_API, "DynamicScoringConfig"): _scoring_config,
}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Returns a copy without fields that are null, as the API server stores objects. Nulls of free-form
    arguments stay.
    """
    if isinstance(value, Mapping):
        return {
            key: item if key == "arguments" else _plain(item)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _mapping(data: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = data.get(field)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise RepositoryError(f"{data.get('kind', 'object')}: {field} must be an object")
    return found


def _list(data: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    found = data.get(field)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise RepositoryError(f"{field} must be a list of objects")
    return found
