"""The terminal: its width, its colours, and a line of progress."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from dsf_wire.text import printable

SECONDS_BETWEEN_UPDATES: Final = 0.1
"""Progress is written at most this often, so that reporting a step costs nothing."""
_ERASE_LINE: Final = "\r\x1b[K"
"""Returns to the first column and erases to the end of the line (ECMA-48 EL)."""

Step = Callable[[str, int, int], None]
"""A step: its name, the part that is done, and the total."""


def terminal_width() -> int | None:
    """COLUMNS, or the columns of the terminal behind standard output; None if there is neither."""
    # Also for a pipe: whoever sets it asks for this width, as tests do.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    # In a pipe there is no width: what is copied or searched there must not be wrapped.
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colours, and NO_COLOR is unset (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(stream: TextIO) -> Iterator[Step]:
    """Yields a function that shows `reading cpu: 40 %` on a terminal, and erases it at the end.

    The function is cheap enough to be called for every part. It writes nothing if the stream is not
    a terminal.
    """
    next_update = 0.0

    def step(doing: str, done: int, size: int) -> None:
        nonlocal next_update
        if stream.isatty() and time.monotonic() >= next_update:
            write(printable(f"{doing}: {100 * done // max(size, 1)} %"))
            next_update = time.monotonic() + SECONDS_BETWEEN_UPDATES

    def write(text: str) -> None:
        stream.write(f"{_ERASE_LINE}{text}")
        stream.flush()

    try:
        yield step
    finally:
        # Nothing was written if the step never ran.
        if next_update:
            write("")
