"""What a change does to objects as written and to rendered Placements, and how much else differs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.repository.model.apps import ScoredPlacementSpec
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fields import (
    ChangeKind,
    FieldChange,
    field_changes,
    written_metadata,
)
from gitops_dsf.views.preview.scorers import ScorerChange, altered

_PLACES: Final = ("repoURL", "chart", "path", "targetRevision", "destinationNamespace", "namespace")
"""Fields that say what is deployed and where. Of a new object only these are shown."""
_ITSELF: Final = "NAMESPACE/NAME"
_NOTES: Final = ("annotations", "labels")
_Contents = Mapping[tuple[str, str], Mapping[str, Any]]


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
        """The same without its own name, so that turning a pace on is one edit for all."""
        fields = (
            FieldChange(
                path=field.path.replace(f"/{self.placement}]", f"/{_ITSELF}]"),
                before=_ITSELF if field.before == self.placement else field.before,
                after=_ITSELF if field.after == self.placement else field.after,
            )
            for field in self.fields
        )
        names = (self.placement,)
        return SourceChange(kind="Placement", names=names, change=self.change, fields=tuple(fields))


def source_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[SourceChange, ...]:
    """What differs as people write it, by kind and name, with objects that change alike in one entry.

    Bindings that come and go are told of by `binding_changes`, also those that nobody wrote.
    """
    return alike(
        item
        for item in _changes(_written(base), _written(head), places=_PLACES)
        if item.kind != "ManagedClusterSetBinding" or item.change is ChangeKind.CHANGED
    )


def placement_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[PlacementChange, ...]:
    return tuple(
        PlacementChange(placement=item.names[0], change=item.change, fields=item.fields)
        for item in _changes(_rendered(base), _rendered(head))
    )


def binding_changes(base: CheckedFleet | None, head: CheckedFleet) -> tuple[SourceChange, ...]:
    """ManagedClusterSetBindings that come and go. One that stays never changes: its name says everything."""
    before = applied(base).bindings if base else frozenset[tuple[str, str]]()
    after = applied(head).bindings
    return tuple(
        SourceChange(
            kind="ManagedClusterSetBinding",
            names=tuple("/".join(key) for key in sorted(keys)),
            change=change,
            fields=(),
        )
        for change, keys in (
            (ChangeKind.ADDED, after - before),
            (ChangeKind.REMOVED, before - after),
        )
        if keys
    )


def alike(changes: Iterable[SourceChange]) -> tuple[SourceChange, ...]:
    """Puts equal edits of a kind together, in the order of the first, and objects that come or go."""
    found = defaultdict[object, list[SourceChange]](list)
    for item in changes:
        found[item.kind, item.change, msgspec.json.encode(item.fields)].append(item)
    return tuple(
        msgspec.structs.replace(same[0], names=tuple(name for item in same for name in item.names))
        for same in found.values()
    )


def _changes(
    before: _Contents, after: _Contents, *, places: Sequence[str] = ()
) -> Iterator[SourceChange]:
    """What differs. Of a new object only the fields of `places`."""
    for kind, name in sorted({*before, *after}):
        old, new = before.get((kind, name)), after.get((kind, name))
        if old == new:
            continue
        change = ChangeKind.of(old, new)
        fields = field_changes(old or {}, new) if new is not None else ()
        if old is None:
            fields = tuple(field for field in fields if field.path.rpartition(".")[2] in places)
        yield SourceChange(kind=kind, names=(name,), change=change, fields=fields)


def _written(fleet: CheckedFleet | None) -> _Contents:
    """Labels, annotations and specs by kind and name, with their defaults."""
    if fleet is None:
        return {}
    found: dict[tuple[str, str], dict[str, Any]] = {
        ("ScoredApplication", item.metadata.name): {
            "metadata": written_metadata(item.metadata),
            "spec": item.spec.model_dump(mode="json", by_alias=True),
        }
        for item in fleet.applications
    }
    for placement in fleet.placements:
        if isinstance(placement.ranking, ScoredPlacementSpec):
            found["ScoredPlacement", f"{placement.namespace}/{placement.name}"] = {
                "metadata": written_metadata(placement.written.value.metadata),
                "spec": placement.ranking.model_dump(mode="json", by_alias=True),
            }
    for document in fleet.carried:
        kind, metadata = document["kind"], document["metadata"]
        if kind != "Placement":  # shown as it is rendered
            found[kind, f"{metadata['namespace']}/{metadata['name']}"] = {
                "metadata": {name: metadata[name] for name in _NOTES if name in metadata},
                "spec": document["spec"],
            }
    return found


def _rendered(fleet: CheckedFleet | None) -> _Contents:
    return {
        ("Placement", key): {part: item[part] for part in ("metadata", "spec") if part in item}
        for key, item in (applied(fleet).placements if fleet else {}).items()
    }


class Count(Struct, frozen=True, kw_only=True):
    """Objects of one kind."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    total: int = 0

    @property
    def any(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class ClusterCount(Count, frozen=True, kw_only=True):
    """The inventory."""

    joined: tuple[str, ...]
    left: tuple[str, ...]
    edited: tuple[str, ...]
    """Clusters whose labels, taints or claims change in the inventory."""
    gaining: int
    """Clusters that gain a scorer."""
    losing: int
    """Clusters that lose a scorer."""
    altered: int
    """Clusters that keep a scorer whose scores change."""


class Summary(Struct, frozen=True, kw_only=True, rename="camel"):
    """The numbers."""

    scorers: Count
    clusters: ClusterCount
    works: Count
    placements: Count
    application_sets: Count
    other: Count
    """Everything else in rendered/: CRDs, RBAC, add-on, bindings, bootstrap."""

    @property
    def any(self) -> bool:
        counts: tuple[Count, ...] = msgspec.structs.astuple(self)
        return any(count.any for count in counts) or bool(
            self.clusters.gaining or self.clusters.losing
        )


def summarise_changes(
    base: CheckedFleet | None, head: CheckedFleet, scorers: tuple[ScorerChange, ...]
) -> Summary:
    """Counts what differs, file by file."""
    before = {item.metadata.name: item for item in base.clusters} if base else {}
    after = {item.metadata.name: item for item in head.clusters}
    ran, runs, none = base.runs_on if base else {}, head.runs_on, frozenset[str]()
    old, new = _by_group(base), _by_group(head)
    changes = Counter(item.change for item in scorers)
    return Summary(
        scorers=Count(
            **{str(change): changes[change] for change in ChangeKind}, total=len(head.scorers)
        ),
        clusters=ClusterCount(
            **msgspec.structs.asdict(_count(before, after)),
            joined=tuple(sorted(after.keys() - before.keys())),
            left=tuple(sorted(before.keys() - after.keys())),
            edited=tuple(sorted(_changed(before, after))),
            gaining=len(none.union(*(found - ran.get(name, none) for name, found in runs.items()))),
            losing=len(none.union(*(found - runs.get(name, none) for name, found in ran.items()))),
            altered=len(none.union(*(altered(item, base, head) for item in scorers))),
        ),
        works=_count(_works(base) if base else {}, _works(head)),
        placements=_count(old["placement"], new["placement"]),
        application_sets=_count(old["applicationset"], new["applicationset"]),
        other=_count(old["other"], new["other"]),
    )


def _count(old: Mapping[str, object], new: Mapping[str, object]) -> Count:
    added, removed = len(new.keys() - old.keys()), len(old.keys() - new.keys())
    return Count(added=added, removed=removed, changed=len(_changed(old, new)), total=len(new))


def _changed(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """The names whose values differ. Clusters share a few values, so each pair is compared once."""
    differ: dict[tuple[int, int], bool] = {}
    found = []
    for name in old.keys() & new.keys():
        pair = id(old[name]), id(new[name])
        if pair not in differ:
            differ[pair] = old[name] != new[name]
        if differ[pair]:
            found.append(name)
    return found


def _works(fleet: CheckedFleet) -> dict[str, object]:
    """ManifestWorks by file. One differs if its cluster's configuration does."""
    return {f"{work.shard}/{work.cluster}": work.configuration for work in fleet.works}


def _by_group(fleet: CheckedFleet | None) -> dict[str, dict[str, object]]:
    """Rendered objects by path, in groups. Scorers are counted separately."""
    found: dict[str, dict[str, object]] = {
        group: {} for group in ("placement", "applicationset", "dynamicscorer", "other")
    }
    for path, item in (applied(fleet).objects if fleet else {}).items():
        kind = path.rpartition("/")[2].partition(".")[0]
        found[kind if kind in found else "other"][path] = item
    return found
