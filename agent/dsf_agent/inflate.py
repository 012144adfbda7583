"""gzip and deflate bodies, decoded with a bound on the output, so that a small answer cannot become a huge
one in memory.
"""

import zlib
from typing import Final

STEP: Final = 1 << 20
"""Bytes that one call may produce: keeps the event loop responsive and the overshoot over a limit small."""

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class InflateError(ValueError):
    """The body is not what its Content-Encoding says."""


class Inflater:
    """One compressed body. Feed it chunks, take pieces of at most STEP bytes until there is none."""

    def __init__(self) -> None:
        self._engine = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._pending = b""

    def feed(self, chunk: bytes) -> None:
        self._pending += chunk

    def take(self) -> bytes:
        """The next piece, or nothing when more input is needed. Raises InflateError."""
        while self._pending:
            if self._engine.eof:
                # RFC 1952 section 2.2: a gzip file may be a sequence of members.
                self._engine = zlib.decompressobj(_GZIP_OR_ZLIB)
            try:
                piece = self._engine.decompress(self._pending, STEP)
            except zlib.error as error:
                msg = f"the compressed body is damaged: {error}"
                raise InflateError(msg) from error
            self._pending = self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail
            if piece:
                return piece
        return b""

    @property
    def complete(self) -> bool:
        return self._engine.eof and not self._pending
