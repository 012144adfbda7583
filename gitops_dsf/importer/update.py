"""Updates the fields of a document that follow the hub, and leaves the others as they are."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.importer.manifest import ImportedObject
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
"""The fields that follow the hub, by kind."""


def differing(document: Mapping[str, Any], value: ImportedObject) -> list[tuple[str, ...]]:
    """The paths of the fields that differ. Plain data is compared, which is fast."""
    paths: list[tuple[str, ...]] = []
    for path in _FIELDS[str(document["kind"])]:
        if not _agree(path, value_at(document, path), value_at(value, path)):
            paths.append(path)
    return paths


def update(target: CommentedMap, value: ImportedObject) -> list[str]:
    """Edits the fields that follow the hub in place. Returns the changes in words."""
    changes: list[str] = []
    for path in differing(target, value):
        *parents, last = path
        holder = target
        for part in parents:
            # The file may leave out the field, or have another value than an object in its place.
            if not isinstance(holder.get(part), CommentedMap):
                holder[part] = CommentedMap()
            holder = holder[part]
        wanted = dict(holder)
        new = value_at(value, path)
        if new is None:
            wanted.pop(last, None)
        else:
            wanted[last] = new
        changes += mirror(holder, wanted, path="".join(f"{part}." for part in parents))
    return changes


def _agree(path: tuple[str, ...], old: Any, new: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    """Whether a field in git means what the hub has."""
    if path[-1] == "hubAcceptsClient":
        # It defaults to true here, so a true value is not a reason to write it.
        return (old is not False) is new
    # An empty list in git says that there are none, and an absent one says nothing.
    return (old is None) is (new is None) and alike(old, new)
