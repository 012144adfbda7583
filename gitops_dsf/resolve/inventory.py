"""The clusters of the inventory: matches of selectors and sets, and their names in series."""

from collections.abc import Iterable, Mapping

from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.names import CLUSTER_SET_LABEL
from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS, ManagedCluster, ManagedClusterSet

NO_CLUSTERS: frozenset[str] = frozenset()


class ClusterInventory:
    """Clusters and sets by name, indexed by label.

    Answers are cached: applications share selectors.
    """

    def __init__(
        self, *, clusters: Mapping[str, ManagedCluster], sets: Mapping[str, ManagedClusterSet]
    ) -> None:
        self.clusters = clusters
        self.sets = sets
        self.labels = LabelIndex(
            {name: cluster.metadata.labels for name, cluster in clusters.items()}
        )
        self.all_clusters = self.labels.everything
        self._claims: LabelIndex[str] | None = None
        self._members: dict[str, frozenset[str]] = {}

    def selected(self, selector: LabelSelector | None) -> frozenset[str]:
        """Names of clusters whose labels match; all clusters if there is no selector."""
        return self.all_clusters if selector is None else self.labels.select(selector.compiled)

    def described_by(self, kind: str) -> LabelIndex[str]:
        """The clusters by what templates know of them: `labels` or `claims`."""
        if kind == "labels":
            return self.labels
        if self._claims is None:
            by_cluster = {}
            for name, cluster in self.clusters.items():
                claims = cluster.status.cluster_claims
                by_cluster[name] = {claim.name: claim.value for claim in claims}
            self._claims = LabelIndex(by_cluster)
        return self._claims

    def knows_set(self, name: str) -> bool:
        """Whether a ManagedClusterSet is in the inventory, or is one that OCM creates itself."""
        return name in self.sets or name in BUILT_IN_SETS

    def members(self, names: Iterable[str]) -> frozenset[str]:
        """Clusters of any of these sets (docs/contributing/behaviour.md#members-of-cluster-sets).

        Clusters without a set label, or with an empty one, are in the set `default`, because OCM's
        registration webhook labels them so.
        """
        clusters = NO_CLUSTERS
        for name in names:
            if name not in self._members:
                self._members[name] = self._members_of(name)
            members = self._members[name]
            # Most name one set: its members are not copied.
            clusters = members if not clusters else clusters | members
        return clusters

    def values(self, key: str) -> list[str]:
        """The values of a label on clusters of the inventory, sorted."""
        return sorted(self.labels.by_value(key))

    def _members_of(self, name: str) -> frozenset[str]:
        declared = self.sets.get(name)
        if declared is None:
            # A hub has the sets `default` and `global` without anybody writing them.
            return self.all_clusters if name == "global" else self._exclusive(name)
        selector = declared.spec.cluster_selector
        if selector.selector_type != "LabelSelector":
            return self._exclusive(name)
        # OCM 1.2.1 selects nothing by an absent label selector, and everything by an empty one.
        if selector.label_selector is None:
            return NO_CLUSTERS
        return self.selected(selector.label_selector)

    def _exclusive(self, name: str) -> frozenset[str]:
        """The members of a set to which clusters belong by the label of sets."""
        labelled = self.labels.carrying(CLUSTER_SET_LABEL, name)
        return labelled | self.unlabelled if name == "default" else labelled

    @property
    def unlabelled(self) -> frozenset[str]:
        """Clusters that no label puts into a set: OCM's webhook puts them into `default`."""
        labelled = self.labels.carrying_any(CLUSTER_SET_LABEL)
        return (self.all_clusters - labelled) | self.labels.carrying(CLUSTER_SET_LABEL, "")


def identity_of(cluster: ManagedCluster, identity: str) -> str | None:
    """The value of a cluster for ClusterLabel.identity; None if it has none."""
    if not identity:
        return cluster.metadata.name
    kind, _, name = identity.partition(":")
    if kind == "label":
        # Series with an empty label are those of every cluster that has none.
        return cluster.metadata.labels.get(name) or None
    for claim in cluster.status.cluster_claims:
        if claim.name == name and claim.value:
            return claim.value
    return None
