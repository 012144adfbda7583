"""Paced moves: what is under way, and what waits for what; and where applications go when a cluster fails."""

from collections.abc import Collection, Iterator
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.refuges import by_lost_cluster, published_refuges
from gitops_dsf.pacing.stored import StoredMoves
from gitops_dsf.views.status.inputs import HubPart, StatusInputs

_View = TypeVar("_View", bound=Struct)


class MoveView(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """A move that is under way."""

    placement: str
    """namespace/name."""
    source: str | None
    """None for an application that was placed for the first time."""
    target: str
    phase: str
    since: str
    """When it was admitted, or seen."""
    admitted: bool
    """False if OCM moved it itself."""
    cause: MoveCause | None
    """Why it moved; None if that is not known."""


class WaitingView(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """A move that waits."""

    placement: str
    source: str
    target: str
    points: float
    reason: str
    message: str
    since: str
    until: str | None
    """When it may begin, if only time must pass."""


class DrainView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A cluster that is drained."""

    cluster: str
    maintenance: str
    until: str
    """When its window ends."""
    count: int
    """Paced Placements that are left."""
    left: tuple[str, ...]
    """The first of them, by namespace/name."""
    stays: tuple[str, ...]
    """The first Placements that are not paced, which no drain moves."""
    stays_count: int
    """How many these are altogether."""
    late: bool
    """Whether the end of the window will not be met, as far as its moves so far tell."""


class QueueView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Paced moves of a hub."""

    under_way: tuple[MoveView, ...]
    waiting: tuple[WaitingView, ...]
    """The largest gain first."""
    omitted: int | UnsetType = UNSET
    """Moves that wait and that the ConfigMap has no room to name; absent while there are none."""
    draining: tuple[DrainView, ...] | UnsetType = UNSET
    """Clusters that are drained; absent while none is."""


def queue_view(
    moves: StoredMoves | None, *, placements: Collection[str] | None, cluster: str | None
) -> QueueView | None:
    """The queue of these Placements (None means all) and this cluster; None if there is nothing to show."""
    if moves is None:
        return None

    def shown(placement: str, *clusters: str) -> bool:
        return (placements is None or placement in placements) and (
            cluster is None or cluster in clusters
        )

    under_way = tuple(
        _view(MoveView, each, source=each.source or None, phase=str(each.phase))
        for each in moves.ledger.under_way
        if shown(each.placement, each.source, each.target)
    )
    waiting = tuple(
        _view(WaitingView, each, until=None if each.until is None else timestamp_of(each.until))
        for each in moves.queue.waiting
        if shown(each.placement, each.source, each.target)
    )
    draining = tuple(
        _view(DrainView, each, until=timestamp_of(each.until))
        for each in moves.maintenance.drains
        if cluster in (None, each.cluster)
    )
    if not (under_way or waiting or draining):
        return None
    return QueueView(
        under_way=under_way,
        waiting=waiting,
        omitted=moves.queue.omitted or UNSET,
        draining=draining or UNSET,
    )


def _view(kind: type[_View], stored: object, **shown: object) -> _View:
    """A view of what is stored, with these fields, and the beginning, in words."""
    same = {name: getattr(stored, name) for name in kind.__struct_fields__ if name not in shown}
    if "since" in same:
        same["since"] = timestamp_of(same["since"])
    return kind(**same, **shown)


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
    """The plan for these Placements (None: all), by lost cluster.

    With a cluster: who leaves, who comes.
    """
    if not inputs.knows(HubPart.SCORES, HubPart.DECISIONS):
        return
    clusters = decided(inputs.snapshot.decisions)
    for lost, plan in by_lost_cluster(published_refuges(inputs.snapshot.scores), clusters).items():
        moves = tuple(
            RefugeView(placement=key, target=target)
            for key, target in plan.items()
            if (placements is None or key in placements) and cluster in {None, lost, target}
        )
        if moves:
            yield FailoverView(cluster=lost, moves=moves)
