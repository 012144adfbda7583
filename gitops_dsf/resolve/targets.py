"""Target clusters of scorers by the inventory: selectors first, then masks."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from gitops_dsf.globs import is_glob, matches
from gitops_dsf.hub.targets import masked_clusters as named_by_mask
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.inventory import ClusterInventory
from gitops_dsf.resolve.scorer import EffectiveScorer


def masked_clusters(mask: Mask, inventory: ClusterInventory) -> frozenset[str]:
    """The clusters of the inventory that a mask names or selects."""
    selector = None if mask.cluster_selector is None else mask.cluster_selector.compiled
    return named_by_mask(inventory.labels, name=mask.cluster_name, selector=selector)


def target_clusters(
    scorers: Iterable[EffectiveScorer], masks: Sequence[Mask], inventory: ClusterInventory
) -> dict[str, frozenset[str]]:
    """The clusters of scorers with a score name, by selector and masks. Suspension is ignored."""
    # A scorer whose name is to come from a lock runs nowhere yet.
    named = {scorer.name: scorer for scorer in scorers if scorer.score_name}
    scores = {scorer.score_name for scorer in named.values()}
    masked: dict[str, set[str]] = defaultdict(set)
    for mask in masks:
        clusters = masked_clusters(mask, inventory)
        # A glob is compared with every score, a plain name with itself only: masks can be
        # thousands.
        for score in scores if is_glob(mask.score_name) else {mask.score_name} & scores:
            if matches(score, mask.score_name):
                masked[score] |= clusters
    targets: dict[str, frozenset[str]] = {}
    for name, scorer in named.items():
        selected = inventory.selected(scorer.spec.cluster_selector)
        # Scorers that no mask names share the set of their selector: fleets have thousands of
        # clusters.
        is_masked = scorer.score_name in masked
        targets[name] = selected - masked[scorer.score_name] if is_masked else selected
    return targets


def targets(
    runs_on: Mapping[str, frozenset[str]], inventory: ClusterInventory
) -> dict[str, tuple[str, ...]]:
    """Sorted names of the scorers that run on each cluster, by cluster.

    Clusters with the same scorers share one tuple, and their configuration is rendered once.
    """
    scorers_by_clusters: dict[frozenset[str], list[str]] = defaultdict(list)
    for scorer, clusters in runs_on.items():
        scorers_by_clusters[clusters].append(scorer)
    running: dict[str, list[frozenset[str]]] = {name: [] for name in sorted(inventory.clusters)}
    for clusters in scorers_by_clusters:
        for cluster in clusters:
            running[cluster].append(clusters)

    @cache
    def names(groups: tuple[frozenset[str], ...]) -> tuple[str, ...]:
        scorers: list[str] = []
        for group in groups:
            scorers += scorers_by_clusters[group]
        return tuple(sorted(scorers))

    return {cluster: names(tuple(groups)) for cluster, groups in running.items()}


def clusters_with_agents(
    scorers: Iterable[EffectiveScorer], inventory: ClusterInventory
) -> frozenset[str]:
    """All clusters, without those that only scorers on the hub select.

    Masks and suspension do not count: an agent stays when its scorers pause.
    """
    on_hub: set[str] = set()
    on_spokes: set[str] = set()
    for scorer in scorers:
        selected = inventory.selected(scorer.spec.cluster_selector)
        if scorer.spec.on_hub:
            on_hub |= selected
        else:
            on_spokes |= selected
    return frozenset(inventory.clusters) - (on_hub - on_spokes)
