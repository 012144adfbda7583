"""Converts an object of the hub to the manifest that git should hold.

It takes the fields that people decide, without those that controllers report. Raises
RepositoryError for objects that do not have the shape of their kind.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.argocd.steering import steers
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.names import MAINTENANCE_TAINT, OCM_GROUP
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.repository.model.base import DNS_SUBDOMAIN, DSF_API, OLDER_DSF_API
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME

OCM_TAINTS: Final = (f"{OCM_GROUP}/unavailable", f"{OCM_GROUP}/unreachable")
"""Taints that OCM adds and removes itself (docs/contributing/behaviour.md#taints-that-ocm-sets)."""
_PASSING_TAINTS: Final = (*OCM_TAINTS, MAINTENANCE_TAINT)
"""Taints that the inventory does not keep: the reconciler takes its own away when a maintenance
ends.
"""
_TOOL_METADATA: Final = (
    "kubectl.kubernetes.io/",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
)
"""Prefixes of labels and annotations that say which tool applied an object."""

ImportedObject = dict[str, Any]
"""A manifest for git."""
_Build = Callable[[Mapping[str, Any], ImportSelection], ImportedObject | None]


def manifest(data: Mapping[str, Any], selection: ImportSelection) -> ImportedObject | None:
    """The manifest of an object; None for what git does not hold. Raises RepositoryError."""
    build = _BUILDS.get((str(data.get("apiVersion")), str(data.get("kind"))))
    return None if build is None else build(data, selection)


def why_not_taken(data: Mapping[str, Any]) -> str:
    """The reason why `manifest` gives None for an object of a kind that git holds."""
    kind = str(data.get("kind"))
    version = str(data.get("apiVersion"))
    # Built-in sets are the other ones without a manifest, which callers do not report.
    if (version, kind) in _BUILDS:
        return f"only the {kind} {SINGLETON_NAME} counts"
    first = next(read for read, read_kind in _BUILDS if read_kind == kind)
    group, _, newest = first.partition("/")
    return (
        f"its apiVersion is {version}, and {first} is read; `kubectl get"
        f" {kind.lower()}s.{newest}.{group}` prints that"
    )


def name_of(data: Mapping[str, Any]) -> str:
    """metadata.name. It becomes part of a path: RepositoryError is raised unless it is a name."""
    name = _mapping(data, "metadata").get("name")
    if not isinstance(name, str) or len(name) > 253 or not re.fullmatch(DNS_SUBDOMAIN, name):
        raise RepositoryError(
            f"{data.get('kind')}: metadata.name {name!r} is not the name of an object"
        )
    return name


def is_rendered(data: Mapping[str, Any]) -> bool:
    """Whether the object was rendered from a fleet repository, so that git has its source."""
    labels = _mapping(_mapping(data, "metadata"), "labels")
    return labels.get(MANAGED_BY_LABEL) == GENERATOR_MANAGER


def authored_metadata(data: Mapping[str, Any], field: str) -> dict[str, str]:
    """The labels or annotations of an object that people wrote."""
    kept: dict[str, str] = {}
    for key, value in _mapping(_mapping(data, "metadata"), field).items():
        # Metadata that steered Argo CD on the hub is not for the object that it applies from git.
        if not key.startswith(_TOOL_METADATA) and not steers(key):
            kept[key] = value
    return kept


def _cluster(data: Mapping[str, Any], selection: ImportSelection) -> ImportedObject:
    labels = _mapping(_mapping(data, "metadata"), "labels")
    spec = _mapping(data, "spec")
    status = _mapping(data, "status")
    cluster = _named(data)
    kept_labels = {name: labels[name] for name in sorted(labels) if selection.takes_label(name)}
    # Empty fields are left out: in git they would mean that there is nothing, which was not
    # written.
    if kept_labels:
        cluster["metadata"]["labels"] = kept_labels
    cluster["spec"] = {"hubAcceptsClient": bool(spec.get("hubAcceptsClient"))}
    taints = _taints(spec)
    if taints:
        cluster["spec"]["taints"] = taints
    # The simulator and the rules of `validate` read these parts of a cluster's status.
    kept_status: ImportedObject = {}
    claims = _claims(status, selection)
    if claims:
        kept_status["clusterClaims"] = claims
    if selection.resources:
        for field in ("allocatable", "capacity"):
            amounts = dict(_mapping(status, field))
            if amounts:
                kept_status[field] = amounts
    if kept_status:
        cluster["status"] = kept_status
    return cluster


def _taints(spec: Mapping[str, Any]) -> list[ImportedObject]:
    """The taints of a cluster that stay, without the times at which they were added."""
    taints = []
    for taint in _objects(spec, "taints"):
        if taint.get("key") in _PASSING_TAINTS:
            continue
        kept: ImportedObject = {}
        for field in ("key", "value", "effect"):
            if taint.get(field):
                kept[field] = taint[field]
        taints.append(kept)
    return taints


def _claims(status: Mapping[str, Any], selection: ImportSelection) -> list[ImportedObject]:
    """The claims of a cluster that are taken, by name: the hub keeps no order."""
    claims = []
    for claim in _objects(status, "clusterClaims"):
        name = str(claim.get("name"))
        if selection.takes_claim(name):
            claims.append({"name": name, "value": str(claim.get("value", ""))})
    return sorted(claims, key=lambda claim: claim["name"])


def _cluster_set(data: Mapping[str, Any], _: ImportSelection) -> ImportedObject | None:
    # OCM makes `default` and `global` itself.
    if name_of(data) in BUILT_IN_SETS:
        return None
    cluster_set = _named(data)
    selector = _mapping(_mapping(data, "spec"), "clusterSelector")
    if selector:
        cluster_set["spec"] = {"clusterSelector": _without_nulls(selector)}
    return cluster_set


def _scorer(data: Mapping[str, Any], _: ImportSelection) -> ImportedObject:
    scorer = _named(data)
    scorer["apiVersion"] = DSF_API
    scorer["spec"] = _without_nulls(_mapping(data, "spec"))
    for field in ("labels", "annotations"):
        kept = authored_metadata(data, field)
        if kept:
            scorer["metadata"][field] = kept
    return scorer


def _scoring_config(data: Mapping[str, Any], selection: ImportSelection) -> ImportedObject | None:
    return _scorer(data, selection) if name_of(data) == SINGLETON_NAME else None


def _named(data: Mapping[str, Any]) -> ImportedObject:
    """The beginning of a manifest."""
    return {
        "apiVersion": data["apiVersion"],
        "kind": data["kind"],
        "metadata": {"name": name_of(data)},
    }


def _without_nulls(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A copy without nulls, as the API server stores objects. Nulls of free-form arguments stay."""
    if isinstance(value, Mapping):
        copy = {}
        for key, content in value.items():
            if content is not None:
                copy[key] = content if key == "arguments" else _without_nulls(content)
        return copy
    if isinstance(value, list):
        return [_without_nulls(element) for element in value]
    return value


def _mapping(data: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A field that is an object; empty if it is absent. Raises RepositoryError."""
    value = data.get(field)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RepositoryError(f"{data.get('kind', 'object')}: {field} must be an object")
    return value


def _objects(data: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """A field that is a list of objects; empty if it is absent. Raises RepositoryError."""
    value = data.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(element, Mapping) for element in value):
        raise RepositoryError(f"{field} must be a list of objects")
    return value


# Below the functions that it names. Of two versions the newer comes first: it is named in messages.
_BUILDS: Final[Mapping[tuple[str, str], _Build]] = {
    (f"{OCM_GROUP}/v1", "ManagedCluster"): _cluster,
    (f"{OCM_GROUP}/v1beta2", "ManagedClusterSet"): _cluster_set,
    (DSF_API, "DynamicScorer"): _scorer,
    (DSF_API, "DynamicScoringConfig"): _scoring_config,
    (OLDER_DSF_API, "DynamicScorer"): _scorer,
    (OLDER_DSF_API, "DynamicScoringConfig"): _scoring_config,
}
