"""Events and metrics about paced moves: an Event on the Placement for each step.

A stop of the fleet is an Event on the ConfigMap of the moves, because it concerns every Placement.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Final

from gitops_dsf.hub.moves.causes import by_pace
from gitops_dsf.hub.moves.measured import check_text
from gitops_dsf.hub.names import ACKNOWLEDGED_STOP_ANNOTATION, MOVES_CONFIGMAP
from gitops_dsf.hub.pace import Verification
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.ledger import Ledger, LedgerMove, Phase, VerificationOutcome
from gitops_dsf.pacing.stored import Queue
from gitops_dsf.pacing.verification import deadline
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.kinds import InvolvedObject, placement_reference
from gitops_dsf.wording import plural, prioritizer_text

_DONE: Final = frozenset(
    {None, VerificationOutcome.COMPLETED, VerificationOutcome.UNKNOWN_COMPLETED}
)
"""Outcomes of a move that ended where it led. A move that is not verified has none."""

LOG = logging.getLogger(__name__)


def report_moves(
    context: ControllerContext,
    before: Ledger,
    after: Ledger,
    queue: Queue,
    *,
    refused: Mapping[str, str],
    verifications: Mapping[str, Verification],
    now: float,
) -> None:
    """Reports what was admitted, what ended, and what waits: the ledger before and after a pass.

    `refused` says why a cluster or a Placement takes part in no move, and `verifications` what must
    hold after moves, by namespace/name of the Placement.
    """
    _set_gauges(context, after, queue, verifications=verifications, now=now)
    moves_before = {(move.placement, move.target, move.since): move for move in before.moves}
    for move in after.moves:
        # With its time: an application may move to the same cluster again, and the move before is
        # remembered for a while.
        earlier = moves_before.get((move.placement, move.target, move.since))
        if earlier is None:
            _report_new(context, move)
        else:
            _report_progress(context, earlier, move, refused=refused, now=now)
            verification = verifications.get(move.placement)
            _report_verification(context, earlier, move, verification, now=now)
    _report_stop(context, before, after)


def _set_gauges(
    context: ControllerContext,
    ledger: Ledger,
    queue: Queue,
    *,
    verifications: Mapping[str, Verification],
    now: float,
) -> None:
    metrics = context.metrics
    metrics.paced_moves_waiting.set(Counter((queued.reason,) for queued in queue.waiting))
    metrics.paced_moves_under_way.set(sum(move.admitted for move in ledger.under_way))
    metrics.verification.held.set(sum(hold.active(now) for hold in ledger.holds))
    metrics.verification.stopped.set(bool(ledger.stopped_since))
    overdue: dict[tuple[str, ...], float] = {}
    verifying = 0
    for move in ledger.under_way:
        if move.phase is not Phase.VERIFYING or not move.verified or move.passed_at:
            continue
        verifying += 1
        verification = verifications.get(move.placement)
        if verification is not None and now > deadline(move, verification):
            overdue[(move.placement,)] = now - deadline(move, verification)
    metrics.verification.verifying.set(verifying)
    metrics.verification.overdue.set(overdue)


def _report_new(context: ControllerContext, move: LedgerMove) -> None:
    if move.returning:
        context.metrics.verification.returned.inc()
        _record_event(context, move, "MoveReturned", str(move.cause or ""), warning=True)
    elif move.admitted:
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
    has_ended = earlier.under_way and move.phase is Phase.ENDED
    if has_ended and move.admitted and move.outcome in _DONE:
        seconds = now - move.since
        context.metrics.paced_moves_duration.observe(seconds)
        _record_event(context, move, "MoveEnded", f"done after {seconds:.0f} s")
    elif earlier.phase is Phase.ADMITTED and move.phase is Phase.WITHDRAWN:
        message = f"OCM did not follow; is {move.target} eligible?"
        # The refusal of the hub is the better reason: OCM could not see items that are not there.
        for name in (move.target, move.source, move.placement):
            if name in refused:
                message = refused[name]
                break
        _record_event(context, move, "MoveWithdrawn", message, warning=True)


def _report_verification(
    context: ControllerContext,
    earlier: LedgerMove,
    move: LedgerMove,
    verification: Verification | None,
    *,
    now: float,
) -> None:
    """Reports that the checks of a move begin, or how they decided."""
    begins = earlier.phase is not Phase.VERIFYING and move.phase is Phase.VERIFYING
    if begins and move.verified and move.outcome is None:
        _record_event(context, move, "MoveVerifying", _checks_wanted(move, verification))
    if earlier.outcome is not None or move.outcome is None:
        return
    if move.verified:
        # If the new copy was never healthy, this is the time since OCM followed the move.
        seconds = now - earlier.phase_since
        context.metrics.verification.seconds.labels(outcome=str(move.outcome)).observe(seconds)
    measured = _measured(move)
    match move.outcome:
        case VerificationOutcome.COMPLETED:
            _record_event(context, move, "MovePassed", measured)
        case VerificationOutcome.UNKNOWN_COMPLETED:
            message = (
                "the result of its checks was still unknown when verifySeconds were over, and"
                f" onUnknown is Complete: {measured}"
            )
            _record_event(context, move, "MoveNotVerified", message, warning=True)
        case VerificationOutcome.FAILED if move.returning:
            message = f"it cannot go back to {move.target}, so it stays where it does worse"
            _record_event(context, move, "MoveFailed", message, warning=True)
        case VerificationOutcome.FAILED if earlier.phase is Phase.HANDOVER:
            message = (
                f"its copy on {move.target} did not become healthy in time, and it has nowhere to"
                " return to"
            )
            _record_event(context, move, "MoveFailed", message, warning=True)
        case VerificationOutcome.FAILED:
            message = f"{measured}; it has nowhere to return to, so it stays on {move.target}"
            _record_event(context, move, "MoveFailed", message, warning=True)
        case VerificationOutcome.OVERTAKEN:
            _record_event(context, move, "MoveEnded", "OCM decided again before it was verified")
    # When a move has returned, the Event of the move back says so.
    context.verification_decided()


def _checks_wanted(move: LedgerMove, verification: Verification | None) -> str:
    """The end of the time for which both copies stay, and the scores that are checked."""
    parts: list[str] = []
    for check in move.checks:
        wanted = "a score that is not known yet" if check.at_least is None else check.at_least
        parts.append(f"{prioritizer_text(check.score)} of at least {wanted}")
    checks = "; ".join(parts)
    if verification is None:
        return f"both copies stay until the checks pass: {checks}"
    until = timestamp_of(deadline(move, verification))
    return f"both copies stay until the checks pass: {checks}, to be decided by {until}"


def _measured(move: LedgerMove) -> str:
    """The values that the checks of a move measured, or why the checks did not decide."""
    if move.detail:
        return move.detail
    return "; ".join(check_text(check.score, check.last, check.at_least) for check in move.checks)


def _report_stop(context: ControllerContext, before: Ledger, after: Ledger) -> None:
    """Reports that the fleet stopped itself, or that it goes on."""
    namespace = context.view.hub_namespace
    about = InvolvedObject("v1", "ConfigMap", namespace, MOVES_CONFIGMAP, "")
    if after.stopped_since and not before.stopped_since:
        time = timestamp_of(after.stopped_since)
        message = (
            f"{plural(len(after.returns), 'move')} went back, so no move begins until somebody"
            f" acknowledges it: spec.pace.acknowledgedStop: {time} in gitops-dsf.yaml, or the"
            f" annotation {ACKNOWLEDGED_STOP_ANNOTATION}={time} on this ConfigMap"
        )
        context.events.record(about, "MovesStopped", message, warning=True)
    elif before.stopped_since and not after.stopped_since:
        time = timestamp_of(before.stopped_since)
        message = f"moves begin again: somebody acknowledged the stop of {time}"
        context.events.record(about, "MovesGoOn", message)


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
