"""The results of an answer that is large and unusual, or no JSON in a way that Python services write: NaN and
Infinity, half surrogate pairs.

The standard library reads them, result by result, from a window of the text, so that memory and the work of
one step are bounded whatever the answer holds.
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
    """The elements of ``results`` in the object that the body is. Raises ValueError and RecursionError."""
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
    """A body as text, of which a window is in memory."""

    def __init__(self, body: bytearray) -> None:
        self._body = body
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._taken = 0
        """Bytes that were decoded."""
        self._window = ""
        self._at = 0
        self._before = 0
        """Characters before the window."""
        self._json = json.JSONDecoder()

    def _more(self, size: int = WINDOW) -> bool:
        """Appends to the window; whether there was anything."""
        if self._taken >= len(self._body):
            return False
        piece = self._body[self._taken : self._taken + size]
        self._taken += len(piece)
        rest = self._window[self._at :]
        self._before += self._at
        self._window, self._at = rest + self._decode(piece, final=self._taken >= len(self._body)), 0
        return True

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._window):
                if self._window[self._at] not in _SPACE:
                    return self._window[self._at]
                self._at += 1
            if not self._more():
                return ""

    def expect(self, char: str) -> None:
        """Passes over this character."""
        if self.peek() != char:
            msg = f"expected {char!r} at character {self._before + self._at}"
            raise ValueError(msg)
        self._at += 1

    def separator(self, closing: str) -> None:
        """Passes over a comma; stops at the closing bracket."""
        if self.peek() != closing:
            self.expect(",")

    def value(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """The next value. The window grows twofold until all of it is there."""
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
                # A number may go on behind the window.
                self._more()
