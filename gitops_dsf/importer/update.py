"""Updates the fields of a document that follow the hub. All other fields are left to its author."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.importer.manifest import Object
from gitops_dsf.repository.load import value_at
from gitops_dsf.repository.yamledit import alike, mirror

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
"""The fields that are compared and updated."""


def differing(document: Mapping[str, Any], value: Object) -> list[tuple[str, ...]]:
    """The paths of the fields that differ. Plain data is compared, which is fast."""
    return [
        path
        for path in _FIELDS[str(document["kind"])]
        if not _agree(path, value_at(document, path), value_at(value, path))
    ]


def _agree(path: tuple[str, ...], old: Any, new: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    if path[-1] == "hubAcceptsClient":  # it defaults to true here, so a true value is no reason to write it
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
