"""Clusters of the inventory, and which of them selectors and sets mean."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.cluster import BUILT_IN_SETS, CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet

NOBODY: frozenset[str] = frozenset()


class Fleet:
    """The inventory by name, indexed by label: a thousand applications ask the same few questions of thousands of clusters."""

    def __init__(self, *, clusters: Mapping[str, ManagedCluster], sets: Mapping[str, ManagedClusterSet]) -> None:
        self.clusters = clusters
        self.sets = sets
        self.everyone = frozenset(clusters)
        self._labelled = _index(clusters)
        self._selected: dict[str, frozenset[str]] = {}
        self._members: dict[str, frozenset[str]] = {}

    def selected(self, selector: LabelSelector | None) -> frozenset[str]:
        """Clusters whose labels fit; every cluster without a selector."""
        if selector is None:
            return self.everyone
        key = selector.model_dump_json()
        if key not in self._selected:
            self._selected[key] = self._select(selector)
        return self._selected[key]

    def knows_set(self, name: str) -> bool:
        """Whether a ManagedClusterSet is in the inventory or is one of those that OCM creates itself."""
        return name in self.sets or name in BUILT_IN_SETS

    def members(self, names: Iterable[str]) -> frozenset[str]:
        """Clusters of any of these sets (docs/contributing/ocm-behaviour.md#members-of-cluster-sets).

        Clusters without a set label are in the set `default`, as OCM's registration webhook labels them so.
        """
        found = NOBODY
        for name in names:
            if name not in self._members:
                self._members[name] = self._members_of(name)
            members = self._members[name]
            found = members if not found else found | members
        return found

    def values(self, key: str) -> list[str]:
        """Values of a label that clusters of the inventory have."""
        return sorted({value for name, value in self._labelled if name == key})

    def _select(self, selector: LabelSelector) -> frozenset[str]:
        found = self.everyone
        for pair in selector.match_labels.items():
            found = found & self._labelled.get(pair, NOBODY)
        if not selector.match_expressions:
            return found
        return frozenset(name for name in found if selector.matches(self.clusters[name].metadata.labels))

    def _members_of(self, name: str) -> frozenset[str]:
        declared = self.sets.get(name)
        if declared is None:
            return self.everyone if name == "global" else self._exclusive(name)
        chosen = declared.spec.cluster_selector
        if chosen.selector_type == "LabelSelector":
            return self.selected(chosen.label_selector) if chosen.label_selector is not None else NOBODY
        return self._exclusive(name)

    def _exclusive(self, name: str) -> frozenset[str]:
        found = self._labelled.get((CLUSTER_SET_LABEL, name), NOBODY)
        if name != "default":
            return found
        return found | {cluster for cluster, value in self.clusters.items() if CLUSTER_SET_LABEL not in value.metadata.labels}


def _index(clusters: Mapping[str, ManagedCluster]) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name, cluster in clusters.items():
        for pair in cluster.metadata.labels.items():
            found[pair].add(name)
    return {pair: frozenset(names) for pair, names in found.items()}
