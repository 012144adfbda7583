"""Paced moves: what is under way, what waits for what, and which clusters are drained."""

from collections.abc import Collection

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.pacing.maintenance import Drain
from gitops_dsf.pacing.stored import Queued, StoredMoves


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
    """The queue of these Placements (None means all) and this cluster.

    None if there is nothing to show.
    """
    if moves is None:
        return None

    def is_shown(move: LedgerMove | Queued) -> bool:
        if placements is not None and move.placement not in placements:
            return False
        return cluster is None or cluster in (move.source, move.target)

    under_way = tuple(map(_move_view, filter(is_shown, moves.ledger.under_way)))
    waiting = tuple(map(_waiting_view, filter(is_shown, moves.queue.waiting)))
    draining: list[DrainView] = []
    for drain in moves.maintenance.drains:
        if cluster in (None, drain.cluster):
            draining.append(_drain_view(drain))
    # A fleet without a pace has no such section, and one where nothing moves needs none.
    if not (under_way or waiting or draining):
        return None
    return QueueView(
        under_way=under_way,
        waiting=waiting,
        omitted=moves.queue.omitted or UNSET,
        draining=tuple(draining) or UNSET,
    )


def _move_view(move: LedgerMove) -> MoveView:
    return MoveView(
        placement=move.placement,
        source=move.source or None,
        target=move.target,
        phase=str(move.phase),
        since=timestamp_of(move.since),
        admitted=move.admitted,
        cause=move.cause,
    )


def _waiting_view(queued: Queued) -> WaitingView:
    return WaitingView(
        placement=queued.placement,
        source=queued.source,
        target=queued.target,
        points=queued.points,
        reason=queued.reason,
        message=queued.message,
        since=timestamp_of(queued.since),
        until=None if queued.until is None else timestamp_of(queued.until),
    )


def _drain_view(drain: Drain) -> DrainView:
    return DrainView(
        cluster=drain.cluster,
        maintenance=drain.maintenance,
        until=timestamp_of(drain.until),
        count=drain.count,
        left=drain.left,
        stays=drain.stays,
        stays_count=drain.stays_count,
        late=drain.late,
    )
