"""TODO."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.track import ABSENT, Tracks


class GridScores:
    """The published scores at the points of a grid, one column for each score and cluster, computed once."""

    def __init__(
        self,
        *,
        tracks: Tracks,
        grid: TimeGrid,
        earlier: Callable[[str, str], float] = lambda _resource, _cluster: 0.0,
    ) -> None:
        """`earlier`: by how many seconds writes of a score on a cluster precede those of the tracks."""
        self.tracks = tracks
        self.grid = grid
        self.times = np.arange(grid.count, dtype=np.float64) * grid.step + grid.start
        self._earlier = earlier
        self._known: dict[tuple[str, str, str], npt.NDArray[np.int8]] = {}

    def column(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.int8] | None:
        """The score at each point; 0 where there is none. None if it is never published."""
        key = (resource, dimension, cluster)
        if key in self._known:
            return self._known[key]
        found = self._written(resource, dimension, cluster)
        if found is not None:
            found[found == ABSENT] = 0
            self._known[key] = found
        return found

    def present(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.bool_] | None:
        """Whether there is a score at each point, expired or not. None if it is never published."""
        found = self._written(resource, dimension, cluster)
        return None if found is None else found != ABSENT

    def _written(self, resource: str, dimension: str, cluster: str) -> npt.NDArray[np.int8] | None:
        track = self.tracks.get(resource, {}).get(cluster)
        values = track.values.get(dimension) if track is not None else None
        if track is None or values is None:
            return None
        # The first value stands for the time before the first write.
        written = np.concatenate(
            (np.array([ABSENT], dtype=np.int8), np.frombuffer(values, dtype=np.int8))
        )
        ends = np.full(len(written), len(self.times))
        ends[:-1] = self._first_points(
            np.frombuffer(track.at, dtype=np.float64) - self._earlier(resource, cluster)
        )
        ends[1:] -= ends[:-1]
        found: npt.NDArray[np.int8] = np.repeat(written, ends)
        return found

    def _first_points(self, at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The number of the first point at or after each moment; the number of points if there is none."""
        start, step = self.grid.start, self.grid.step
        numbers = np.ceil((at - start) / step)
        # The division may round to the wrong side of a point.
        unclear = numbers * step + start != at
        if unclear.any():
            near, at = numbers[unclear], at[unclear]
            near -= (near - 1) * step + start >= at
            near += near * step + start < at
            numbers[unclear] = near
        return np.clip(numbers, 0, len(self.times), out=numbers)
