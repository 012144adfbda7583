"""Counts what a change affects: scorers, clusters, works, Placements and the other rendered objects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_dsf.views.preview.fields import FieldChange, field_changes
from gitops_dsf.views.preview.scorers import Change, ScorerChange
from gitops_dsf.views.preview.sources import alike, same_edit
from gitops_dsf.views.preview.version import FleetVersion


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """Objects of one kind."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    total: int = 0
    """The number after the change."""

    @property
    def any(self) -> bool:
        """Whether anything differs."""
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacementChange:
    """The change of one Placement."""

    placement: str
    change: Change
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The numbers."""

    scorers: Count
    clusters: Count
    """The inventory."""
    joined: tuple[str, ...]
    """Clusters that join the inventory, sorted."""
    left: tuple[str, ...]
    """Clusters that leave the inventory, sorted."""
    edited: tuple[str, ...]
    """Clusters whose labels, taints or claims change in the inventory."""
    gaining: int
    """Clusters that gain a scorer."""
    losing: int
    """Clusters that lose a scorer."""
    altered: int
    """Clusters that keep a scorer whose scores change."""
    works: Count
    placements: Count
    application_sets: Count
    other: Count
    """Everything else in rendered/: CRDs, RBAC, add-on, bindings, bootstrap."""

    @property
    def any(self) -> bool:
        """Whether anything that is rendered, or the inventory, differs."""
        counts = (self.scorers, self.clusters, self.works, self.placements, self.application_sets, self.other)
        return any(count.any for count in counts) or bool(self.gaining or self.losing)


def placement_changes(base: FleetVersion | None, head: FleetVersion) -> tuple[PlacementChange, ...]:
    """Returns Placements that differ, in order of name."""
    before = base.placements if base else {}
    found = []
    for key in sorted({*before, *head.placements}):
        old, new = before.get(key), head.placements.get(key)
        if old == new:
            continue
        change = Change.ADDED if old is None else Change.REMOVED if new is None else Change.CHANGED
        fields = field_changes(_content(old), _content(new)) if old and new else ()
        found.append(PlacementChange(placement=key, change=change, fields=fields))
    return tuple(found)


def placements_alike(changes: Iterable[PlacementChange]) -> list[list[PlacementChange]]:
    """Placements with equal changes together."""
    return alike(changes, lambda item: same_edit(item.change, item.fields))


def summarise_changes(
    base: FleetVersion | None, head: FleetVersion, scorers: tuple[ScorerChange, ...]
) -> Summary:
    """Counts what differs, file by file."""
    files = _by_group(base, head)
    before = base.cluster_names if base else frozenset()
    joined, left, edited = (
        tuple(sorted(head.cluster_names - before)),
        tuple(sorted(before - head.cluster_names)),
        _edited(base, head),
    )
    gaining, losing = _targets(base, head)
    return Summary(
        scorers=Count(
            added=sum(item.change is Change.ADDED for item in scorers),
            removed=sum(item.change is Change.REMOVED for item in scorers),
            changed=sum(item.change is Change.CHANGED for item in scorers),
            total=len(head.scorers),
        ),
        clusters=Count(
            added=len(joined), removed=len(left), changed=len(edited), total=len(head.cluster_names)
        ),
        joined=joined,
        left=left,
        edited=edited,
        gaining=gaining,
        losing=losing,
        altered=len({cluster for item in scorers for cluster in item.altered}),
        works=_works(base, head),
        placements=files["placement"],
        application_sets=files["applicationset"],
        other=files["other"],
    )


def _content(item: Mapping[str, object] | None) -> dict[str, object]:
    return {} if item is None else {key: value for key, value in item.items() if key in {"metadata", "spec"}}


def _edited(base: FleetVersion | None, head: FleetVersion) -> tuple[str, ...]:
    before = {item.metadata.name: item for item in base.resolved.clusters} if base else {}
    return tuple(
        sorted(
            item.metadata.name
            for item in head.resolved.clusters
            if before.get(item.metadata.name, item) != item
        )
    )


def _targets(base: FleetVersion | None, head: FleetVersion) -> tuple[int, int]:
    """How many clusters gain a scorer, and how many lose one, with those that join or leave the inventory."""
    old, new = base.resolved.targets if base else {}, head.resolved.targets
    names = {*old, *new}
    gaining = sum(not set(new.get(name, ())) <= set(old.get(name, ())) for name in names)
    losing = sum(not set(old.get(name, ())) <= set(new.get(name, ())) for name in names)
    return gaining, losing


def _works(base: FleetVersion | None, head: FleetVersion) -> Count:
    """ManifestWorks by file. One differs if its cluster's configuration does; thousands of clusters share a
    few configurations.
    """
    old = {(work.shard, work.cluster): work.configuration for work in base.plan.works} if base else {}
    new = {(work.shard, work.cluster): work.configuration for work in head.plan.works}
    same: dict[tuple[int, int], bool] = {}
    changed = 0
    for key in old.keys() & new.keys():
        pair = (id(old[key]), id(new[key]))
        if pair not in same:
            same[pair] = old[key] == new[key]
        changed += not same[pair]
    return Count(
        added=len(new.keys() - old.keys()),
        removed=len(old.keys() - new.keys()),
        changed=changed,
        total=len(new),
    )


def _by_group(base: FleetVersion | None, head: FleetVersion) -> dict[str, Count]:
    old, new = (base.objects if base else {}), head.objects
    found: dict[str, Count] = {}
    for group in ("placement", "applicationset", "other"):
        before = {path for path in old if _group(path) == group}
        after = {path for path in new if _group(path) == group}
        changed = sum(old[path] != new[path] for path in before & after)
        found[group] = Count(
            added=len(after - before), removed=len(before - after), changed=changed, total=len(after)
        )
    return found


def _group(path: str) -> str:
    kind = path.rpartition("/")[2].partition(".")[0]
    if kind in {"placement", "applicationset"}:
        return kind
    # Scorers are counted separately.
    return "counted" if kind == "dynamicscorer" else "other"
