"""Refuges: the targets of each cluster's applications if the cluster failed."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.views.status.refuges import FailoverView
from gitops_dsf.wording import names_text, plural

MAX_ROWS: Final = 10
"""Clusters, and applications of one cluster, shown without --all."""


def refuge_lines(views: Sequence[FailoverView], *, everything: bool) -> Iterator[str]:
    """Yields one line for each cluster that could fail."""
    visible = views if everything else views[:MAX_ROWS]
    for view in visible:
        moves = [f"{move.placement.partition('/')[2]} -> {move.target}" for move in view.moves]
        max_named = len(moves) if everything else MAX_ROWS
        yield f"  if {view.cluster} fails: {names_text(moves, max_names=max_named)}"
    if len(visible) < len(views):
        hidden = plural(len(views) - len(visible), "cluster")
        yield f"  and {hidden} more; --cluster or --all shows them"
