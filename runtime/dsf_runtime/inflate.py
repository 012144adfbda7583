"""gzip and deflate bodies, decoded in small steps, so that a small answer cannot become a huge one in memory
or hold the event loop.
"""

import zlib
from typing import Final

STEP: Final = 1 << 18
"""Bytes that one call may produce: about a millisecond of work."""
WINDOW: Final = 1 << 14
"""Compressed bytes that the engine sees at once. It copies what it leaves over, once for each member."""
EMPTY_MEMBERS: Final = 64
"""gzip members without content that a body may have. Tools that write several members end with one at
most.
"""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class InflateError(ValueError):
    """The body is not what its Content-Encoding says."""


class Inflater:
    """One compressed body. Feed it chunks, take pieces of at most STEP bytes until there is none."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._chunk = b""
        self._at = 0
        """Where the next window of the chunk begins."""
        self._pending = b""
        """What the engine left of its last window."""
        self._content = False
        """Whether this member gave content."""
        self._empty = 0

    def feed(self, chunk: bytes) -> None:
        """The next chunk, once there is no more to take of the last one."""
        self._chunk, self._at = chunk, 0

    def take(self) -> bytes:
        """The next piece, or nothing when more input is needed. Raises InflateError."""
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
