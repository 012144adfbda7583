"""What a change does to ScoredApplications, ScoredPlacements and ApplicationSets as people write them. Equal
edits are one.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from gitops_dsf.repository.model.scored_placement import ScoredPlacementSpec
from gitops_dsf.views.preview.fields import FieldChange, field_changes
from gitops_dsf.views.preview.scorers import Change
from gitops_dsf.views.preview.version import FleetVersion

Item = TypeVar("Item")
_PLACES: Final = frozenset(
    {"repoURL", "chart", "path", "targetRevision", "destinationNamespace", "namespace"}
)
"""Fields that say what is deployed and where. Of a new object only these are shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceChange:
    """An equal edit of one or more objects of a kind."""

    kind: str
    names: tuple[str, ...]
    """The objects, sorted; those of a namespace that people wrote as `namespace/name`."""
    change: Change
    fields: tuple[FieldChange, ...]


def source_changes(base: FleetVersion | None, head: FleetVersion) -> tuple[SourceChange, ...]:
    """Returns the objects that differ, by kind and name, with those that change alike in one entry."""
    before, after = (_written(base) if base else {}), _written(head)
    found: list[SourceChange] = []
    for kind, name in sorted({*before, *after}):
        old, new = before.get((kind, name)), after.get((kind, name))
        if old == new:
            continue
        change = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
        fields = field_changes({"spec": old or {}}, {"spec": new}) if new is not None else ()
        if old is None:
            fields = tuple(field for field in fields if field.path.rpartition(".")[2] in _PLACES)
        found.append(SourceChange(kind=kind, names=(name,), change=change, fields=fields))
    return tuple(
        SourceChange(
            kind=first.kind,
            names=tuple(name for item in (first, *others) for name in item.names),
            change=first.change,
            fields=first.fields,
        )
        for first, *others in alike(found, lambda item: (item.kind, same_edit(item.change, item.fields)))
    )


def alike(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Puts items with equal keys together, in the order of the first of each."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())


def same_edit(change: Change, fields: Sequence[FieldChange]) -> Hashable:
    """A key that is equal for equal edits. Whole objects that come or go are equal, too."""
    return str(change), msgspec.json.encode([(field.path, field.before, field.after) for field in fields])


def _written(fleet: FleetVersion) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The specs by kind and name, with their defaults."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {
        ("ScoredApplication", item.name): item.declared.spec.model_dump(mode="json", by_alias=True)
        for item in fleet.resolved.applications
    }
    for placement in fleet.resolved.placements:
        if isinstance(placement.ranking, ScoredPlacementSpec):
            name = f"{placement.namespace}/{placement.name}"
            found["ScoredPlacement", name] = placement.ranking.model_dump(mode="json", by_alias=True)
    for item in fleet.resolved.raw_documents:
        if item.kind == "ApplicationSet":
            found[item.kind, f"{item.namespace}/{item.name}"] = item.data["spec"]
    return found
