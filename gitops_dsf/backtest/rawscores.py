"""From the series of a metric store to the raw scores of a scorer at the points of a grid."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

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


class SeriesIdentity(NamedTuple):
    """What a series is about."""

    cluster: str
    """Empty if the series names no cluster of the fleet."""
    labels: Labels


SeriesReader = Callable[[Mapping[str, str]], SeriesIdentity]
"""Reads the identity of a series from its labels."""


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


def exported(cluster_label: str) -> SeriesReader:
    """A reader for series of the metric dynamic_score."""
    names = tuple(map(label_of, LABELS))

    def read(labels: Mapping[str, str]) -> SeriesIdentity:
        return SeriesIdentity(labels.get(cluster_label, ""), _values_of(labels, names))

    return read


def evaluated(label: str, clusters: Iterable[tuple[str, str]]) -> SeriesReader:
    """A reader for series of a query that is evaluated anew.

    `clusters` are values of the label, and the clusters that they mean.
    """
    cluster_by_value = dict(clusters)

    def read(labels: Mapping[str, str]) -> SeriesIdentity:
        cluster = cluster_by_value.get(labels.get(label, ""), "")
        return SeriesIdentity(cluster, _values_of(labels, LABELS))

    return read


def _values_of(labels: Mapping[str, str], names: Iterable[str]) -> Labels:
    return tuple([labels.get(name, "") for name in names])


def results(
    series: Iterable[StoredSeries], *, read: SeriesReader, grid: TimeGrid, first: int, count: int
) -> Results:
    """The raw scores at `count` points of the grid from `first` on; NaN where there is none.

    A sample between two points is that of the next one, as a store would answer. Of several samples
    between two points, the last one counts.
    """
    rows: dict[str, dict[Labels, Values]] = {}
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
    """How many samples the raw scores of these clusters have."""
    samples = 0
    for cluster, by_labels in raw_scores.items():
        if cluster in clusters:
            for row in by_labels.values():
                samples += int(np.count_nonzero(~np.isnan(row)))
    return samples
