"""A body as it arrives, in preallocated memory."""

from collections import deque
from typing import Final

BLOCK: Final = 1 << 20
"""Pieces beyond the preallocated room are joined into blocks of this size, because small objects need many
times their size in memory.
"""


class Buffer:
    """Preallocates ``room`` bytes. Bytes beyond that are kept in blocks until ``settle``.

    A large bytearray that grows is moved again and again, which doubles the memory for a moment. Several that
    grow at the same time fragment the memory.
    """

    def __init__(self, room: int) -> None:
        self._bytes = bytearray(room)
        self._view = memoryview(self._bytes)
        self._full = False
        self._beyond: deque[bytearray] = deque()
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Adds a piece."""
        end = self.size + len(piece)
        if not self._full and end <= len(self._view):
            # Assigning to a slice of the bytearray itself would copy the piece first.
            self._view[self.size : end] = piece
        else:
            if not self._full:
                self._cut(self.size)
                self._full = True
            if not self._beyond or len(self._beyond[-1]) + len(piece) > BLOCK:
                self._beyond.append(bytearray())
            self._beyond[-1] += piece
        self.size = end

    def settle(self) -> int:
        """Appends one block to the preallocated bytes. Returns its size, or 0 if there is none left."""
        if not self._beyond:
            return 0
        block = self._beyond.popleft()
        self._bytes += block
        return len(block)

    def taken(self, size: int) -> bytearray:
        """The first ``size`` bytes. Nothing may be added after this."""
        while self.settle():
            pass
        self._cut(size)
        return self._bytes

    def _cut(self, size: int) -> None:
        self._view.release()
        if len(self._bytes) > size:
            del self._bytes[size:]
