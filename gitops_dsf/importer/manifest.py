"""Converts an object of the hub to the manifest that git should hold.

It takes what people decide, without what controllers report, and updates the fields of a document
that follow the hub.

A label without a domain belongs to its user (Kubernetes, "Labels and Selectors": automated
components must use a prefix), so it is taken. Labels with a domain are written by controllers and
change by themselves, as `feature.open-cluster-management.io/addon-*` does when an agent is late. Of
those, only labels that decide placements or that a selector of the repository names are taken.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.argocd.steering import steers
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.names import CLUSTER_SET_LABEL, MAINTENANCE_TAINT, OCM_GROUP
from gitops_dsf.repository.load import Document, value_at
from gitops_dsf.repository.model.base import DNS_SUBDOMAIN, DSF_API, OLDER_DSF_API
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME
from gitops_dsf.repository.yamledit import alike, mirror

Object = dict[str, Any]


LABELS: Final = (CLUSTER_SET_LABEL, "topology.kubernetes.io/*")
"""Labels with a domain that are always taken."""

VOLATILE_LABELS: Final = ("clusterID", "name", "openshiftVersion", "openshiftVersion-*")
"""Labels of OCM's distributions without a domain: they repeat the name, or change with upgrades."""

CLAIMS: Final = (
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
    "region.open-cluster-management.io",
)
"""Claims that describe what a cluster is, and not its current version."""


@dataclass(frozen=True, kw_only=True)
class ImportSelection:
    """Globs of further label and claim names to take, and whether to take resources."""

    labels: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    resources: bool = False
    """Allocatable and capacity, which change with every node. Few prioritizers use them."""

    def takes_label(self, name: str) -> bool:
        if _matches(name, self.labels) or _matches(name, LABELS):
            return True
        return "/" not in name and not _matches(name, VOLATILE_LABELS)

    def takes_claim(self, name: str) -> bool:
        return _matches(name, self.claims) or name in CLAIMS

    def and_asked_for(self, documents: Iterable[Document]) -> "ImportSelection":
        """This selection, and what selectors name or scorers on the hub recognise clusters by."""
        labels: set[str] = set()
        claims: set[str] = set()
        for document in documents:
            if document.kind == "DynamicScorer":
                for kind, names in (("claim", claims), ("label", labels)):
                    name = value_at(document.data, ("spec", "source", "clusterLabel", kind))
                    names.update([name] if isinstance(name, str) else ())
            if document.kind != "ManagedCluster":
                for field, selector in _selectors(document.data):
                    (claims if field == "claimSelector" else labels).update(_keys(selector))
        return self.and_names(labels=labels, claims=claims)

    def and_names(
        self, *, labels: Iterable[str], claims: Iterable[str], resources: bool = False
    ) -> "ImportSelection":
        return ImportSelection(
            labels=(*self.labels, *sorted(map(_literal, labels))),
            claims=(*self.claims, *sorted(map(_literal, claims))),
            resources=self.resources or resources,
        )


OCM_TAINTS: Final = (f"{OCM_GROUP}/unavailable", f"{OCM_GROUP}/unreachable")
"""Taints that OCM adds and removes itself (docs/contributing/behaviour.md#taints-that-ocm-sets)."""
_PASSING_TAINTS: Final = (*OCM_TAINTS, MAINTENANCE_TAINT)
"""Those that the inventory does not keep: the reconciler takes its own away when a maintenance
ends.
"""

_TOOL_METADATA: Final = (
    "kubectl.kubernetes.io/",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/instance",
)


def manifest(data: Mapping[str, Any], selection: ImportSelection) -> Object | None:
    """The manifest of an object; None for what git does not hold. Raises RepositoryError."""
    build = _KINDS.get((str(data.get("apiVersion")), str(data.get("kind"))))
    return None if build is None else build(data, selection)


def why_not_taken(data: Mapping[str, Any]) -> str:
    """Why `manifest` gives None for an object of a kind that git holds."""
    kind, version = str(data.get("kind")), str(data.get("apiVersion"))
    read = [known for known, other in _KINDS if other == kind]
    if version in read:
        return f"only the {kind} {SINGLETON_NAME} counts"
    group, _, newest = read[0].partition("/")
    plural = f"{kind.lower()}s.{newest}.{group}"
    return f"its apiVersion is {version}, and {read[0]} is read; `kubectl get {plural}` prints that"


def name_of(data: Mapping[str, Any]) -> str:
    """metadata.name. It becomes part of a path: RepositoryError is raised unless it is a name."""
    found = _mapping(data, "metadata").get("name")
    if not isinstance(found, str) or len(found) > 253 or not re.fullmatch(DNS_SUBDOMAIN, found):
        raise RepositoryError(
            f"{data.get('kind')}: metadata.name {found!r} is not the name of an object"
        )
    return found


