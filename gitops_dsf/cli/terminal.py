"""What is printed: JSON; and for a terminal lines that fit, aligned columns, colours, progress."""

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Final, TextIO

import msgspec

from dsf_wire.text import printable, printable_json


def json_text(content: object) -> str:
    """Formats what msgspec encodes as JSON for people and programs: indented, with a newline at the end."""
    return (
        printable_json(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
    )


NARROWEST: Final = 16
"""Columns of text that wrapping leaves at least. Below that, whole lines are easier to read."""


def terminal_width() -> int | None:
    """COLUMNS, or the columns of the terminal behind standard output; None if there is neither."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
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


def _lines(text: str, width: int) -> list[str]:
    """A word is never broken: names and commands are copied."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shows colours, and NO_COLOR (https://no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    indent: int = 2,
) -> str:
    """Formats rows under headers, columns of `right` right-aligned. Cells that do not fit have more lines."""
    lines = [[printable(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    widths = fitted(widths, around=indent + 2 * (len(headers) - 1))
    aligned = frozenset(right)
    shown = []
    for line in lines:
        columns = [
            [cell] if len(cell) <= width else _lines(cell, width)
            for cell, width in zip(line, widths, strict=True)
        ]
        parts = zip_longest(*columns, fillvalue="")
        shown += [" " * indent + _line(part, widths, aligned) + "\n" for part in parts]
    return "".join(shown)


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    padded = (
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


SECONDS_BETWEEN_LINES: Final = 0.1
_CLEAR: Final = "\r\x1b[K"
"""Returns to the first column and erases to the end of the line (ECMA-48 EL)."""

Step = Callable[[str, int, int], None]


@contextmanager
def progress(stream: TextIO) -> Iterator[Step]:
    """Yields what shows `reading cpu: 40 %`, cheap enough to be called often. Erases the line at the end."""
    following = 0.0

    def step(doing: str, done: int, size: int) -> None:
        nonlocal following
        if stream.isatty() and time.monotonic() >= following:
            write(printable(f"{doing}: {100 * done // max(size, 1)} %"))
            following = time.monotonic() + SECONDS_BETWEEN_LINES

    def write(text: str) -> None:
        stream.write(f"{_CLEAR}{text}")
        stream.flush()

    try:
        yield step
    finally:
        if following:
            write("")
