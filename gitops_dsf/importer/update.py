"""Updates the fields of a document that follow the hub. All other fields are left to its author."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.importer.manifest import Object
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.yamledit import alike, mirror, same

_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "ManagedCluster": (
        ("metadata", "labels"),
        ("spec", "taints"),
        ("status", "clusterClaims"),
        ("status", "allocatable"),
        ("status", "capacity"),
    ),
    "ManagedClusterSet": (("spec", "clusterSelector"),),
    "DynamicScorer": (("spec",),),
    "DynamicScoringConfig": (("spec",),),
}
"""The fields that are compared and updated."""


def may_differ(document: Mapping[str, Any], value: Object) -> bool:
    """Whether `update` could find a change. It is fast, because it compares plain data."""
    if document["kind"] == "ManagedCluster":
        spec = document.get("spec")
        accepted = spec.get("hubAcceptsClient", True) if isinstance(spec, Mapping) else True
        if accepted is not value["spec"]["hubAcceptsClient"]:
            return True
    pairs = ((value_at(document, path), value_at(value, path)) for path in _FIELDS[str(document["kind"])])
    return any((old is None) is not (new is None) or not alike(old, new) for old, new in pairs)


def update(target: CommentedMap, value: Object) -> list[str]:
    """Edits the fields that follow the hub in place. Returns the changes in words."""
    changes: list[str] = []
    for path in _FIELDS[str(target["kind"])]:
        *parents, last = path
        new = value_at(value, path)
        old = value_at(target, path)
        if (new is None and old is None) or (new is not None and old is not None and same(old, new)):
            continue
        holder = target
        for part in parents:
            if not isinstance(holder.get(part), CommentedMap):
                holder[part] = CommentedMap()
            holder = holder[part]
        manifest_part = (
            {**holder, last: new}
            if new is not None
            else {key: item for key, item in holder.items() if key != last}
        )
        changes += mirror(holder, manifest_part, path="".join(f"{part}." for part in parents))
    if target["kind"] == "ManagedCluster":
        changes += _accepted(target, accepted=value["spec"]["hubAcceptsClient"])
    return changes


def _accepted(target: CommentedMap, *, accepted: bool) -> list[str]:
    """HubAcceptsClient defaults to true here, so a true value alone is no reason to write it."""
    spec = target.get("spec")
    if (spec.get("hubAcceptsClient", True) if isinstance(spec, Mapping) else True) is accepted:
        return []
    if not isinstance(spec, CommentedMap):
        target["spec"] = CommentedMap()
    target["spec"]["hubAcceptsClient"] = accepted
    return [f"spec.hubAcceptsClient: {str(not accepted).lower()} -> {str(accepted).lower()}"]
