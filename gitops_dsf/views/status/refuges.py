"""Where paced applications go when a cluster fails, as the reconciler has published it."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from gitops_dsf.hub.decisions import decided
from gitops_dsf.pacing.refuges import by_lost_cluster, published_refuges
from gitops_dsf.views.status.inputs import Inputs, Part


class RefugeView(Struct, frozen=True, kw_only=True, rename={"target": "to"}):
    """Where one application goes."""

    placement: str
    """namespace/name."""
    target: str


class FailoverView(Struct, frozen=True, kw_only=True):
    """What happens when a cluster fails."""

    cluster: str
    moves: tuple[RefugeView, ...]


def failover_views(
    inputs: Inputs, *, placements: Collection[str] | None, cluster: str | None
) -> Iterator[FailoverView]:
    """The plan for these Placements (None means all), in order of the cluster that fails. With a cluster: who
    leaves it, and who comes. Nothing while scores or decisions are not known.
    """
    if not inputs.knows(Part.SCORES, Part.DECISIONS):
        return
    clusters = {
        f"{namespace}/{name}": found
        for (namespace, name), found in decided(inputs.snapshot.decisions).items()
    }
    for lost, plan in by_lost_cluster(published_refuges(inputs.snapshot.scores), clusters).items():
        moves = tuple(
            RefugeView(placement=key, target=target)
            for key, target in plan.items()
            if (placements is None or key in placements) and cluster in {None, lost, target}
        )
        if moves:
            yield FailoverView(cluster=lost, moves=moves)
