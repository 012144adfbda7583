"""Decisions of OCM: the set of clusters of all pages of a decision."""

from collections.abc import Iterable, Mapping
from typing import Final

from gitops_dsf.hub import objects
from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import PLACEMENT_LABEL

PAGE_CLUSTERS: Final = 100
"""Clusters in one PlacementDecision (docs/decisions/scheduler.md#more-than-a-hundred-clusters)."""


def decided(pages: Iterable[objects.PlacementDecision]) -> Mapping[str, frozenset[str]]:
    """The decided clusters of each Placement of a hub (`namespace/name`), over all pages.

    Not guaranteed while OCM rewrites the pages of a decision: then a cluster may be on no page.
    """
    clusters: dict[str, set[str]] = {}
    for page in pages:
        # The pages are found by their label, as OCM finds them.
        key = f"{page.metadata.namespace or ''}/{page.placement}"
        clusters.setdefault(key, set()).update(page.cluster_names)
    return {key: frozenset(names) for key, names in clusters.items()}


def clusters_by_placement(pages: Iterable[objects.PlacementDecision]) -> dict[str, frozenset[str]]:
    """The decided clusters by name of the Placement, for pages of one namespace."""
    return {key.partition("/")[2]: clusters for key, clusters in decided(pages).items()}


def decision_of(
    *, namespace: str, placement: str, clusters: Iterable[str], name: str = ""
) -> objects.PlacementDecision:
    """One page of a decision, by default the first."""
    labels = {PLACEMENT_LABEL: placement} if placement else {}
    status = objects.PlacementDecisionStatus(tuple(map(objects.ClusterDecision, clusters)))
    name = name or f"{placement}-decision-0"
    return objects.PlacementDecision(Metadata(name, namespace, labels=labels), status)
