"""Clusters of the inventory, and which of them selectors and sets mean."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_dsf.model.base import LabelSelector
from gitops_dsf.model.cluster import BUILT_IN_SETS, CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Fleet:
    """The inventory by name."""

    clusters: Mapping[str, ManagedCluster]
    sets: Mapping[str, ManagedClusterSet]

    def selected(self, selector: LabelSelector | None) -> frozenset[str]:
        """Clusters whose labels fit; every cluster without a selector."""
        if selector is None:
            return frozenset(self.clusters)
        return frozenset(name for name, cluster in self.clusters.items() if selector.matches(cluster.metadata.labels))

    def knows_set(self, name: str) -> bool:
        """Whether a ManagedClusterSet is in the inventory or is one of those that OCM creates itself."""
        return name in self.sets or name in BUILT_IN_SETS

    def members(self, name: str) -> frozenset[str]:
        """Clusters of a set (ocm.md 2.1): by exclusive label, or by the set's selector, where none selects nothing.

        Clusters without a set label are in the set `default`, as the registration webhook labels them so.
        """
        declared = self.sets.get(name)
        if declared is None:
            if name == "global":
                return frozenset(self.clusters)
            return self._labelled(name)
        chosen = declared.spec.cluster_selector
        if chosen.selector_type == "LabelSelector":
            return self.selected(chosen.label_selector) if chosen.label_selector is not None else frozenset()
        return self._labelled(name)

    def _labelled(self, name: str) -> frozenset[str]:
        found = {cluster for cluster, value in self.clusters.items() if value.metadata.labels.get(CLUSTER_SET_LABEL, "default") == name}
        return frozenset(found)
