"""Raw scores of a scorer at the points of a grid, from the series of a metric store."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import label_of, selector
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.hub.raw_results import LabelValues
from gitops_dsf.hub.raw_series import SeriesReader

RawValues = npt.NDArray[np.float64]
"""Raw scores at consecutive points of a grid; NaN where there is no result."""
Results = Mapping[str, Mapping[LabelValues, RawValues]]
"""Results by cluster, then by labels."""


@dataclass(frozen=True, kw_only=True)
class StoredSeries:
    """A series of a metric store with its samples, in order of time."""

    labels: Mapping[str, str]
    times: npt.NDArray[np.float64]
    """Unix seconds."""
    values: npt.NDArray[np.float64]


def query_of(score_name: str, *, cluster_label: str) -> str:
    """PromQL for the raw scores that agents exported under a score name."""
    # A restarted agent is another target with other labels. So the labels of the score alone make
    # a series; `max` joins the two of a restart.
    kept = ", ".join((cluster_label, *map(label_of, LABELS)))
    return f"max by ({kept}) ({selector(score_name)})"


def results(
    series: Iterable[StoredSeries], *, read: SeriesReader, grid: TimeGrid, first: int, count: int
) -> Results:
    """The raw scores at `count` points of the grid from `first` on; NaN where there is none.

    A sample between two points is that of the next one, as a store would answer. Of several samples
    between two points, the last one counts.
    """
    rows: dict[str, dict[LabelValues, RawValues]] = {}
    start = grid.at(first)
    times = np.arange(count, dtype=np.float64) * grid.step + start
    # The series of an answer share one array of times, so it is compared once, not for each series.
    compared = times
    has_every_point = True
    for stored in series:
        cluster, labels = read(stored.labels)
        of_cluster = rows.setdefault(cluster, {})
        if stored.times is not compared:
            compared = stored.times
            has_every_point = np.array_equal(stored.times, times)
        if has_every_point and labels not in of_cluster:
            of_cluster[labels] = stored.values.copy()
            continue
        row = of_cluster.setdefault(labels, np.full(count, np.nan))
        # Prometheus knows times in milliseconds, so a sample may be a little after its point.
        numbers = np.ceil((stored.times - start) / grid.step - 1e-3).astype(np.int64)
        is_inside = (numbers >= 0) & (numbers < count)
        row[numbers[is_inside]] = stored.values[is_inside]
    return rows


def samples_of(raw_scores: Results, clusters: Collection[str]) -> int:
    """The number of samples of the raw scores of these clusters."""
    samples = 0
    for cluster, by_labels in raw_scores.items():
        if cluster in clusters:
            for row in by_labels.values():
                samples += int(np.count_nonzero(~np.isnan(row)))
    return samples
