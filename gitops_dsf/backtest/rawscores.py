"""TODO."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import label_of, selector
from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.backtest.publisher import Labels

Values = npt.NDArray[np.float64]
"""Raw scores at consecutive points of a grid; NaN where there is no result."""


Results = Mapping[str, Mapping[Labels, Values]]
"""By cluster, then by labels."""


SeriesReader = Callable[[Mapping[str, str]], tuple[str, Labels]]
"""Reads cluster and labels of a series."""


@dataclass(frozen=True, kw_only=True)
class StoredSeries:
    """A series of a metric store with its samples, in order of time."""

    labels: Mapping[str, str]
    times: npt.NDArray[np.float64]
    """Unix seconds."""
    values: npt.NDArray[np.float64]


def query_of(score_name: str, *, cluster_label: str) -> str:
    """PromQL for the raw scores that agents exported under a score name. A restarted agent has other labels
    of its target, so the labels of the score alone make a series.
    """
    kept = ", ".join((cluster_label, *map(label_of, LABELS)))
    return f"max by ({kept}) ({selector(score_name)})"


def exported(cluster_label: str) -> SeriesReader:
    """Reads a series of dynamic_score."""
    names = [label_of(name) for name in LABELS]
    return lambda labels: (
        labels.get(cluster_label, ""),
        tuple(labels.get(name, "") for name in names),
    )


def evaluated(label: str, clusters: Iterable[tuple[str, str]]) -> SeriesReader:
    """Reads a series of a query evaluated anew. `clusters`: the label's values, and what they mean."""
    known = dict(clusters)
    return lambda labels: (
        known.get(labels.get(label, ""), ""),
        tuple(labels.get(name, "") for name in LABELS),
    )


def results(
    series: Iterable[StoredSeries], *, read: SeriesReader, grid: TimeGrid, first: int, count: int
) -> Results:
    """The results at `count` points of the grid from `first` on, by cluster and labels; NaN where there is
    none. A sample between two points is that of the next one, as a store would answer; the last of several
    counts.
    """
    found: dict[str, dict[Labels, Values]] = {}
    start = grid.at(first)
    times = np.arange(count, dtype=np.float64) * grid.step + start
    compared, is_whole = times, True
    for item in series:
        cluster, labels = read(item.labels)
        by_labels = found.setdefault(cluster, {})
        # The series of an answer share their times.
        if item.times is not compared:
            compared, is_whole = item.times, np.array_equal(item.times, times)
        if is_whole and labels not in by_labels:
            by_labels[labels] = item.values.copy()
            continue
        row = by_labels.setdefault(labels, np.full(count, np.nan))
        places = (item.times - start) / grid.step
        numbers = np.ceil(places - 1e-3).astype(np.int64)
        inside = (numbers >= 0) & (numbers < count)
        row[numbers[inside]] = item.values[inside]
    return found


def samples_of(found: Results, clusters: Collection[str]) -> int:
    """How many samples the results of these clusters have."""
    return sum(
        int(np.count_nonzero(~np.isnan(row)))
        for cluster, by_labels in found.items()
        if cluster in clusters
        for row in by_labels.values()
    )
