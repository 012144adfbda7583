"""Decodes gzip and deflate bodies in small steps, so that a small answer can neither fill the memory nor
block the event loop.
"""

import zlib
from typing import Final

STEP: Final = 1 << 18
"""Most bytes that one call produces: about a millisecond of work."""
WINDOW: Final = 1 << 14
"""Compressed bytes that zlib gets at once. It copies the unused rest for each gzip member."""
EMPTY_MEMBERS: Final = 64
"""Most gzip members without content in a body. Tools that write several members end with at most one."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class InflateError(ValueError):
    """The body does not match its Content-Encoding."""


class Inflater:
    """Decodes one compressed body. Feed it a chunk, then take pieces of at most STEP bytes until there is
    none.
    """

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._chunk = b""
        self._at = 0
        """Start of the next window in the chunk."""
        self._pending = b""
        """The rest of the last window that zlib did not use."""
        self._content = False
        """Whether the current gzip member had content."""
        self._empty = 0

    def feed(self, chunk: bytes) -> None:
        """Takes the next chunk. Call it when the last chunk gives no more pieces."""
        self._chunk, self._at = chunk, 0

    def take(self) -> bytes:
        """The next piece, or empty bytes if more input is needed. Raises InflateError."""
        while self._pending or self._at < len(self._chunk):
            if not self._pending:
                self._pending = self._chunk[self._at : self._at + WINDOW]
                self._at += WINDOW
            if self._engine.eof:
                self._next_member()
            try:
                piece = self._engine.decompress(self._pending, STEP)
            except zlib.error as error:
                msg = f"the compressed body is damaged: {error}"
                raise InflateError(msg) from error
            self._pending = self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail
            if piece:
                self._content = True
                return piece
        return b""

    @property
    def complete(self) -> bool:
        """Whether the body ends here."""
        return self._engine.eof and not self._pending and self._at >= len(self._chunk)

    def _next_member(self) -> None:
        """RFC 1952 section 2.2: a gzip file may be a sequence of members."""
        self._empty += not self._content
        if self._empty > EMPTY_MEMBERS:
            msg = f"the compressed body has more than {EMPTY_MEMBERS} empty gzip members"
            raise InflateError(msg)
        self._engine, self._content = zlib.decompressobj(_GZIP_OR_ZLIB), False
