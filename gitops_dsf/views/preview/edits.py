"""Changes of objects as people write them, of rendered Placements, and of bindings.

Objects that change alike share one entry: turning on a pace edits thousands of Placements in the
same way, and a reader wants to see that once.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Struct

from gitops_dsf.hub.pace import PACE_ANNOTATION, PacedRanking
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.scored_placement import ScoredPlacementSpec
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fields import (
    ChangeKind,
    FieldChange,
    field_changes,
    written_metadata,
)

_DEPLOYMENT_FIELDS: Final = frozenset(
    {"repoURL", "chart", "path", "targetRevision", "destinationNamespace", "namespace"}
)
"""Fields that say what is deployed and where.

Of a new object only these are shown, and those below `_RANKING_FIELDS`.
"""
_RANKING_FIELDS: Final = re.compile(
    r"spec\.(placement\.|scores\[|stickiness$|numberOfClusters$|clusterSe(ts|lector)\b)"
)
"""Paths of fields that say which clusters an application may use, and how they are ranked."""
PACE_FIELD: Final = f"metadata.annotations.{PACE_ANNOTATION}"
"""The field that every paced Placement has, and no other one."""
_METADATA_FIELDS: Final = ("annotations", "labels")
_ITSELF: Final = "NAMESPACE/NAME"
"""Stands for the name of the object that is edited."""

_Contents = Mapping[tuple[str, str], Mapping[str, Any]]
"""The compared contents of objects, by kind and name."""


class SourceChange(Struct, frozen=True, kw_only=True):
    """An equal edit of one or more objects of a kind."""

    kind: str
    names: tuple[str, ...]
    """The objects, sorted; those of a namespace that people wrote as `namespace/name`."""
    change: ChangeKind
    fields: tuple[FieldChange, ...]


class PlacementChange(Struct, frozen=True, kw_only=True):
    """The change of one rendered Placement."""

    placement: str
    change: ChangeKind
    fields: tuple[FieldChange, ...]

    @property
    def edit(self) -> SourceChange:
        """The change as one that other Placements can share: without its own name and revision."""
        return SourceChange(
            kind="Placement",
            names=(self.placement,),
            change=self.change,
            fields=tuple(_of_any_placement(field, self.placement) for field in self.fields),
        )


def source_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[SourceChange, ...]:
    """Changes as people write them, by kind and name, with equal edits in one entry.

    Bindings that are added or removed are left out: `binding_changes` names them, including those
    that are only rendered.
    """
    changes = _changes(_written(base), _written(head), shown_if_new=_is_shown_if_new)
    return grouped(filter(_is_written_change, changes))


def placement_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[PlacementChange, ...]:
    """The rendered Placements that differ, by name. A new one has no fields here."""
    changes = _changes(_rendered(base), _rendered(head), shown_if_new=_is_never_shown)
    return tuple(map(_placement_change, changes))


def _placement_change(edit: SourceChange) -> PlacementChange:
    return PlacementChange(placement=edit.names[0], change=edit.change, fields=edit.fields)


def binding_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[SourceChange, ...]:
    """ManagedClusterSetBindings that come and go.

    One that stays never changes, because its name says everything.
    """
    # All that come are one entry, and all that go: a name says everything about a binding.
    before = frozenset[tuple[str, str]]() if base is None else applied(base).bindings
    after = applied(head).bindings
    changes = []
    for kind, keys in ((ChangeKind.ADDED, after - before), (ChangeKind.REMOVED, before - after)):
        if keys:
            names = tuple("/".join(key) for key in sorted(keys))
            change = SourceChange(
                kind="ManagedClusterSetBinding", names=names, change=kind, fields=()
            )
            changes.append(change)
    return tuple(changes)


def grouped(changes: Iterable[SourceChange]) -> tuple[SourceChange, ...]:
    """Puts equal edits of a kind together, in the order of the first of each."""
    groups = defaultdict[object, list[SourceChange]](list)
    for change in changes:
        # Values of fields may be lists, which cannot be keys of a dict. Their JSON can.
        fields = msgspec.json.encode(change.fields)
        groups[change.kind, change.change, fields].append(change)
    return tuple(map(_joined, groups.values()))


def _is_written_change(change: SourceChange) -> bool:
    """Whether it is more than a binding that is added or removed.

    A binding that people wrote may still get other labels or annotations.
    """
    return change.kind != "ManagedClusterSetBinding" or change.change is ChangeKind.CHANGED


def _joined(same: list[SourceChange]) -> SourceChange:
    names = chain.from_iterable(change.names for change in same)
    return msgspec.structs.replace(same[0], names=tuple(names))


def _of_any_placement(field: FieldChange, name: str) -> FieldChange:
    """The change of a field, without what every Placement has for itself."""
    if field.path == PACE_FIELD:
        return FieldChange(
            path=field.path,
            before=_without_revision(field.before),
            after=_without_revision(field.after),
        )
    # A paced Placement reads items of moves that have its own name.
    return FieldChange(
        path=field.path.replace(f"/{name}]", f"/{_ITSELF}]"),
        before=_ITSELF if field.before == name else field.before,
        after=_ITSELF if field.after == name else field.after,
    )


def _without_revision(annotation: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    """The annotation of a pace without the revision of its verification, which is a digest."""
    # The digest differs for each application, and would keep equal edits apart.
    if not isinstance(annotation, str):
        return annotation
    try:
        ranking = msgspec.json.decode(annotation, type=PacedRanking)
    except msgspec.DecodeError:
        return annotation
    if ranking.verification is None:
        return annotation
    verification = msgspec.structs.replace(ranking.verification, revision="")
    paced = msgspec.structs.replace(ranking, verification=verification)
    return msgspec.json.encode(paced).decode()


def _changes(
    before: _Contents, after: _Contents, *, shown_if_new: Callable[[FieldChange], bool]
) -> Iterator[SourceChange]:
    """The changes, by kind and name. `shown_if_new` chooses the fields of a new object."""
    for kind, name in sorted({*before, *after}):
        old = before.get((kind, name))
        new = after.get((kind, name))
        if old == new:
            continue
        # The fields of a removed object add nothing to its name.
        fields: tuple[FieldChange, ...] = ()
        if new is not None:
            fields = field_changes(old or {}, new)
        if old is None:
            fields = tuple(filter(shown_if_new, fields))
        change = ChangeKind.of(old, new)
        yield SourceChange(kind=kind, names=(name,), change=change, fields=fields)


def _is_shown_if_new(field: FieldChange) -> bool:
    """Whether a field of a new object shows what it deploys, where, and why there.

    Empty defaults do not.
    """
    if field.path.rpartition(".")[2] in _DEPLOYMENT_FIELDS:
        return True
    if _RANKING_FIELDS.match(field.path) is None:
        return False
    # A stickiness of 0 is shown: every better cluster then moves the application.
    return bool(field.after) or field.path == "spec.stickiness"


def _is_never_shown(_field: FieldChange) -> bool:
    return False


def _written(fleet: CheckedFleet | None) -> _Contents:
    """Labels, annotations and specs of what people write, with their defaults."""
    if fleet is None:
        return {}
    contents: dict[tuple[str, str], Mapping[str, Any]] = {}
    repository = fleet.repository
    contents["FleetRepository", repository.metadata.name] = {
        "metadata": written_metadata(repository.metadata),
        "spec": repository.spec.model_dump(mode="json", by_alias=True),
    }
    for application in fleet.applications:
        contents["ScoredApplication", application.metadata.name] = {
            "metadata": written_metadata(application.metadata),
            "spec": application.spec.model_dump(mode="json", by_alias=True),
        }
    for placement in fleet.placements:
        # The Placement of a ScoredApplication is written as a part of that.
        if isinstance(placement.ranking, ScoredPlacementSpec):
            contents["ScoredPlacement", placement.key] = {
                "metadata": written_metadata(placement.declared.value.metadata),
                "spec": placement.ranking.model_dump(mode="json", by_alias=True),
            }
    for document in fleet.carried:
        # A Placement that people wrote by hand is shown among the rendered ones.
        if document["kind"] != "Placement":
            metadata = document["metadata"]
            contents[document["kind"], f"{metadata['namespace']}/{metadata['name']}"] = {
                "metadata": _parts(metadata, _METADATA_FIELDS),
                "spec": document["spec"],
            }
    return contents


def _rendered(fleet: CheckedFleet | None) -> _Contents:
    """Metadata and specs of Placements as Argo CD applies them."""
    if fleet is None:
        return {}
    parts: dict[tuple[str, str], Mapping[str, Any]] = {}
    for key, manifest in applied(fleet).placements.items():
        parts["Placement", key] = _parts(manifest, ("metadata", "spec"))
    return parts


def _parts(values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    return {name: values[name] for name in names if name in values}
