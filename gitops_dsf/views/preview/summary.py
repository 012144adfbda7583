"""Numbers of a change: objects of each kind that are added, removed and changed."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from gitops_dsf.hub.scorerlist import INDEX_CONFIGMAP, PART_CONFIGMAPS
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.views.preview.applied import applied
from gitops_dsf.views.preview.fields import ChangeKind
from gitops_dsf.views.preview.scorers import ScorerChange, altered

_LISTS: Final = frozenset({INDEX_CONFIGMAP, *PART_CONFIGMAPS})
"""ConfigMaps that repeat the scorers, for the reconciler."""


class Count(Struct, frozen=True, kw_only=True):
    """Objects of one kind."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    total: int = 0

    @property
    def any(self) -> bool:
        """Whether an object comes, goes or changes."""
        return bool(self.added or self.removed or self.changed)


class ClusterCount(Count, frozen=True, kw_only=True):
    """The clusters of the inventory that are added, removed and changed: their number and names."""

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
    """The number of objects of each kind that are added, removed and changed."""

    scorers: Count
    clusters: ClusterCount
    works: Count
    placements: Count
    application_sets: Count
    other: Count
    """Everything else in rendered/: CRDs, RBAC, add-on, bindings, bootstrap."""

    @property
    def any(self) -> bool:
        """Whether anything comes, goes or changes, or runs on other clusters."""
        counts: tuple[Count, ...] = msgspec.structs.astuple(self)
        if any(count.any for count in counts):
            return True
        return bool(self.clusters.gaining or self.clusters.losing)


class _Values(NamedTuple):
    """The values of one repository that are counted, by name or path."""

    clusters: Mapping[str, object]
    works: Mapping[str, object]
    """Configurations of ManifestWorks, by shard and cluster."""
    placements: Mapping[str, object]
    application_sets: Mapping[str, object]
    other: Mapping[str, object]


def summarise_changes(
    base: CheckedFleet | None, head: CheckedFleet, scorers: tuple[ScorerChange, ...]
) -> Summary:
    """Counts what differs, file by file. Without a base, everything is new."""
    before = _values(base)
    after = _values(head)
    kinds = Counter(change.change for change in scorers)
    return Summary(
        scorers=Count(
            added=kinds[ChangeKind.ADDED],
            removed=kinds[ChangeKind.REMOVED],
            changed=kinds[ChangeKind.CHANGED],
            total=len(head.scorers),
        ),
        clusters=_cluster_count(before.clusters, after.clusters, base, head, scorers),
        works=_count(before.works, after.works),
        placements=_count(before.placements, after.placements),
        application_sets=_count(before.application_sets, after.application_sets),
        other=_count(before.other, after.other),
    )


def _cluster_count(
    before: Mapping[str, object],
    after: Mapping[str, object],
    base: CheckedFleet | None,
    head: CheckedFleet,
    scorers: tuple[ScorerChange, ...],
) -> ClusterCount:
    ran_on = {} if base is None else base.runs_on
    count = _count(before, after)
    altered_clusters: set[str] = set()
    for change in scorers:
        altered_clusters |= altered(change, base, head)
    return ClusterCount(
        added=count.added,
        removed=count.removed,
        changed=count.changed,
        total=count.total,
        joined=tuple(sorted(after.keys() - before.keys())),
        left=tuple(sorted(before.keys() - after.keys())),
        edited=tuple(sorted(_changed(before, after))),
        gaining=len(_only_in(head.runs_on, ran_on)),
        losing=len(_only_in(ran_on, head.runs_on)),
        altered=len(altered_clusters),
    )


def _only_in(
    one_side: Mapping[str, frozenset[str]], other_side: Mapping[str, frozenset[str]]
) -> set[str]:
    """Clusters on which a scorer runs on one side, and not on the other."""
    clusters: set[str] = set()
    for scorer, names in one_side.items():
        clusters |= names - other_side.get(scorer, frozenset())
    return clusters


def _count(before: Mapping[str, object], after: Mapping[str, object]) -> Count:
    return Count(
        added=len(after.keys() - before.keys()),
        removed=len(before.keys() - after.keys()),
        changed=len(_changed(before, after)),
        total=len(after),
    )


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """The names on both sides whose values differ."""
    # Thousands of clusters share a few configurations, so each pair of values is compared once.
    differs: dict[tuple[int, int], bool] = {}
    names = []
    for name in before.keys() & after.keys():
        # Both fleets keep their objects meanwhile, so that no `id` stands for two of them.
        pair = (id(before[name]), id(after[name]))
        if pair not in differs:
            differs[pair] = before[name] != after[name]
        if differs[pair]:
            names.append(name)
    return names


def _values(fleet: CheckedFleet | None) -> _Values:
    """The values of a repository; empty without one."""
    if fleet is None:
        return _Values({}, {}, {}, {}, {})
    placements = {}
    application_sets = {}
    other = {}
    for path, manifest in applied(fleet).objects.items():
        kind = path.rpartition("/")[2].partition(".")[0]
        if kind == "placement":
            placements[path] = manifest
        elif kind == "applicationset":
            application_sets[path] = manifest
        elif kind != "dynamicscorer" and manifest["metadata"]["name"] not in _LISTS:
            # Scorers are counted as people write them.
            other[path] = manifest
    return _Values(
        clusters={cluster.metadata.name: cluster for cluster in fleet.clusters},
        # A ManifestWork differs if its cluster's configuration does. Nothing is rendered for that.
        works={f"{work.shard}/{work.cluster}": work.configuration for work in fleet.works},
        placements=placements,
        application_sets=application_sets,
        other=other,
    )
