"""The published scores at the points of a grid, with numpy."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.track import ABSENT, Tracks

GridColumn = npt.NDArray[np.int8]
"""A score at each point of a grid."""
_BEFORE_THE_FIRST_WRITE: Final = np.array([ABSENT], dtype=np.int8)


class _ColumnKey(NamedTuple):
    resource: str
    dimension: str
    cluster: str


class GridScores:
    """One column for each score and cluster, computed once, when it is asked for."""

    def __init__(
        self,
        *,
        tracks: Tracks,
        grid: TimeGrid,
        earlier: Callable[[str, str], float] = lambda _resource, _cluster: 0.0,
    ) -> None:
        """`earlier`: by how many seconds writes of a score on a cluster precede the tracks."""
        self.tracks = tracks
        self.grid = grid
        self.times = np.arange(grid.count, dtype=np.float64) * grid.step + grid.start
        self._earlier = earlier
        self._columns: dict[_ColumnKey, GridColumn] = {}

    def column(self, resource: str, dimension: str, cluster: str) -> GridColumn | None:
        """The score at each point; 0 where there is none. None if it is never published."""
        # Many Placements rank by the same few scores.
        key = _ColumnKey(resource, dimension, cluster)
        if key in self._columns:
            return self._columns[key]
        column = self._published(resource, dimension, cluster)
        if column is not None:
            # OCM counts a missing score as 0
            # (docs/decisions/scheduler.md#what-the-scores-do-not-say).
            column[column == ABSENT] = 0
            self._columns[key] = column
        return column

    def present(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.bool_] | None:
        """Whether there is a score at each point, expired or not. None if it is never published."""
        column = self._published(resource, dimension, cluster)
        return None if column is None else column != ABSENT

    def known(self, resource: str, dimension: str, cluster: str) -> GridColumn | None:
        """The score at each point; ABSENT where there is none, or where it has expired.

        None if it is never published.
        """
        column = self._published(resource, dimension, cluster)
        if column is None:
            return None
        for expiry in self.tracks[resource][cluster].expiries:
            # Looked up, because a comparison goes through all points for each expiry.
            first = np.searchsorted(self.times, expiry.until, side="right")
            end = np.searchsorted(self.times, expiry.renewed)
            column[first:end] = ABSENT
        return column

    def _published(self, resource: str, dimension: str, cluster: str) -> GridColumn | None:
        """The score at each point; ABSENT where there is none."""
        track = self.tracks.get(resource, {}).get(cluster)
        if track is None or dimension not in track.values:
            return None
        # Without a copy: a history has millions of writes.
        values = np.frombuffer(track.values[dimension], dtype=np.int8)
        written = np.concatenate((_BEFORE_THE_FIRST_WRITE, values))
        # Each value stands from its first point to the first point of the next write.
        lengths = np.full(len(written), len(self.times))
        lengths[:-1] = self._first_points(
            np.frombuffer(track.at, dtype=np.float64) - self._earlier(resource, cluster)
        )
        lengths[1:] -= lengths[:-1]
        column: GridColumn = np.repeat(written, lengths)
        return column

    def _first_points(self, moments: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The first point at or after each moment; the number of points if there is none."""
        start = self.grid.start
        step = self.grid.step
        numbers = np.ceil((moments - start) / step)
        # The division may round to the wrong side of a point.
        is_unclear = numbers * step + start != moments
        if is_unclear.any():
            near = numbers[is_unclear]
            of_near = moments[is_unclear]
            near -= (near - 1) * step + start >= of_near
            near += near * step + start < of_near
            numbers[is_unclear] = near
        return np.clip(numbers, 0, len(self.times), out=numbers)
