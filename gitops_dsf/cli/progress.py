"""Shows how far a long command is, in one line of the terminal. Writes nothing to pipes, files and logs."""

import time
from types import TracebackType
from typing import Final, Self, TextIO

SECONDS_BETWEEN_LINES: Final = 0.1
_CLEAR: Final = "\r\x1b[K"
"""Returns to the first column and erases to the end of the line (ECMA-48 EL)."""


class Progress:
    """Context manager that owns the line. It erases the line at the end."""

    def __init__(self, *, stream: TextIO) -> None:
        self._stream = stream
        self._wanted = stream.isatty()
        self._next = 0.0

    def step(self, doing: str, done: int, size: int) -> None:
        """Shows `reading cpu: 40 %`. It is cheap enough to be called often."""
        if self._wanted and time.monotonic() >= self._next:
            self._write(f"{doing}: {100 * done // max(size, 1)} %")
            self._next = time.monotonic() + SECONDS_BETWEEN_LINES

    def clear(self) -> None:
        """Erases the line. Call it before writing anything else to the terminal."""
        if self._next:
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"{_CLEAR}{text}")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
