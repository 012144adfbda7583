"""Shows the progress of a long command in one line of the terminal. Writes nothing to pipes,
files and logs.
"""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

LARGE: Final = 500
"""Stages with fewer documents, works or files finish before anybody could read the line."""

SECONDS_BETWEEN_LINES: Final = 0.1

_CLEAR: Final = "\r\x1b[K"
"""Returns to the first column and erases to the end of the line (ECMA-48 EL). Written to terminals only."""


class Progress:
    """Context manager that owns the line. It erases the line at the end."""

    def __init__(self, *, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._wanted = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._doing, self._size, self._noun = "", 0, ""
        self._next = 0.0
        self._shown = False

    def stage(self, doing: str, size: int, noun: str) -> None:
        """Starts a stage, shown as `checking 2,150 documents`."""
        self._doing, self._size, self._noun = doing, size, noun
        self._show(f"{doing} {size:,} {noun}")

    def step(self, done: int) -> None:
        """Reports how much of the stage is done. It is cheap enough to be called for every file."""
        if self._wanted and self._clock() >= self._next:
            self._show(f"{self._doing} {self._size:,} {self._noun}: {100 * done // max(self._size, 1)} %")

    def clear(self) -> None:
        """Erases the line. Call it before writing anything else to the terminal."""
        if self._shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._shown = False

    def _show(self, text: str) -> None:
        if not self._wanted or self._size <= LARGE:
            self.clear()
            return
        self._stream.write(f"{_CLEAR}{text}")
        self._stream.flush()
        self._shown = True
        self._next = self._clock() + SECONDS_BETWEEN_LINES

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
