"""Paced moves: those under way, waiting ones with reasons, and drained or held clusters.

It also says when the fleet stopped itself, and how it goes on. Pure.

Not guaranteed: that the queue is of now. It is the last one that the reconciler wrote, and is short
if it had no room in the ConfigMap.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.names import ACKNOWLEDGED_STOP_ANNOTATION, MOVES_CONFIGMAP
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import Hold, Ledger, LedgerMove
from gitops_dsf.pacing.maintenance import Drain
from gitops_dsf.pacing.stored import Queued, StoredMoves
from gitops_dsf.views.status.inputs import StatusInputs
from gitops_dsf.views.status.verification import (
    FailedView,
    VerificationView,
    VerifierFacts,
    failed_views,
    verification_view,
    verifications_of,
)


class MoveView(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """A move that is under way."""

    placement: str
    """namespace/name."""
    source: str | None
    """None for an application that was placed for the first time."""
    target: str
    phase: str
    since: str
    """The time when it was admitted, or seen."""
    admitted: bool
    """False if OCM moved it itself."""
    cause: MoveCause | None
    """The cause of the move; None if it is unknown."""
    returning: bool | UnsetType = UNSET
    """True for a move back, after a check failed; absent for others."""
    verification: VerificationView | UnsetType = UNSET
    """Its checks, while it is being verified."""


class HeldView(Struct, frozen=True, kw_only=True):
    """A cluster that an application came back from, and does not go to for a while."""

    placement: str
    """namespace/name."""
    cluster: str
    since: str
    until: str
    returns: int
    """The number of returns from there."""
    why: str | None
    """The value that was measured at the last return; None if it is unknown."""


class StopView(Struct, frozen=True, kw_only=True):
    """The fleet stopped its moves, because too many returned."""

    since: str
    returns: int
    """The number of moves that had returned."""
    field: str
    """The field of gitops-dsf.yaml that lets moves begin again."""
    command: str
    """The command that does the same on the hub."""


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
    """The time when it may begin, if only time must pass."""


class DrainView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A cluster that is drained."""

    cluster: str
    maintenance: str
    until: str
    """The end of its window."""
    count: int
    """Paced Placements that are left."""
    left: tuple[str, ...]
    """The first of them, by namespace/name."""
    stays: tuple[str, ...]
    """The first Placements that are not paced, which no drain moves."""
    stays_count: int
    """The total number of these."""
    late: bool
    """Whether the end of the window will not be met, judged by its moves so far."""


class QueueView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Paced moves of a hub."""

    under_way: tuple[MoveView, ...]
    waiting: tuple[WaitingView, ...]
    """The largest gain first."""
    omitted: int | UnsetType = UNSET
    """Moves that wait and that the ConfigMap has no room to name; absent while there are none."""
    draining: tuple[DrainView, ...] | UnsetType = UNSET
    """Clusters that are drained; absent while none is."""
    held: tuple[HeldView, ...] | UnsetType = UNSET
    """Clusters that applications do not go to after a return; absent while there is none."""
    failed: tuple[FailedView, ...] | UnsetType = UNSET
    """Applications that do worse where they went; absent while none does."""
    stopped: StopView | UnsetType = UNSET
    """Absent unless the fleet stopped its moves."""


NO_MOVES: Final = QueueView(under_way=(), waiting=())
"""The queue of a hub where nothing moves, for those to whom that is not a special case."""


def hub_queue(
    inputs: StatusInputs,
    *,
    placements: Collection[str] | None = None,
    cluster: str | None = None,
) -> QueueView | None:
    """The queue of a hub, of these Placements (None means all) and this cluster."""
    facts = VerifierFacts(
        verifications=verifications_of(inputs.placements),
        scores=inputs.snapshot.scores,
        now=inputs.now.timestamp(),
    )
    return queue_view(
        inputs.moves,
        placements=placements,
        cluster=cluster,
        facts=facts,
        hub_namespace=inputs.hub_namespace,
    )


def queue_view(
    moves: StoredMoves | None,
    *,
    placements: Collection[str] | None,
    cluster: str | None,
    facts: VerifierFacts,
    hub_namespace: str,
) -> QueueView | None:
    """The queue of these Placements (None means all) and this cluster.

    None if there is nothing to show. A stop is shown whatever is asked for: it holds everything.
    """
    if moves is None:
        return None

    def is_shown(placement: str, *clusters: str) -> bool:
        if placements is not None and placement not in placements:
            return False
        return cluster is None or cluster in clusters

    under_way: list[MoveView] = []
    for move in moves.ledger.under_way:
        if is_shown(move.placement, move.source, move.target):
            under_way.append(_move_view(move, facts))
    waiting: list[WaitingView] = []
    for queued in moves.queue.waiting:
        if is_shown(queued.placement, queued.source, queued.target):
            waiting.append(_waiting_view(queued))
    draining = tuple(_draining(moves.maintenance.drains, cluster))
    held: list[HeldView] = []
    for hold in moves.ledger.holds:
        # The ledger keeps holds that are over, so that the next one of the same pair is longer.
        if hold.active(facts.now) and is_shown(hold.placement, hold.target):
            held.append(_held_view(hold))
    failed: list[FailedView] = []
    for view in failed_views(moves.ledger.moves):
        if is_shown(view.placement, view.source, view.target):
            failed.append(view)
    stopped = stop_view(moves.ledger, hub_namespace=hub_namespace)
    # A fleet without a pace has no such section, and one where nothing moves needs none.
    if not (under_way or waiting or draining or held or failed or stopped):
        return None
    return QueueView(
        under_way=tuple(under_way),
        waiting=tuple(waiting),
        omitted=moves.queue.omitted or UNSET,
        draining=draining or UNSET,
        held=tuple(held) or UNSET,
        failed=tuple(failed) or UNSET,
        stopped=stopped or UNSET,
    )


def stop_view(ledger: Ledger, *, hub_namespace: str) -> StopView | None:
    """The stop of the fleet, and what lets it go on; None while moves may begin."""
    # 0 in a ledger that was never stopped, or whose stop was acknowledged.
    if not ledger.stopped_since:
        return None
    since = timestamp_of(ledger.stopped_since)
    return StopView(
        since=since,
        returns=len(ledger.returns),
        field=f"spec.pace.acknowledgedStop: {since}",
        # The annotation of an earlier stop may be there still, and names that stop.
        command=(
            f"kubectl -n {hub_namespace} annotate --overwrite configmap {MOVES_CONFIGMAP}"
            f" {ACKNOWLEDGED_STOP_ANNOTATION}={since}"
        ),
    )


def _move_view(move: LedgerMove, facts: VerifierFacts) -> MoveView:
    return MoveView(
        placement=move.placement,
        # The ledger has "" for an application without a cluster; people and JSON get null.
        source=move.source or None,
        target=move.target,
        phase=str(move.phase),
        since=timestamp_of(move.since),
        admitted=move.admitted,
        cause=move.cause,
        returning=move.returning or UNSET,
        verification=verification_view(move, facts) or UNSET,
    )


def _held_view(hold: Hold) -> HeldView:
    return HeldView(
        placement=hold.placement,
        cluster=hold.target,
        since=timestamp_of(hold.since),
        until=timestamp_of(hold.until),
        returns=hold.returns,
        why=hold.detail or None,
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


def _draining(drains: Iterable[Drain], cluster: str | None) -> Iterator[DrainView]:
    """The drains of all clusters, or of one."""
    for drain in drains:
        # A drain is of a cluster, so it concerns every Placement: those asked for do not hide it.
        if cluster in (None, drain.cluster):
            yield _drain_view(drain)


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
