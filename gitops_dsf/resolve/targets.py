"""Which scorer runs on which cluster: selectors first, masks last."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.masks import masked_clusters as named_by_mask
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.fleet import Fleet
from gitops_dsf.resolve.types import EffectiveScorer


def masked_clusters(mask: Mask, fleet: Fleet) -> frozenset[str]:
    """Clusters that a mask names."""
    selector = None if mask.cluster_selector is None else mask.cluster_selector.compiled
    return named_by_mask(fleet.labels, name=mask.cluster_name, selector=selector)


def reach(
    scorers: Iterable[EffectiveScorer], masks: Sequence[Mask], fleet: Fleet
) -> dict[str, frozenset[str]]:
    """Scorer name to the clusters that its selector and the masks leave it, suspended or not."""
    off: dict[str, set[str]] = defaultdict(set)
    ordered = list(scorers)
    names = {scorer.score_name for scorer in ordered}
    for mask in masks:
        clusters = masked_clusters(mask, fleet)
        for score in names if is_glob(mask.score_name) else {mask.score_name} & names:
            if matches(score, mask.score_name):
                off[score] |= clusters
    everywhere = frozenset(fleet.clusters)
    return {
        scorer.name: (everywhere if scorer.selector is None else fleet.selected(scorer.selector))
        - off.get(scorer.score_name, set())
        for scorer in ordered
    }


def targets(
    scorers: Sequence[EffectiveScorer], reached: Mapping[str, frozenset[str]], fleet: Fleet
) -> dict[str, tuple[str, ...]]:
    """Every cluster, sorted, to the sorted names of the scorers that run there. Suspended scorers run
    nowhere.
    """
    running: dict[str, list[str]] = {name: [] for name in sorted(fleet.clusters)}
    for scorer in sorted(scorers, key=lambda item: item.name):
        if not scorer.suspend:
            for cluster in reached[scorer.name]:
                running[cluster].append(scorer.name)
    return {cluster: tuple(names) for cluster, names in running.items()}
