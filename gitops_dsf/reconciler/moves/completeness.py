"""Whether the pages of a decision are complete, by the Placement's own status. Pure.

OCM writes the pages one after another, and then the Placement's status (`bind`, then `updateStatus` in its
scheduling controller). In between a cluster can be on no page or on two, and the numbers differ.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gitops_dsf.hub.metadata import Metadata
from gitops_dsf.hub.objects import PlacementDecision


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    number_of_clusters: int | None = None


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    cluster_count: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    number_of_selected_clusters: int | None = None
    decision_groups: list[_Group] = []


class ObservedPlacement(msgspec.Struct, frozen=True):
    """A Placement as the API server has it, with the numbers in its status."""

    metadata: Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Blocked(Exception):  # noqa: N818 - a state, not a mistake
    """Why nothing is deleted now. `reason` is one word, `message` a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


PLACEMENT_GONE: Final = "PlacementGone", "its Placement is deleted, so the decision does not count"
DECISION_EMPTY: Final = (
    "DecisionEmpty",
    "the decision names no cluster, and an empty decision deletes nothing",
)


def complete_decision(
    pages: Sequence[PlacementDecision], placement: ObservedPlacement | None
) -> frozenset[str]:
    """The clusters of a complete decision, never empty. Raises Blocked when it does not count."""
    if placement is None or placement.metadata.deleting:
        raise Blocked(*PLACEMENT_GONE)
    if any(page.metadata.controller("Placement").uid != placement.metadata.uid for page in pages):
        raise Blocked(
            "DecisionForeign", "a PlacementDecision with the Placement's label belongs to another owner"
        )
    clusters = frozenset(cluster for page in pages for cluster in page.cluster_names)
    if not clusters:
        raise Blocked(*DECISION_EMPTY)
    selected, groups = placement.status.number_of_selected_clusters, placement.status.decision_groups
    entries = sum(len(set(page.cluster_names)) for page in pages)
    counts = {len(clusters), entries, selected if selected is not None else 0}
    if groups:
        counts.add(sum(group.cluster_count for group in groups))
    if len(counts) > 1:
        raise Blocked(
            "DecisionIncomplete",
            "the pages of the decision do not add up to the numbers in the Placement's status",
        )
    return clusters
