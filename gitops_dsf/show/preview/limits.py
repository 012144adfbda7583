"""Limits of a preview: everything, the first entries of each list, or as many as fit a comment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.show.markdown import escaped


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLimits:
    """The limits of each list and value, and the way in which the text of others is written."""

    rows: int
    """Entries of each list."""
    width: int
    """Characters of a value. Sentences may have a multiple of it."""
    names: int
    """Names that a sentence lists."""
    moves: int
    """Rows of the table of moves."""
    standings: int
    """Moves whose scores are shown."""
    for_comment: bool
    """Whether something is left out because a forge takes no longer comment."""
    plain: Callable[[str], str]
    """Makes a text of others safe to show."""


def _for_comment(*, rows: int, width: int, names: int) -> PageLimits:
    return PageLimits(
        rows=rows,
        width=width,
        names=names,
        moves=rows,
        standings=rows,
        for_comment=True,
        plain=escaped,
    )


# Each one is much smaller than the one before, so that few attempts find one that fits.
COMMENT_LIMITS: Final = (
    _for_comment(rows=1_000, width=2_000, names=20),
    _for_comment(rows=200, width=1_000, names=10),
    _for_comment(rows=80, width=400, names=5),
    _for_comment(rows=30, width=200, names=3),
    _for_comment(rows=10, width=100, names=2),
    _for_comment(rows=3, width=60, names=1),
)
"""Tried one after the other, until the comment is short enough."""
SHORT: Final = PageLimits(
    rows=10, width=400, names=10, moves=40, standings=5, for_comment=False, plain=printable
)
"""Limits for a terminal.

Moves are the part that most people look for, so more of them are shown.
"""
WHOLE: Final = PageLimits(
    rows=1_000_000,
    width=2_000,
    names=10,
    moves=1_000_000,
    standings=1_000_000,
    for_comment=False,
    plain=printable,
)
"""Limits for a terminal with --all."""
