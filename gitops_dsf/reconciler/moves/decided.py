"""Whether the pages of a decision are the whole of it, by what the Placement's own status says. Pure.

OCM writes the pages one after another and the Placement's status after them (`bind`, then `updateStatus` in
its scheduling controller): in between a cluster can be on no page or on two, and the numbers differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gitops_dsf.hub.decisions import DecisionPage
from gitops_dsf.hub.metadata import Metadata


class _Metadata(Metadata, frozen=True, rename="camel"):
    deletion_timestamp: datetime | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    number_of_clusters: int | None = None


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    cluster_count: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    number_of_selected_clusters: int | None = None
    decision_groups: list[_Group] = []


class PlacementNow(msgspec.Struct, frozen=True):
    """A Placement as the API server has it, with what its status says of the decision."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """Why nothing is concluded. `reason` is one word, `message` a sentence."""

    reason: str
    message: str


def whole(pages: Sequence[DecisionPage], placement: PlacementNow | None) -> frozenset[str] | Doubt:
    """The clusters of a decision, never empty."""
    if placement is None or placement.metadata.deletion_timestamp is not None:
        return Doubt(
            reason="PlacementGone", message="its Placement is deleted: a decision without one is nobody's"
        )
    if any(page.owner_uid != placement.metadata.uid for page in pages):
        return Doubt(
            reason="DecisionForeign",
            message="a PlacementDecision with the Placement's label belongs to another",
        )
    clusters = frozenset(cluster for page in pages for cluster in page.clusters)
    if not clusters:
        return Doubt(
            reason="DecisionEmpty", message="the decision names no cluster, and an empty one removes nothing"
        )
    selected, groups = placement.status.number_of_selected_clusters, placement.status.decision_groups
    entries = sum(len(page.clusters) for page in pages)
    counts = {len(clusters), entries, selected if selected is not None else 0}
    if groups:
        counts.add(sum(group.cluster_count for group in groups))
    if len(counts) > 1:
        return Doubt(
            reason="DecisionIncomplete",
            message="the pages of the decision are not what the Placement's status counts",
        )
    return clusters
