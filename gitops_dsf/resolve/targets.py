"""Computes what is where: which scorer runs on which cluster (selectors first, then masks), the clusters and
windows of maintenance, and which entries of spec.agent.rollout count on a cluster.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from gitops_dsf.hub import maintenance as hub
from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.maintenance import Period, Weekly, Window
from gitops_dsf.hub.targets import masked_clusters as named_by_mask
from gitops_dsf.repository.model.config import Maintenance, MaintenanceSpec, Mask
from gitops_dsf.repository.model.repository import Agent, RolloutResources
from gitops_dsf.resolve.inventory import NO_CLUSTERS, ClusterInventory
from gitops_dsf.resolve.scorer import EffectiveScorer


def masked_clusters(mask: Mask, inventory: ClusterInventory) -> frozenset[str]:
    selector = None if mask.cluster_selector is None else mask.cluster_selector.compiled
    return named_by_mask(inventory.labels, name=mask.cluster_name, selector=selector)


def target_clusters(
    scorers: Iterable[EffectiveScorer], masks: Sequence[Mask], inventory: ClusterInventory
) -> dict[str, frozenset[str]]:
    """Where each scorer with a score name runs, by selector and masks. Suspension is ignored."""
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
        selected = inventory.selected(scorer.spec.cluster_selector)
        # Scorers that no mask names share the set of their selector.
        found[name] = selected - off[scores[name]] if scores[name] in off else selected
    return found


def targets(
    runs_on: Mapping[str, frozenset[str]], inventory: ClusterInventory
) -> dict[str, tuple[str, ...]]:
    """Sorted names of the scorers that run on each cluster, by name. Equal ones are one tuple."""
    alike = defaultdict[frozenset[str], list[str]](list)
    for scorer, clusters in runs_on.items():
        alike[clusters].append(scorer)
    running: dict[str, list[frozenset[str]]] = {name: [] for name in sorted(inventory.clusters)}
    for clusters in alike:
        for cluster in clusters:
            running[cluster].append(clusters)

    @cache
    def names(of: tuple[frozenset[str], ...]) -> tuple[str, ...]:
        return tuple(sorted(scorer for clusters in of for scorer in alike[clusters]))

    return {cluster: names(tuple(of)) for cluster, of in running.items()}


def clusters_with_agents(
    scorers: Iterable[EffectiveScorer], inventory: ClusterInventory
) -> frozenset[str]:
    """Every cluster that not only scorers on the hub select, whatever is masked or suspended."""
    on_hub, on_spokes = set[str](), set[str]()
    for scorer in scorers:
        chosen = on_hub if scorer.spec.on_hub else on_spokes
        chosen |= inventory.selected(scorer.spec.cluster_selector)
    return frozenset(inventory.clusters) - (on_hub - on_spokes)


def window_of(spec: MaintenanceSpec) -> Window:
    written = spec.schedule
    if written is not None:
        return Weekly(tuple(written.days), written.opens, written.closes, written.zone)
    moments = (
        datetime.fromisoformat(each).timestamp() for each in (spec.start or "", spec.end or "")
    )
    return Period(*moments)


def clusters_of(spec: MaintenanceSpec, inventory: ClusterInventory) -> frozenset[str]:
    """The clusters of the inventory that it is about."""
    if spec.clusters is not None:
        return inventory.all_clusters & frozenset(spec.clusters)
    return (
        NO_CLUSTERS if spec.cluster_selector is None else inventory.selected(spec.cluster_selector)
    )


def for_the_hub(item: Maintenance) -> dict[str, Any]:
    """As gitops_dsf/hub/maintenance.py reads it. Names and selectors stay as they are written."""
    return {
        "name": item.metadata.name,
        **item.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True),
    }


def on_the_hub(item: Maintenance) -> hub.Maintenance:
    """As the reconciler reads it."""
    return msgspec.convert(for_the_hub(item), type=hub.Maintenance)


def entries_of(agent: Agent, labels: Mapping[str, str]) -> tuple[int, ...]:
    """Indexes of the entries that count on a cluster, sorted; none if they say what holds for all clusters
    anyway.

    Each field is taken from the first entry that selects the cluster and has it, so that the rollout of an
    image does not undo what another entry says about nodes.
    """
    found: dict[str, int] = {}
    for index, entry in enumerate(agent.rollout):
        missing = entry.changed.keys() - found.keys()
        if missing and entry.cluster_selector.matches(dict(labels)):
            found |= dict.fromkeys(missing, index)
    entries = tuple(sorted(set(found.values())))
    return entries if settings_with(agent, entries) != agent else ()


def settings_with(agent: Agent, entries: Sequence[int]) -> Agent:
    """The settings of clusters on which these entries count."""
    if not entries:
        return agent
    changes = {}
    for index in reversed(entries):
        changes.update(agent.rollout[index].changed)
    resources = changes.get("resources")
    if isinstance(resources, RolloutResources):
        said = resources.model_dump(by_alias=False, exclude_none=True)
        changes["resources"] = agent.resources.model_copy(update=said)
    return agent.model_copy(update=changes)