def is_rendered(data: Mapping[str, Any]) -> bool:
    """Whether the object was rendered from a fleet repository, so that git has its source."""
    labels = _mapping(_mapping(data, "metadata"), "labels")
    return labels.get(MANAGED_BY_LABEL) == GENERATOR_MANAGER


def _cluster(data: Mapping[str, Any], selection: ImportSelection) -> Object:
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


def _cluster_set(data: Mapping[str, Any], _: ImportSelection) -> Object | None:
    if name_of(data) in BUILT_IN_SETS:
        return None
    selector = _mapping(_mapping(data, "spec"), "clusterSelector")
    return _object(data) | ({"spec": {"clusterSelector": _plain(selector)}} if selector else {})


def _scorer(data: Mapping[str, Any], _: ImportSelection) -> Object:
    result = _object(data) | {"apiVersion": DSF_API, "spec": _plain(_mapping(data, "spec"))}
    for field in ("labels", "annotations"):
        written = _mapping(_mapping(data, "metadata"), field)
        kept = {
            key: value
            for key, value in written.items()
            if not (key.startswith(_TOOL_METADATA) or steers(key))
        }
        if kept:
            result["metadata"][field] = kept
    return result


def _scoring_config(data: Mapping[str, Any], selection: ImportSelection) -> Object | None:
    return _scorer(data, selection) if name_of(data) == SINGLETON_NAME else None


def _object(data: Mapping[str, Any]) -> Object:
    return {
        "apiVersion": data["apiVersion"],
        "kind": data["kind"],
        "metadata": {"name": name_of(data)},
    }


_KINDS: Final[
    Mapping[tuple[str, str], Callable[[Mapping[str, Any], ImportSelection], Object | None]]
] = {
    (f"{OCM_GROUP}/v1", "ManagedCluster"): _cluster,
    (f"{OCM_GROUP}/v1beta2", "ManagedClusterSet"): _cluster_set,
    (DSF_API, "DynamicScorer"): _scorer,
    (DSF_API, "DynamicScoringConfig"): _scoring_config,
    (OLDER_DSF_API, "DynamicScorer"): _scorer,
    (OLDER_DSF_API, "DynamicScoringConfig"): _scoring_config,
}


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A copy without nulls, as the API server stores objects. Nulls of free-form arguments stay."""
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


def _selectors(value: Any, field: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 - whatever YAML holds
    """Every mapping that looks like a label or claim selector, with the name of its field."""
    if isinstance(value, Mapping):
        if "matchLabels" in value or "matchExpressions" in value:
            yield field, value
        for key, item in value.items():
            yield from _selectors(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _selectors(item, field)


def _keys(selector: Mapping[str, Any]) -> Iterator[str]:
    labels, terms = selector.get("matchLabels"), selector.get("matchExpressions")
    if isinstance(labels, Mapping):
        yield from labels
    for term in terms if isinstance(terms, list) else ():
        if isinstance(term, Mapping) and isinstance(term.get("key"), str):
            yield term["key"]


def _matches(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _literal(name: str) -> str:
    """Escapes a name as a glob that matches nothing else."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "ManagedCluster": (
        ("metadata", "labels"),
        ("spec", "taints"),
        ("status", "clusterClaims"),
        ("status", "allocatable"),
        ("status", "capacity"),
        ("spec", "hubAcceptsClient"),
    ),
    "ManagedClusterSet": (("spec", "clusterSelector"),),
    "DynamicScorer": (("spec",),),
    "DynamicScoringConfig": (("spec",),),
}


def differing(document: Mapping[str, Any], value: Object) -> list[tuple[str, ...]]:
    """The paths of the fields that differ. Plain data is compared, which is fast."""
    return [
        path
        for path in _FIELDS[str(document["kind"])]
        if not _agree(path, value_at(document, path), value_at(value, path))
    ]


def _agree(path: tuple[str, ...], old: Any, new: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    if (
        path[-1] == "hubAcceptsClient"
    ):  # it defaults to true here, so a true value is no reason to write it
        return (old is not False) is new
    return (old is None) is (new is None) and alike(old, new)


def update(target: CommentedMap, value: Object) -> list[str]:
    """Edits the fields that follow the hub in place. Returns the changes in words."""
    changes: list[str] = []
    for path in differing(target, value):
        *parents, last = path
        holder = target
        for part in parents:
            if not isinstance(holder.get(part), CommentedMap):
                holder[part] = CommentedMap()
            holder = holder[part]
        wanted = {key: item for key, item in holder.items() if key != last}
        if (new := value_at(value, path)) is not None:
            wanted = {**holder, last: new}
        changes += mirror(holder, wanted, path="".join(f"{part}." for part in parents))
    return changes
