"""Reads answers that are large and have unusual formatting, or that are not valid JSON in a way that Python
services produce: NaN, Infinity, half surrogate pairs.

The standard library decodes one result at a time from a window of the text, so memory and the work of one
step are limited for any answer.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any, Final

WINDOW: Final = 1 << 16
"""Bytes that are decoded at a time."""
LONGEST_VALUE: Final = 1 << 20
"""Characters of one result, or of the value of another key."""

_SPACE: Final = " \t\n\r"


def elements(body: bytearray) -> Iterator[Any]:
    """Yields the elements of ``results`` in the body. Raises ValueError and RecursionError."""
    text = _Text(body)
    found = False
    text.expect("{")
    while text.peek() != "}":
        key = text.value()
        text.expect(":")
        if key == "results":
            found = True
            text.expect("[")
            while text.peek() != "]":
                yield text.value()
                text.separator("]")
            text.expect("]")
        else:
            text.value()
        text.separator("}")
    text.expect("}")
    if not found:
        msg = "there is no list named results"
        raise ValueError(msg)
    if text.peek():
        msg = "something follows the object"
        raise ValueError(msg)


class _Text:
    """A body as text. Only a window of the text is in memory."""

    def __init__(self, body: bytearray) -> None:
        self._body = body
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._taken = 0
        """Number of bytes that were decoded."""
        self._window = ""
        self._at = 0
        self._before = 0
        """Characters before the window."""
        self._json = json.JSONDecoder()

    def _more(self, size: int = WINDOW) -> bool:
        """Appends to the window. Returns whether there were more bytes."""
        if self._taken >= len(self._body):
            return False
        piece = self._body[self._taken : self._taken + size]
        self._taken += len(piece)
        rest = self._window[self._at :]
        self._before += self._at
        self._window, self._at = rest + self._decode(piece, final=self._taken >= len(self._body)), 0
        return True

    def peek(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            while self._at < len(self._window):
                if self._window[self._at] not in _SPACE:
                    return self._window[self._at]
                self._at += 1
            if not self._more():
                return ""

    def expect(self, char: str) -> None:
        """Skips this character. Raises ValueError if another one follows."""
        if self.peek() != char:
            msg = f"expected {char!r} at character {self._before + self._at}"
            raise ValueError(msg)
        self._at += 1

    def separator(self, closing: str) -> None:
        """Skips a comma, or stops before the closing bracket."""
        if self.peek() != closing:
            self.expect(",")

    def value(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Decodes the next value. The window doubles until it contains the whole value."""
        self.peek()
        while True:
            try:
                found, end = self._json.raw_decode(self._window, self._at)
            except json.JSONDecodeError:
                if len(self._window) - self._at > LONGEST_VALUE:
                    msg = f"no value, or one of more than {LONGEST_VALUE} characters"
                    msg += f", at character {self._before + self._at}"
                    raise ValueError(msg) from None
                if not self._more(max(WINDOW, len(self._window) - self._at)):
                    raise
            else:
                if end < len(self._window) or self._taken >= len(self._body):
                    self._at = end
                    return found
                # A number may continue after the window.
                self._more()
