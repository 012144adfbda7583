"""Past samples of one scorer, limited in bytes. Pure."""

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

SNAPSHOT_BYTES: Final = 200
"""What a snapshot needs besides its values and labels."""
VALUE_BYTES: Final = 8
KEY_BYTES: Final = 150
"""What the labels of a series need besides their text. Snapshots with the same series share them."""

Key = bytes
"""The labels of a series as JSON."""


class _Places:
    """Where each series has its value. Snapshots with the same series share it."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.index = {key: place for place, key in enumerate(keys)}
        self.size = sum(KEY_BYTES + len(key) for key in keys)
        self.users = 0
        """Number of snapshots."""


@dataclass(frozen=True, slots=True)
class _Snapshot:
    at: float
    places: _Places
    values: "array[float]"

    @property
    def size(self) -> int:
        return SNAPSHOT_BYTES + VALUE_BYTES * len(self.values)


class History:
    """Snapshots of the last ``seconds``, oldest first. If they need more than ``most_bytes``, the oldest
    ones go.
    """

    def __init__(self, *, seconds: int, most_bytes: int) -> None:
        self.seconds = seconds
        self.most_bytes = most_bytes
        self.shortened = False
        """Whether snapshots had to go before they were old enough."""
        self._snapshots: deque[_Snapshot] = deque()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of all snapshots and their labels."""
        return self._size

    def __len__(self) -> int:
        return len(self._snapshots)

    def record(self, samples: Sequence[tuple[Key, float]], *, at: float) -> None:
        """Adds the samples of one moment. An earlier moment than the last one is ignored, as after a clock
        that was set back.
        """
        last = self._snapshots[-1] if self._snapshots else None
        if last is not None and at <= last.at:
            if at > last.at - self.seconds:
                return
            # The clock was far ahead before.
            self._snapshots.clear()
            self._size = 0
            last = None
        keys = [key for key, _ in samples]
        places = last.places if last is not None and list(last.places.index) == keys else _Places(keys)
        self._add(_Snapshot(at=at, places=places, values=array("d", (value for _, value in samples))))
        while self._snapshots[0].at < at - self.seconds:
            self._drop()
            self.shortened = False
        while self._size > self.most_bytes and len(self._snapshots) > 1:
            self._drop()
            self.shortened = True

    def points(self, key: Key, *, since: float, before: float) -> Iterator[tuple[float, float]]:
        """Times and values of one series, ``since`` included and ``before`` not."""
        for snapshot in self._snapshots:
            place = snapshot.places.index.get(key)
            if place is not None and since <= snapshot.at < before:
                yield snapshot.at, snapshot.values[place]

    def _add(self, snapshot: _Snapshot) -> None:
        self._snapshots.append(snapshot)
        self._size += snapshot.size
        if not snapshot.places.users:
            self._size += snapshot.places.size
        snapshot.places.users += 1

    def _drop(self) -> None:
        snapshot = self._snapshots.popleft()
        self._size -= snapshot.size
        snapshot.places.users -= 1
        if not snapshot.places.users:
            self._size -= snapshot.places.size
