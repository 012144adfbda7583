"""What OCM decided: the set of clusters of all pages of a decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import PLACEMENT_LABEL

PAGE_CLUSTERS: Final = 100
"""Most clusters in one PlacementDecision
(docs/decisions/scheduler.md#more-than-a-hundred-clusters).
"""


def decided(pages: Iterable[objects.PlacementDecision]) -> Mapping[str, frozenset[str]]:
    """The decided clusters of each Placement of a hub (`namespace/name`), over all pages."""
    found = defaultdict[str, set[str]](set)
    for page in pages:
        found[f"{page.metadata.namespace or ''}/{page.placement}"].update(page.cluster_names)
    return {key: frozenset(clusters) for key, clusters in found.items()}


def clusters_by_placement(pages: Iterable[objects.PlacementDecision]) -> dict[str, frozenset[str]]:
    """The same by name, for pages of one namespace."""
    return {key.partition("/")[2]: clusters for key, clusters in decided(pages).items()}


def decision_of(
    *, namespace: str, placement: str, clusters: Iterable[str], name: str = ""
) -> objects.PlacementDecision:
    """One page of a decision, by default the first."""
    labels = {PLACEMENT_LABEL: placement} if placement else {}
    status = objects.PlacementDecisionStatus(
        tuple(objects.ClusterDecision(each) for each in clusters)
    )
    name = name or f"{placement}-decision-0"
    return objects.PlacementDecision(Metadata(name, namespace, labels=labels), status)
