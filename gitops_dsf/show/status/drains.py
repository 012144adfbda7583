"""Drains: the clusters that are being emptied for maintenance, and applications left on them."""

from collections.abc import Sequence
from typing import Final

from gitops_dsf.views.status.queue import DrainView

MAX_NAMED: Final = 5
"""Placements of a drain that are named."""


def draining_text(drain: DrainView) -> str:
    """Formats `eu-1 is drained (patch) until ...: 2 left (argocd/a, argocd/b)`."""
    clauses = [
        f"{drain.cluster} is drained ({drain.maintenance}) until {drain.until}: {_left(drain)}"
    ]
    # The ledger has at most the first names, and one of an older reconciler has no count.
    stays = max(drain.stays_count, len(drain.stays))
    if stays:
        names = _first_names(drain.stays, stays) or str(stays)
        clauses.append(f"not paced, so they stay: {names}")
    if drain.late:
        clauses.append("the end will not be met")
    return "; ".join(clauses)


def _left(drain: DrainView) -> str:
    if not drain.count:
        return "none left"
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
