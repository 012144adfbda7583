"""Where each scorer should run, by what the hub knows: its clusters, where the agent is installed, and the masks. Pure.

The same selectors and masks as the generator's (`resolve.targets`), over the clusters that are there instead of the inventory in git.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from gitops_dsf.reconciler.hub.addons import Addon
from gitops_dsf.reconciler.hub.clusters import Cluster
from gitops_dsf.reconciler.hub.scorers import Scorer
from gitops_dsf.repository.model.base import LabelSelector
from gitops_dsf.repository.model.cluster import ClusterMetadata, ManagedCluster
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.fleet import Fleet
from gitops_dsf.resolve.glob import matches
from gitops_dsf.resolve.targets import masked_clusters

_NOBODY: Final[frozenset[str]] = frozenset()


class Territory:
    """The fleet at one moment. Questions are answered from indexes, so asking for hundreds of scorers is cheap."""

    def __init__(self, *, clusters: Mapping[str, Cluster], addons: Mapping[str, Addon], masks: tuple[Mask, ...] | None) -> None:
        self._fleet = Fleet(clusters={name: _labelled(item) for name, item in clusters.items() if not item.going}, sets={})
        self.masks = masks
        self._off = [(mask.score_name, masked_clusters(mask, self._fleet)) for mask in masks or ()]
        self._since = {
            name: max(clusters[name].created, addon.created)
            for name, addon in addons.items()
            if name in self._fleet.clusters and not addon.going
        }
        self._agents = frozenset(self._since)
        self._addons = {name: addon.created for name, addon in addons.items() if not addon.going}

    @property
    def agents(self) -> frozenset[str]:
        """Clusters that stay and have the agent's add-on."""
        return self._agents

    @property
    def masks_known(self) -> bool:
        """Whether the hub has the masks. Without them a cluster where nothing is published may be masked."""
        return self.masks is not None

    def since(self, cluster: str) -> float:
        """When the cluster and its add-on were both there: seconds since 1970."""
        return self._since.get(cluster, 0.0)

    def masked(self, score_name: str) -> frozenset[str]:
        """Clusters that masks keep a score off."""
        return frozenset().union(*(clusters for pattern, clusters in self._off if matches(score_name, pattern)))

    def expected(self, scorer: Scorer) -> frozenset[str]:
        """Clusters where a scorer should run and publish; none when it is suspended in git or publishes nothing."""
        spec = scorer.spec
        if spec.suspend or spec.destination != "AddOnPlacementScore":
            return _NOBODY
        return (self._selected(spec.selector) & self._agents) - self.masked(spec.scoring.params.name)

    def holds_for_cluster(self, name: str, item: Cluster | None) -> bool:
        """Whether a change of a cluster leaves the territory as it is: heartbeats and resources do."""
        known = self._fleet.clusters.get(name)
        if item is None or item.going:
            return known is None
        return known is not None and known.metadata.labels == item.metadata.labels

    def holds_for_addon(self, cluster: str, item: Addon | None) -> bool:
        """Whether a change of an add-on leaves the territory as it is: its health does."""
        return self._addons.get(cluster) == (None if item is None or item.going else item.created)

    def _selected(self, selector: Mapping[str, Any] | None) -> frozenset[str]:
        if selector is None:
            return self._fleet.everyone
        try:
            return self._fleet.selected(LabelSelector.model_validate_json(msgspec.json.encode(selector)))
        except ValidationError:
            return _NOBODY  # the CRD lets none of these pass


def expected(
    scorer: Scorer, *, masks: tuple[Mask, ...] | None, clusters: Mapping[str, Cluster], addons: Mapping[str, Addon]
) -> frozenset[str]:
    """Clusters where one scorer should run. For more than one, ask a Territory."""
    return Territory(clusters=clusters, addons=addons, masks=masks).expected(scorer)


def _labelled(item: Cluster) -> ManagedCluster:
    # Not validated again: the API server did, and a fleet has thousands of them.
    metadata = ClusterMetadata.model_construct(name=item.metadata.name, labels=item.metadata.labels)
    return ManagedCluster.model_construct(api_version="cluster.open-cluster-management.io/v1", kind="ManagedCluster", metadata=metadata)
