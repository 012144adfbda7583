"""Lines that fit into the terminal. A pipe and a file get whole lines."""

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Final

NARROWEST: Final = 16
"""Columns of text that wrapping leaves at least. Below that, whole lines are easier to read."""

_PROSE: Final = re.compile(r"[^\s|-]")
"""Not an example, a row of a table or an item of a list."""
_MEANING: Final = re.compile(r"(?:(?P<command>\s{1,8}\S.*?)\s{2,}|\s{9,})(?P<meaning>\S.*)")
"""An example and what it means, or the rest of what it means on a line of its own."""


def terminal_width() -> int | None:
    """The columns of the terminal behind standard output; None if there is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, *, indent: int) -> str:
    """A text that begins in column `indent`, with the rest of it below that column."""
    width = terminal_width()
    if width is None or width - indent < NARROWEST:
        return text
    return ("\n" + " " * indent).join(_lines(text, width - indent))


def narrowed(text: str, width: int) -> str:
    """A text whose prose fits into `width`. Indented lines are commands, with what they mean after a gap. The
    meaning continues below, and the command stays whole, because people copy it.
    """
    found: list[str] = []
    for prose, lines in groupby(text.split("\n"), key=lambda line: _PROSE.match(line) is not None):
        block = list(lines)
        if max(map(len, block)) <= width:
            found += block
        elif prose:
            found += _lines(" ".join(block), width)
        else:
            found += (part for line in block for part in _example(line, width))
    return "\n".join(found)


def _example(line: str, width: int) -> list[str]:
    parts = _MEANING.fullmatch(line)
    if parts is None or len(line) <= width:
        return [line]
    command, meaning = parts["command"], parts["meaning"]
    column = parts.start("meaning")
    if width - column < NARROWEST + 8:
        return [*filter(None, (command,)), *(" " * 6 + part for part in _lines(meaning, width - 6))]
    first, *rest = _lines(meaning, width - column)
    return [line[:column] + first, *(" " * column + part for part in rest)]


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
