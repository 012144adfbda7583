"""Asks a metric store for the raw scores of now.

The request is a range query of one point, which is an instant query: so the answer is read, and
bounded in bytes and time, as each page of a history is.
"""

import math
from collections.abc import Collection, Mapping
from typing import Final

from gitops_dsf.backtest.rawscores import StoredSeries
from gitops_dsf.hub.raw_results import ByCluster, ClusterResults, RawResult
from gitops_dsf.hub.raw_series import SeriesReader
from gitops_dsf.metricstore.answer import Matrix
from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.metricstore.errors import StoreError
from gitops_dsf.metricstore.rawanswers import NumberedSeries, exported_results, query_of_now

MAX_SERIES: Final = 400_000
"""Upper limit of one answer. The raw scores of 2,000 clusters with 50 items each have 300,000."""


async def exported_now(
    store: OpenStore, score_names: Collection[str], *, cluster_label: str, at: float
) -> Mapping[str, ByCluster]:
    """The raw scores that agents exported, by score name, then by cluster. Raises StoreError."""
    query = query_of_now(score_names, cluster_label=cluster_label)
    answer = await _asked(store, query, at=at)
    samples = (NumberedSeries(series.labels, _value(series)) for series in answer.series)
    return exported_results(samples, score_names, cluster_label=cluster_label, at=at)


async def evaluated_now(
    store: OpenStore,
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
    store: OpenStore, query: str, *, at: float, parameters: Mapping[str, str] = {}
) -> Matrix:
    """The only page of an answer. Raises StoreError."""
    async for page in store.pages(query, start=at, step=1, count=1, parameters=parameters):
        answer = page.answer
        # A store that lost a shard would look like one in which clusters have no scores.
        if answer.lost:
            raise StoreError(f"the store says that data is missing: {answer.lost}")
        if len(answer.series) > MAX_SERIES:
            raise StoreError(
                f"the store answered with {len(answer.series):,} series, more than {MAX_SERIES:,}"
            )
        return answer
    raise StoreError("the store gave no answer")


def _value(series: StoredSeries) -> float:
    # No point is not 0: what is not finite is dropped, as the agent drops it.
    return float(series.values[-1]) if len(series.values) else math.nan
