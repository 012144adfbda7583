"""The queue of paced moves: drains, what is under way, and what waits for what."""

from collections.abc import Iterator
from typing import Final

from gitops_dsf.show.status.drains import draining_text
from gitops_dsf.views.status.queue import MoveView, QueueView, WaitingView

MAX_ROWS: Final = 10
"""Moves that wait shown without --all."""


def queue_lines(view: QueueView, *, everything: bool) -> Iterator[str]:
    """Yields drains, moves under way, and moves that wait, the largest gain first."""
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


def _under_way(move: MoveView) -> str:
    # OCM places a new application by itself, from no cluster.
    text = (
        f"{move.placement}: {move.source or 'new'} -> {move.target}: {move.phase} since"
        f" {move.since}"
    )
    if not move.admitted:
        text += ", by OCM itself"
    if move.cause is not None:
        text += f", {move.cause}"
    return text


def waiting_text(waiting: WaitingView) -> str:
    """Formats `argocd/web: c1 -> c2 (+22 points) waits since ...: Cooldown: it moved just now`."""
    text = (
        f"{waiting.placement}: {waiting.source} -> {waiting.target} ({waiting.points:+g} points)"
        f" waits since {waiting.since}: {waiting.reason}: {waiting.message}"
    )
    # Only for reasons that time alone ends, such as a cooldown.
    if waiting.until:
        text += f", until {waiting.until}"
    return text
