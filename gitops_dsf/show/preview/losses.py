"""The section of a preview about the loss of any one cluster."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import UNSET

from gitops_dsf.show.losses import loss_change_lines
from gitops_dsf.show.preview.limits import PageLimits
from gitops_dsf.show.preview.lists import folded
from gitops_dsf.views.preview.build import Comparison
from gitops_dsf.wording import plural

MAX_LINES: Final = 10
"""More lines would hide what a reviewer must see. The JSON has all."""


def loss_section(comparison: Comparison, limits: PageLimits) -> Iterator[str]:
    """The losses that the change makes worse or better; empty if there are none."""
    if comparison.losses is UNSET:
        return
    lines = list(loss_change_lines(comparison.losses))
    max_lines = min(MAX_LINES, limits.rows)
    yield from folded("If a cluster were lost", _lines(lines, max_lines, limits))


def _lines(lines: Sequence[str], max_lines: int, limits: PageLimits) -> Iterator[str]:
    for line in lines[:max_lines]:
        yield f"- {limits.plain(line[: 4 * limits.width])}"
    if len(lines) > max_lines:
        yield (
            f"- ... and {plural(len(lines) - max_lines, 'line')} more;"
            " `gitops-dsf diff -o json` has all"
        )
