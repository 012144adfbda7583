"""One line on a terminal that says what a long command is at; nothing in pipes, files and logs."""

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

LARGE: Final = 500
"""Documents, works or files; stages over fewer are done before anybody could read a line about them."""

SECONDS_BETWEEN_LINES: Final = 0.1

_CLEAR: Final = "\r\x1b[K"
"""Back to the first column and erase to the end of the line (ECMA-48 EL); written to terminals only."""


class Progress:
    """The line, owned from the first stage until the context is left; then it is gone, so that the last word
    is the command's.
    """

    def __init__(self, *, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._wanted = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._doing, self._size, self._noun = "", 0, ""
        self._next = 0.0
        self._shown = False

    def stage(self, doing: str, size: int, noun: str) -> None:
        """Another stage begins: `checking 2,150 documents`."""
        self._doing, self._size, self._noun = doing, size, noun
        self._show(f"{doing} {size:,} {noun}")

    def step(self, done: int) -> None:
        """So many of the stage's things are done. Cheap: it may be called for each of them."""
        if self._wanted and self._clock() >= self._next:
            self._show(f"{self._doing} {self._size:,} {self._noun}: {100 * done // max(self._size, 1)} %")

    def clear(self) -> None:
        """Takes the line away, before anything else is written to the terminal."""
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
