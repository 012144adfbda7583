"""Computes which scorer runs on which cluster: selectors first, then masks."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.masks import masked_clusters as named_by_mask
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.inventory import ClusterInventory
from gitops_dsf.resolve.scorer import EffectiveScorer


def masked_clusters(mask: Mask, inventory: ClusterInventory) -> frozenset[str]:
    """Names of the clusters that a mask matches."""
    selector = None if mask.cluster_selector is None else mask.cluster_selector.compiled
    return named_by_mask(inventory.labels, name=mask.cluster_name, selector=selector)


def target_clusters(
    scorers: Iterable[EffectiveScorer], masks: Sequence[Mask], inventory: ClusterInventory
) -> dict[str, frozenset[str]]:
    """Target clusters of each scorer with a score name: the clusters that its selector matches and no mask
    excludes. Suspension is ignored.
    """
    off: dict[str, set[str]] = defaultdict(set)
    named = {found.name: found for found in scorers if found.score_name}
    scores = {name: found.score_name for name, found in named.items()}
    names = set(scores.values())
    for mask in masks:
        clusters = masked_clusters(mask, inventory)
        for score in names if is_glob(mask.score_name) else {mask.score_name} & names:
            if matches(score, mask.score_name):
                off[score] |= clusters
    found = {}
    for name, scorer in named.items():
        found[name] = inventory.selected(scorer.spec.cluster_selector) - off.get(scores[name], set())
    return found


def targets(
    scorers: Sequence[EffectiveScorer], clusters_of: Mapping[str, frozenset[str]], inventory: ClusterInventory
) -> dict[str, tuple[str, ...]]:
    """Sorted names of the scorers that run on each cluster, for every cluster in order of name. A suspended
    scorer runs nowhere.
    """
    running: dict[str, list[str]] = {name: [] for name in sorted(inventory.clusters)}
    for scorer in sorted(scorers, key=lambda item: item.name):
        if not scorer.spec.suspend:
            for cluster in clusters_of[scorer.name]:
                running[cluster].append(scorer.name)
    return {cluster: tuple(names) for cluster, names in running.items()}


def clusters_with_agents(scorers: Iterable[EffectiveScorer], inventory: ClusterInventory) -> frozenset[str]:
    """Every cluster has an agent, except those that only scorers on the hub select. Masks and suspension,
    which people change often, do not install or remove agents.
    """
    on_hub, on_spokes = set[str](), set[str]()
    for scorer in scorers:
        chosen = on_hub if scorer.spec.on_hub else on_spokes
        chosen |= inventory.selected(scorer.spec.cluster_selector)
    return frozenset(inventory.clusters) - (on_hub - on_spokes)
