"""Target clusters: where each scorer should run, by what the hub knows of its clusters, of the agents'
add-on, and of masks.

The same selectors and masks as the generator's (`resolve.targets`), over the clusters that are there instead
of the inventory in git.
"""

from collections.abc import Mapping
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.labels import LabelIndex
from gitops_dsf.hub.masks import Mask, masked_clusters
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.selectors import lenient_selector

_NONE: Final[frozenset[str]] = frozenset()


class TargetClusters:
    """The fleet at one moment. Questions are answered from indexes, so asking for hundreds of scorers is
    cheap.

    Without `addons` (they could not be read) every cluster may have an agent; without `masks` (the hub does
    not have them) a cluster where nothing is published may be masked.
    """

    def __init__(
        self,
        *,
        clusters: Mapping[str, ManagedCluster],
        addons: Mapping[str, ManagedClusterAddOn] | None,
        masks: tuple[Mask, ...] | None,
    ) -> None:
        self._clusters = LabelIndex(
            {name: item.labels for name, item in clusters.items() if not item.deleting}
        )
        self.masks = masks
        self._off = [
            (
                mask.score_name,
                masked_clusters(
                    self._clusters,
                    name=mask.cluster_name,
                    selector=None
                    if mask.cluster_selector is None
                    else lenient_selector(mask.cluster_selector),
                ),
            )
            for mask in masks or ()
        ]
        staying = {name: item.created for name, item in (addons or {}).items() if not item.deleting}
        self._addons = staying
        present = self._clusters.everything
        self._since = {
            name: max(clusters[name].created, staying.get(name, 0.0))
            for name in (present if addons is None else present & staying.keys())
        }
        self._agents = frozenset(self._since)

    @property
    def agents(self) -> frozenset[str]:
        """Clusters that stay and have the agent's add-on."""
        return self._agents

    @property
    def masks_known(self) -> bool:
        """Whether the hub has the masks."""
        return self.masks is not None

    def since(self, cluster: str) -> float:
        """When the cluster and its add-on were both there: seconds since 1970."""
        return self._since.get(cluster, 0.0)

    def masked(self, score_name: str) -> frozenset[str]:
        """Clusters that masks keep a score off."""
        return frozenset().union(
            *(clusters for pattern, clusters in self._off if matches(score_name, pattern))
        )

    def selected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters with an agent that the scorer's selector names, masked or not."""
        selector = scorer.spec.selector
        return (
            self._agents
            if selector is None
            else self._clusters.select(lenient_selector(selector)) & self._agents
        )

    def expected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters where a scorer should run and publish; none when it is suspended in git or publishes
        nothing.
        """
        if scorer.spec.suspend or not scorer.publishes:
            return _NONE
        return self.selected(scorer) - self.masked(scorer.score_name)

    def holds_for_cluster(self, name: str, item: ManagedCluster | None) -> bool:
        """Whether a change of a cluster leaves the targets as they are: heartbeats and resources do."""
        known = self._clusters.labels.get(name)
        if item is None or item.deleting:
            return known is None
        return known is not None and known == item.labels

    def holds_for_addon(self, cluster: str, item: ManagedClusterAddOn | None) -> bool:
        """Whether a change of an add-on leaves the targets as they are: its health does."""
        return self._addons.get(cluster) == (None if item is None or item.deleting else item.created)
