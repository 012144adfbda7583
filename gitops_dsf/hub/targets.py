"""Target clusters of each scorer, by the clusters, add-ons and masks of a hub.

`resolve.targets` computes the same by the objects in git.
"""

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
            raise ValueError(
                "a mask names its clusters by clusterName or by clusterSelector: write exactly one"
                " of them"
            )


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
    return frozenset(cluster for cluster in clusters.everything if matches(cluster, pattern))


class TargetClusters:
    """Target clusters at one moment, from indexes.

    Without `addons`, because they could not be read, every cluster may have an agent. Without
    `masks`, because the hub has none, a cluster without a score may be masked.
    """

    def __init__(
        self,
        *,
        clusters: Mapping[str, ManagedCluster],
        addons: Mapping[str, ManagedClusterAddOn] | None,
        masks: tuple[Mask, ...] | None,
    ) -> None:
        # OCM leaves out clusters that are being deleted.
        labels: dict[str, Mapping[str, str]] = {}
        self._joined: dict[str, float] = {}
        for name, cluster in clusters.items():
            if not cluster.deleting:
                labels[name] = cluster.labels
                self._joined[name] = cluster.created
        self._clusters = LabelIndex(labels)
        self.masks = masks
        self._excluded = [(mask.score_name, self._masked_by(mask)) for mask in masks or ()]
        """Globs of score names, and the clusters that are masked for them."""
        self._since = _agents_since(self._joined, addons)
        self.agents = frozenset(self._since)
        """Clusters that have the agent's add-on and are not being deleted."""

    def since(self, cluster: str, scorer: DynamicScorer) -> float:
        """The time since when the cluster could run the scorer, in seconds since 1970; else 0."""
        # The hub scorer needs no agent, so only the cluster must be there.
        return (self._joined if scorer.on_hub else self._since).get(cluster, 0.0)

    def masked(self, score_name: str) -> frozenset[str]:
        """Clusters that masks exclude from a score."""
        # A mask names a score by a glob, so several masks may be about one score.
        masked = frozenset[str]()
        for pattern, clusters in self._excluded:
            if matches(score_name, pattern):
                masked |= clusters
        return masked

    def selected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters that its selector matches, masked or not; with an agent, if agents run it."""
        able = self._clusters.everything if scorer.on_hub else self.agents
        if scorer.spec.selector is None:
            return able
        return able & self._clusters.select(lenient_selector(scorer.spec.selector))

    def expected(self, scorer: DynamicScorer) -> frozenset[str]:
        """Clusters where a scorer should publish.

        None if it is suspended in git, or does not publish AddOnPlacementScores.
        """
        if scorer.spec.suspend or not scorer.publishes:
            return frozenset()
        return self.selected(scorer) - self.masked(scorer.score_name)

    def _masked_by(self, mask: Mask) -> frozenset[str]:
        selector = None
        if mask.cluster_selector is not None:
            selector = lenient_selector(mask.cluster_selector)
        return masked_clusters(self._clusters, name=mask.cluster_name, selector=selector)


def _agents_since(
    joined: Mapping[str, float], addons: Mapping[str, ManagedClusterAddOn] | None
) -> dict[str, float]:
    """The later creation of cluster and add-on, for clusters that may have an agent."""
    if addons is None:
        return dict(joined)
    since: dict[str, float] = {}
    for cluster, created in joined.items():
        addon = addons.get(cluster)
        if addon is not None and not addon.deleting:
            since[cluster] = max(created, addon.created)
    return since
