"""Tables and paragraphs that fit the terminal.

Every cell is made printable first (`dsf_wire.text`), so a table may hold texts of others. Words are
never broken, because names and commands are copied from the output; a line is longer than the
terminal instead.
"""

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from dsf_wire.text import printable
from gitops_dsf.show.terminal import terminal_width

MIN_COLUMNS: Final = 16
"""Columns that wrapping leaves for a text at least. Below that, whole lines are easier to read."""
_GAP: Final = "  "


def wrapped(text: str, *, indent: int) -> str:
    """Wraps a text that begins in column `indent`; its other lines begin there, too."""
    width = terminal_width()
    if width is None or width - indent < MIN_COLUMNS:
        return text
    return ("\n" + " " * indent).join(_wrap(text, width - indent))


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    indent: int = 2,
) -> str:
    """Formats rows under headers; a cell that does not fit continues on the next line.

    `right` has the indexes of columns that are right-aligned. The result ends with a newline.
    """
    # Escapes make a cell longer, so it is made printable before it is measured.
    lines = [list(map(printable, row)) for row in (headers, *rows)]
    natural = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    widths = _fitted(natural, margin=indent + len(_GAP) * (len(headers) - 1))
    right_aligned = frozenset(right)
    text = ""
    for line in lines:
        wrapped_cells = map(_wrap_cell, line, widths)
        for cells in zip_longest(*wrapped_cells, fillvalue=""):
            text += f"{' ' * indent}{_row(cells, widths, right_aligned)}\n"
    return text


def _fitted(widths: Sequence[int], *, margin: int) -> list[int]:
    """Narrows the widest columns until all fit beside `margin` columns of blanks."""
    fitted = list(widths)
    available = terminal_width()
    if available is None:
        return fitted
    # Column by column, so that wide columns become equally wide, and narrow ones stay as they are.
    while sum(fitted) + margin > available and max(fitted) > MIN_COLUMNS:
        widest = max(range(len(fitted)), key=fitted.__getitem__)
        fitted[widest] -= 1
    return fitted


def _wrap_cell(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else _wrap(cell, width)


def _wrap(text: str, width: int) -> list[str]:
    # An empty cell has a line, too, or its row would vanish.
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _row(cells: Sequence[str], widths: Sequence[int], right_aligned: frozenset[int]) -> str:
    padded = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        padded.append(cell.rjust(width) if column in right_aligned else cell.ljust(width))
    return _GAP.join(padded).rstrip()
