"""PlacementDecisions. OCM splits a decision into pages; the decision is the set of clusters
of all pages.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import ClusterDecision, PlacementDecision, PlacementDecisionStatus

PAGE_CLUSTERS: Final = 100
"""Most clusters in one PlacementDecision (docs/decisions/scheduler.md#more-than-a-hundred-clusters)."""


def decided(pages: Iterable[PlacementDecision]) -> Mapping[str, frozenset[str]]:
    """The decided clusters of each Placement of a hub (`namespace/name`), over all pages."""
    found: dict[str, set[str]] = {}
    for page in pages:
        found.setdefault(f"{page.metadata.namespace or ''}/{page.placement}", set()).update(
            page.cluster_names
        )
    return {key: frozenset(clusters) for key, clusters in found.items()}


def clusters_by_placement(pages: Iterable[PlacementDecision]) -> dict[str, frozenset[str]]:
    """The same by name, for pages of one namespace."""
    return {key.partition("/")[2]: clusters for key, clusters in decided(pages).items()}


def decision_of(*, namespace: str, name: str, placement: str, clusters: Iterable[str]) -> PlacementDecision:
    """Reads one page of a decision."""
    labels = {PLACEMENT_LABEL: placement} if placement else {}
    status = PlacementDecisionStatus(tuple(ClusterDecision(each) for each in clusters))
    return PlacementDecision(Metadata(name, namespace, labels=labels), status)
