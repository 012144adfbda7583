"""What a terminal gets: lines that fit, and colours. A pipe and a file get whole lines."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Final, TextIO

NARROWEST: Final = 16
"""Columns of text that wrapping leaves at least. Below that, whole lines are easier to read."""


def terminal_width() -> int | None:
    """The columns of the terminal behind standard output; None if there is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, *, indent: int) -> str:
    """A text that begins in column `indent`, with the rest of it below that column."""
    width = terminal_width()
    if width is None or width - indent < NARROWEST:
        return text
    return ("\n" + " " * indent).join(_lines(text, width - indent))


def fitted(widths: Sequence[int], *, around: int) -> list[int]:
    """The widths of columns that fit beside `around` columns of blanks. The widest ones shrink."""
    found, width = list(widths), terminal_width()
    while width is not None and sum(found) + around > width and max(found) > NARROWEST:
        widest = max(range(len(found)), key=found.__getitem__)
        found[widest] -= 1
    return found


def cell_lines(cell: str, width: int) -> list[str]:
    """The lines of a cell. A word is never broken: names and commands are copied."""
    return [cell] if len(cell) <= width else _lines(cell, width)


def _lines(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and NO_COLOR (https://no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
