"""Where each scorer should run, by clusters, add-ons and masks of a hub (as `resolve.targets` by git)."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from gitops_dsf.globs import is_glob, matches
from gitops_dsf.hub.label_index import LabelIndex
from gitops_dsf.hub.names import MASKS_KEY
from gitops_dsf.hub.objects import LabelSelector, ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.selectors import Selector, lenient_selector


class Mask(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Excludes clusters from a score."""

    score_name: str
    """Score name or shell-style glob."""
    cluster_name: str | None = None
    """Cluster name or shell-style glob."""
    cluster_selector: LabelSelector | None = None
    """Selects clusters by their labels, instead of clusterName."""

    def __post_init__(self) -> None:
        if (self.cluster_name is None) == (self.cluster_selector is None):
            msg = "a mask names its clusters by clusterName or by clusterSelector: write exactly one of them"
            raise ValueError(msg)


def read_masks(data: object) -> tuple[Mask, ...] | None:
    """The masks in the data of the ConfigMap; None if it does not have them.

    Raises msgspec.DecodeError.
    """
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(MASKS_KEY)
    return None if text is None else msgspec.json.decode(text, type=tuple[Mask, ...])


def masked_clusters(
    clusters: LabelIndex[str], *, name: str | None, selector: Selector | None
) -> frozenset[str]:
    """Names of the clusters that a mask matches: by its selector, else by name or glob."""
    if selector is not None:
        return clusters.select(selector)
    pattern = name or ""
    if not is_glob(pattern):
        return clusters.everything & {pattern}
    return frozenset(each for each in clusters.everything if matches(each, pattern))


class TargetClusters:
    """Target clusters at one moment, from indexes.

    Without `addons`, which could not be read, every cluster may have an agent. Without `masks`,
    which the hub has not, one without a score may be masked.
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
        self._off = []
        for mask in masks or ():
            selector = (
                None if mask.cluster_selector is None else lenient_selector(mask.cluster_selector)
            )
            excluded = masked_clusters(self._clusters, name=mask.cluster_name, selector=selector)
            self._off.append((mask.score_name, excluded))
        staying = {name: item.created for name, item in (addons or {}).items() if not item.deleting}
        present = self._clusters.everything
        self._since = {
            name: max(clusters[name].created, staying.get(name, 0.0))
            for name in (present if addons is None else present & staying.keys())
        }
        self._joined = {name: clusters[name].created for name in present}
        self.agents = frozenset(self._since)
        """Clusters that have the agent's add-on and are not being deleted."""

    def since(self, cluster: str, scorer: DynamicScorer) -> float:
        """Seconds since 1970 when the cluster, and its add-on if agents run the scorer, were made."""
        return (self._joined if scorer.on_hub else self._since).get(cluster, 0.0)

    def masked(self, score_name: str) -> frozenset[str]:
        return frozenset().union(
            *(clusters for pattern, clusters in self._off if matches(score_name, pattern))
        )

    def selected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters that its selector matches, masked or not; with an agent, if agents run it."""
        selector = scorer.spec.selector
        able = self._clusters.everything if scorer.on_hub else self.agents
        return (
            able if selector is None else self._clusters.select(lenient_selector(selector)) & able
        )

    def expected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters where a scorer should publish; none if it is suspended in git or publishes nothing."""
        if scorer.spec.suspend or not scorer.publishes:
            return frozenset()
        return self.selected(scorer) - self.masked(scorer.score_name)
