"""One body as it arrives, in memory that was set aside for it."""


class Buffer:
    """Room for ``room`` bytes from the start, and more as needed.

    A bytearray that grows by itself is moved again and again, which doubles the peak of memory for a moment.
    """

    def __init__(self, room: int) -> None:
        self._bytes = bytearray(room)
        self._view = memoryview(self._bytes)
        self._full = False
        self.size = 0

    def add(self, piece: bytes) -> None:
        end = self.size + len(piece)
        if not self._full and end <= len(self._view):
            # Through the view: assigning to a slice of the bytearray itself copies the piece first.
            self._view[self.size : end] = piece
        else:
            self._cut(self.size)
            self._full = True
            self._bytes += piece
        self.size = end

    def taken(self, size: int) -> bytearray:
        """The first bytes; nothing may be added after this."""
        self._cut(size)
        return self._bytes

    def _cut(self, size: int) -> None:
        self._view.release()
        if len(self._bytes) > size:
            del self._bytes[size:]
