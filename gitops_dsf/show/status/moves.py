"""The queue of paced moves: drains, moves under way, waiting moves with reasons, and holds."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.hub.moves.measured import decided_text
from gitops_dsf.show.status.drains import draining_text
from gitops_dsf.show.status.verification import verifying_text
from gitops_dsf.views.status.queue import HeldView, MoveView, QueueView, StopView, WaitingView
from gitops_dsf.views.status.verification import FailedView
from gitops_dsf.wording import plural

MAX_ROWS: Final = 10
"""Moves that wait, and pairs that are held, shown without --all."""


def queue_lines(view: QueueView, *, everything: bool) -> Iterator[str]:
    """Yields drains, moves under way, moves that wait, the largest gain first, and what is held."""
    for drain in view.draining or ():
        yield f"  {draining_text(drain)}"
    for move in view.under_way:
        yield f"  {_under_way(move)}"
    visible = view.waiting if everything else view.waiting[:MAX_ROWS]
    for waiting in visible:
        yield f"  {waiting_text(waiting)}"
    if len(visible) < len(view.waiting):
        hidden = len(view.waiting) - len(visible)
        yield f"  and {hidden} more that wait; --placement or --all shows them"
    if view.omitted:
        # The queue is in a ConfigMap, and those with the smallest gain have no room there.
        yield (
            f"  and {view.omitted} more that wait, with a smaller gain; there is no room to name"
            " them"
        )
    for failed in view.failed or ():
        yield f"  {failed_text(failed)}"
    held = view.held or ()
    visible_holds = held if everything else held[:MAX_ROWS]
    for hold in visible_holds:
        yield f"  {held_text(hold)}"
    if len(visible_holds) < len(held):
        hidden = len(held) - len(visible_holds)
        yield f"  and {hidden} more that are held; --placement or --all shows them"


def stop_text(stop: StopView) -> str:
    """Formats that the fleet stopped its moves, and what lets it go on, in one line."""
    return (
        f"MOVES STOPPED since {stop.since}: {plural(stop.returns, 'move')} went back, so no paced"
        f" move begins until somebody acknowledges it: {stop.field} in gitops-dsf.yaml, or"
        f" {stop.command}"
    )


def failed_text(failed: FailedView) -> str:
    """Formats `argocd/web does worse on c2 since ..., and has nowhere to return to: slo 62 ...`."""
    decided = decided_text(failed.measured, failed.detail or "")
    if not decided:
        return (
            f"{failed.placement} does worse on {failed.target} since {failed.since}, and has"
            " nowhere to return to"
        )
    return (
        f"{failed.placement} does worse on {failed.target} since {failed.since}, and has nowhere to"
        f" return to: {decided}"
    )


def held_text(hold: HeldView) -> str:
    """Formats `argocd/web does not go to c2 until ...: it came back at ..., slo 62 of ...`."""
    clauses = [
        (
            f"{hold.placement} does not go to {hold.cluster} until {hold.until}: it came back from"
            f" there at {hold.since}"
        )
    ]
    if hold.returns > 1:
        clauses.append(f"for the {_ordinal(hold.returns)} time")
    held = ", ".join(clauses)
    return f"{held}: {hold.why}" if hold.why else held


def _under_way(move: MoveView) -> str:
    # OCM places a new application by itself, from no cluster.
    source = move.source or "new"
    if move.verification:
        verifying = verifying_text(move.verification)
        clauses = [f"{move.placement}: {source} -> {move.target} {verifying}"]
    elif move.returning:
        clauses = [
            f"{move.placement}: {source} -> {move.target}: goes back",
            f"{move.phase} since {move.since}",
        ]
    else:
        clauses = [f"{move.placement}: {source} -> {move.target}: {move.phase} since {move.since}"]
    if not move.admitted:
        clauses.append("by OCM itself")
    if move.cause is not None:
        clauses.append(str(move.cause))
    return ", ".join(clauses)


def waiting_text(waiting: WaitingView) -> str:
    """Formats `argocd/web: c1 -> c2 (+22 points) waits since ...: Cooldown: it moved just now`."""
    move = f"{waiting.placement}: {waiting.source} -> {waiting.target} ({waiting.points:+g} points)"
    # Only for reasons that time alone ends, such as a cooldown.
    if waiting.until:
        return (
            f"{move} waits since {waiting.since}: {waiting.reason}: {waiting.message}, until"
            f" {waiting.until}"
        )
    return f"{move} waits since {waiting.since}: {waiting.reason}: {waiting.message}"


def _ordinal(number: int) -> str:
    """Formats `2nd`."""
    # 11th, and not 11st.
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"
