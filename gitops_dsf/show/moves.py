"""Paced moves for a terminal: the queue of a hub, drains, and where applications would go."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.views.status.queue import DrainView, MoveView, QueueView, WaitingView
from gitops_dsf.views.status.refuges import FailoverView
from gitops_dsf.wording import names_text, plural

MAX_ROWS: Final = 10
"""Moves that wait, and clusters, shown without --all."""
MAX_NAMED: Final = 5
"""Placements of a drain that are named."""


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
    if waiting.until:
        text += f", until {waiting.until}"
    return text


def draining_text(drain: DrainView) -> str:
    """Formats `eu-1 is drained (patch) until ...: 2 left (argocd/a, argocd/b)`."""
    text = f"{drain.cluster} is drained ({drain.maintenance}) until {drain.until}: {_left(drain)}"
    stays = max(drain.stays_count, len(drain.stays))
    if stays:
        names = _first_names(drain.stays, stays) or str(stays)
        text += f"; not paced, so they stay: {names}"
    if drain.late:
        text += "; the end will not be met"
    return text


def _left(drain: DrainView) -> str:
    if not drain.count:
        return "nobody is left"
    names = _first_names(drain.left, drain.count)
    return f"{drain.count} left ({names})" if names else f"{drain.count} left"


def _first_names(names: Sequence[str], count: int) -> str:
    """The first names of `count` things, and how many more there are; empty if none is known.

    There may be fewer names than things, where the names had no room.
    """
    if not names:
        return ""
    visible = names[:MAX_NAMED]
    text = ", ".join(visible)
    return f"{text} and {count - len(visible)} more" if len(visible) < count else text


def refuge_lines(views: Sequence[FailoverView], *, everything: bool) -> Iterator[str]:
    """Yields one line for each cluster that could fail."""
    visible = views if everything else views[:MAX_ROWS]
    for view in visible:
        moves = [f"{move.placement.partition('/')[2]} -> {move.target}" for move in view.moves]
        max_named = len(moves) if everything else MAX_ROWS
        yield f"  if {view.cluster} fails: {names_text(moves, most=max_named)}"
    if len(visible) < len(views):
        hidden = plural(len(views) - len(visible), "cluster")
        yield f"  and {hidden} more; --cluster or --all shows them"
