"""What people see of paced moves: an Event on the Placement for each step, and metrics."""

import logging
from collections import Counter
from collections.abc import Mapping

from gitops_dsf.hub.moves.causes import by_pace
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase
from gitops_dsf.pacing.stored import Queue
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.kinds import placement_reference

LOG = logging.getLogger(__name__)


def report_moves(
    context: ControllerContext,
    before: Ledger,
    after: Ledger,
    queue: Queue,
    *,
    refused: Mapping[str, str],
    now: float,
) -> None:
    """Reports what was admitted, what ended, and what waits: the ledger before and after a pass.

    `refused` says why a cluster or a Placement takes part in no move.
    """
    metrics = context.metrics
    metrics.paced_moves_waiting.set(Counter((queued.reason,) for queued in queue.waiting))
    metrics.paced_moves_under_way.set(sum(move.admitted for move in after.under_way))
    moves_before = {(move.placement, move.target, move.since): move for move in before.moves}
    for move in after.moves:
        earlier = moves_before.get((move.placement, move.target, move.since))
        if earlier is None:
            _report_new(context, move)
        else:
            _report_progress(context, earlier, move, refused=refused, now=now)


def _report_new(context: ControllerContext, move: LedgerMove) -> None:
    if move.admitted:
        context.metrics.paced_moves_admitted.inc()
        cause = move.cause or by_pace(move.gain or 0.0)
        _record_event(context, move, "MoveAdmitted", str(cause))
    elif move.cause is not None:
        # Without a known cause nothing can be said that the decision does not show.
        _record_event(context, move, "Moved", str(move.cause), warning=move.cause.warning)


def _report_progress(
    context: ControllerContext,
    earlier: LedgerMove,
    move: LedgerMove,
    *,
    refused: Mapping[str, str],
    now: float,
) -> None:
    if earlier.under_way and move.phase is Phase.ENDED and move.admitted:
        seconds = now - move.since
        context.metrics.paced_moves_duration.observe(seconds)
        _record_event(context, move, "MoveEnded", f"done after {seconds:.0f} s")
    elif earlier.phase is Phase.ADMITTED and move.phase is Phase.WITHDRAWN:
        message = f"OCM did not follow; is {move.target} eligible?"
        # What the hub refused is the better reason: OCM could not see items that are not there.
        for name in (move.target, move.source, move.placement):
            if name in refused:
                message = refused[name]
                break
        _record_event(context, move, "MoveWithdrawn", message, warning=True)


def _record_event(
    context: ControllerContext,
    move: LedgerMove,
    reason: str,
    message: str,
    *,
    warning: bool = False,
) -> None:
    """Records an Event on the Placement. The message begins with where the move leads."""
    message = f"{move.source} -> {move.target}: {message}"
    LOG.info("%s %s: %s", reason, move.placement, message)
    namespace, _, name = move.placement.partition("/")
    placement = context.view.placements.items.get(name)
    if placement is not None:
        about = placement_reference(name, placement, namespace)
        context.events.record(about, reason, message, warning=warning)
