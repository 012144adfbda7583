"""Decisions: OCM cuts one into pages of 100 clusters, a PlacementDecision each. A decision is the set of
clusters over all pages.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.objects import ClusterDecision, PlacementDecision, PlacementDecisionStatus

Key = tuple[str, str]
"""(namespace, name) of a Placement."""


class DecisionPage(Struct, frozen=True):
    """What is kept of a PlacementDecision."""

    placement: str
    clusters: frozenset[str]
    owner_uid: str = ""
    """Of the Placement that controls it: the label alone is anybody's."""


def page_of(item: PlacementDecision) -> DecisionPage:
    """A PlacementDecision without what nobody asks for."""
    return DecisionPage(
        placement=item.placement,
        clusters=frozenset(item.cluster_names),
        owner_uid=item.metadata.controller("Placement").uid,
    )


def clusters_by_placement(pages: Iterable[DecisionPage]) -> dict[str, frozenset[str]]:
    """The clusters that each Placement of one namespace is decided for, over all of its pages."""
    found: dict[str, set[str]] = {}
    for page in pages:
        found.setdefault(page.placement, set()).update(page.clusters)
    return {name: frozenset(clusters) for name, clusters in found.items()}


def decided(pages: Iterable[PlacementDecision]) -> Mapping[Key, frozenset[str]]:
    """The same for every namespace of a hub."""
    found: dict[Key, set[str]] = {}
    for page in pages:
        found.setdefault((page.metadata.namespace or "", page.placement), set()).update(page.cluster_names)
    return {key: frozenset(clusters) for key, clusters in found.items()}


def decision_of(*, namespace: str, name: str, placement: str, clusters: Iterable[str]) -> PlacementDecision:
    """One page of a decision."""
    labels = {PLACEMENT_LABEL: placement} if placement else {}
    status = PlacementDecisionStatus(tuple(ClusterDecision(each) for each in clusters))
    return PlacementDecision(Metadata(name, namespace, labels=labels), status)
