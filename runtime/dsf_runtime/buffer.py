"""One body as it arrives, in memory that was set aside for it."""

from collections import deque
from typing import Final

BLOCK: Final = 1 << 20
"""Bytes that are kept together beyond the room: small pieces would take many times their size."""


class Buffer:
    """Room for ``room`` bytes from the start; what comes beyond is kept as it came until ``settle``.

    A large bytearray that grows is moved again and again, which doubles the peak of memory for a moment, and
    several that grow at a time leave holes between each other that nobody can use.
    """

    def __init__(self, room: int) -> None:
        self._bytes = bytearray(room)
        self._view = memoryview(self._bytes)
        self._full = False
        self._beyond: deque[bytearray] = deque()
        self.size = 0

    def add(self, piece: bytes) -> None:
        """The next piece."""
        end = self.size + len(piece)
        if not self._full and end <= len(self._view):
            # Through the view: assigning to a slice of the bytearray itself copies the piece first.
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
        """Moves a block of what is beyond the room to the rest; its size, or 0 when all is there."""
        if not self._beyond:
            return 0
        block = self._beyond.popleft()
        self._bytes += block
        return len(block)

    def taken(self, size: int) -> bytearray:
        """The first bytes; nothing may be added after this."""
        while self.settle():
            pass
        self._cut(size)
        return self._bytes

    def _cut(self, size: int) -> None:
        self._view.release()
        if len(self._bytes) > size:
            del self._bytes[size:]
