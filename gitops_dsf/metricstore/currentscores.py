"""Asks a store for the raw scores of now.

The question is a range query of one point, which is an instant query: so the answer is read, and
bounded in bytes and time, as each page of a history is.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import MAX_LABEL, SCORE_NAME_LABEL, label_of, selector
from gitops_dsf.backtest.rawscores import SeriesReader, StoredSeries, exported
from gitops_dsf.hub.raw_results import ClusterResults, Labels, RawResult
from gitops_dsf.metricstore.answer import Matrix
from gitops_dsf.metricstore.client import MetricStore
from gitops_dsf.metricstore.errors import StoreError

MAX_SERIES: Final = 400_000
"""Of one answer. The raw scores of 2,000 clusters with 50 items each have 300,000."""
MAX_AGE: Final = 600.0
"""Seconds. Prometheus answers with samples of the last 5 minutes, other stores with older ones."""
MAX_AHEAD: Final = 60.0
"""Seconds by which the clock of a scraped agent's Prometheus may be ahead of this one."""
PART_LABEL: Final = "gitops_dsf_part"
"""Says what a series of the answer is: the lowest number, the highest one, or the time."""

ByCluster = Mapping[str, ClusterResults]


@dataclass(kw_only=True)
class _Cell:
    """What is known of one result on one cluster."""

    low: float = math.nan
    high: float = math.nan
    measured: float = math.nan

    @property
    def is_whole(self) -> bool:
        return all(map(math.isfinite, (self.low, self.high, self.measured)))


def query_of_now(score_names: Iterable[str], *, cluster_label: str) -> str:
    """PromQL for raw scores and the times at which they were measured.

    Replicas of a Prometheus and the two agents of a restart have series of their own, so there may
    be several numbers of one result. Their bounds are asked for.
    """
    metric = selector(*score_names)
    labels = ", ".join((cluster_label, SCORE_NAME_LABEL, *map(label_of, LABELS)))
    return " or ".join(
        f'label_replace({expression}, "{PART_LABEL}", "{part}", "", "")'
        for part, expression in (
            ("low", f"min by ({labels}) ({metric})"),
            ("high", f"max by ({labels}) ({metric})"),
            ("time", f"min by ({labels}) (timestamp({metric}))"),
        )
    )


async def exported_now(
    store: MetricStore, score_names: Collection[str], *, cluster_label: str, at: float
) -> Mapping[str, ByCluster]:
    """The raw scores that agents exported, by score name, then by cluster. Raises StoreError.

    A cluster of which a part cannot be read is left out: the rest could be aggregated wrongly.
    """
    query = query_of_now(score_names, cluster_label=cluster_label)
    answer = await _asked(store, query, at=at)
    read = exported(cluster_label)
    cells: dict[tuple[str, str], dict[Labels, _Cell]] = {}
    for series in answer.series:
        score_name = series.labels.get(SCORE_NAME_LABEL, "")
        cluster, labels = read(series.labels)
        cell = cells.setdefault((score_name, cluster), {}).setdefault(labels, _Cell())
        _fill(cell, series)
    by_score: dict[str, dict[str, ClusterResults]] = {name: {} for name in score_names}
    for (score_name, cluster), by_labels in cells.items():
        results = _results(by_labels, at=at)
        if results is not None and cluster and score_name in by_score:
            by_score[score_name][cluster] = results
    return by_score


async def evaluated_now(
    store: MetricStore,
    query: str,
    *,
    read: SeriesReader,
    parameters: Mapping[str, str],
    at: float,
) -> ByCluster:
    """The results of a query of the hub scorer by cluster. Raises StoreError.

    They are as old as the evaluation: a query says nothing of the age of its metrics.
    """
    answer = await _asked(store, query, at=at, parameters=parameters)
    by_cluster: dict[str, list[RawResult]] = {}
    for series in answer.series:
        cluster, labels = read(series.labels)
        value = _value(series)
        # The agent drops results that are not finite.
        if cluster and math.isfinite(value):
            # Two series with the same known labels are two results: the agent aggregates both.
            result = RawResult(labels=labels, low=value, high=value)
            by_cluster.setdefault(cluster, []).append(result)
    return {
        cluster: ClusterResults(results=tuple(results), measured=at)
        for cluster, results in by_cluster.items()
    }


async def _asked(
    store: MetricStore, query: str, *, at: float, parameters: Mapping[str, str] = {}
) -> Matrix:
    """The only page of an answer. Raises StoreError."""
    async for page in store.pages(query, start=at, step=1, count=1, parameters=parameters):
        answer = page.answer
        if answer.lost:
            raise StoreError(f"the store says that data is missing: {answer.lost}")
        if len(answer.series) > MAX_SERIES:
            raise StoreError(
                f"the store answered with {len(answer.series):,} series, more than {MAX_SERIES:,}"
            )
        return answer
    raise StoreError("the store gave no answer")


def _fill(cell: _Cell, series: StoredSeries) -> None:
    part = series.labels.get(PART_LABEL)
    if part == "low":
        cell.low = _value(series)
    elif part == "high":
        cell.high = _value(series)
    elif part == "time":
        cell.measured = _value(series)


def _value(series: StoredSeries) -> float:
    return float(series.values[-1]) if len(series.values) else math.nan


def _results(by_labels: Mapping[Labels, _Cell], *, at: float) -> ClusterResults | None:
    """The results of a cluster; None if one is incomplete, cut, too old or of the future."""
    results = []
    for labels, cell in by_labels.items():
        if not cell.is_whole or any(len(value) >= MAX_LABEL for value in labels):
            return None
        if not -MAX_AHEAD <= at - cell.measured <= MAX_AGE or cell.low > cell.high:
            return None
        results.append(RawResult(labels=labels, low=cell.low, high=cell.high))
    measured = min(cell.measured for cell in by_labels.values())
    return ClusterResults(results=tuple(results), measured=measured)
