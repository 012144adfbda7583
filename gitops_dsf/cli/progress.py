"""Shows how far a long command is, in one line of the terminal. Writes nothing to pipes, files and logs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

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
            write(f"{doing}: {100 * done // max(size, 1)} %")
            following = time.monotonic() + SECONDS_BETWEEN_LINES

    def write(text: str) -> None:
        stream.write(f"{_CLEAR}{text}")
        stream.flush()

    try:
        yield step
    finally:
        if following:
            write("")
