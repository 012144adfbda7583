"""Refuges: where applications go when a cluster fails."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.pacing.refuges import by_lost_cluster, published_refuges
from gitops_dsf.views.status.inputs import HubPart, StatusInputs


class RefugeView(Struct, frozen=True, kw_only=True, rename={"target": "to"}):
    """Where one application goes."""

    placement: str
    target: str


class FailoverView(Struct, frozen=True, kw_only=True):
    """What happens when a cluster fails."""

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
    # Which cluster an application would leave follows from where it is now.
    clusters = decided(inputs.snapshot.decisions)
    refuges = published_refuges(inputs.snapshot.scores)
    for lost, plan in by_lost_cluster(refuges, clusters).items():
        moves: list[RefugeView] = []
        for key, target in plan.items():
            # What comes to a cluster matters as much as what leaves it: it needs the room.
            is_shown = placements is None or key in placements
            if is_shown and cluster in (None, lost, target):
                moves.append(RefugeView(placement=key, target=target))
        if moves:
            yield FailoverView(cluster=lost, moves=tuple(moves))
