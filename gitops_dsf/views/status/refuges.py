"""Refuges: the targets of applications when a cluster fails."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.pacing.refuges import by_lost_cluster, published_refuges
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class RefugeView(Struct, frozen=True, kw_only=True, rename={"target": "to"}):
    """The target of one application."""

    placement: str
    target: str


class FailoverView(Struct, frozen=True, kw_only=True):
    """The targets of applications when a cluster fails."""

    cluster: str
    moves: tuple[RefugeView, ...]


def failover_views(
    inputs: StatusInputs, *, placements: Collection[str] | None, cluster: str | None
) -> Iterator[FailoverView]:
    """The plan for these Placements (None means all), by lost cluster.

    With a cluster, only what leaves it, and what comes to it. Nothing if the plan is not known.
    """
    if not inputs.knows(HubPart.SCORES, HubPart.DECISIONS):
        return
    # The cluster that an application would leave follows from its present ones.
    clusters = decided(inputs.snapshot.decisions)
    refuges = published_refuges(inputs.snapshot.scores)
    for lost, plan in by_lost_cluster(refuges, clusters).items():
        moves: list[RefugeView] = []
        for key, target in plan.items():
            # Arrivals at a cluster matter as much as departures: it needs the room.
            is_shown = placements is None or key in placements
            if is_shown and cluster in (None, lost, target):
                moves.append(RefugeView(placement=key, target=target))
        if moves:
            yield FailoverView(cluster=lost, moves=tuple(moves))
