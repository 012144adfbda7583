"""Raw scores of all clusters, from a Prometheus that collects every agent's `dynamic_score`
(docs/preview.md).
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
from prometheus_client import Counter

from dsf_wire.dimension import LABELS, fill
from dsf_wire.rawscores import CLUSTER_LABEL, label_of, selector
from dsf_wire.scorevalue import Aggregation, aggregate
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.sync.fetch import Fault, Fetcher

LOG = logging.getLogger(__name__)
AT_A_TIME: Final = 4
"""Concurrent queries. Few, because a snapshot is not urgent and Prometheus has other users."""

RawScoreTable = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By name of the AddOnPlacementScore, cluster and dimension."""


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True):
    result: list[_Sample]


class _Answer(msgspec.Struct, frozen=True):
    """https://prometheus.io/docs/prometheus/latest/querying/api/ "Instant queries", with a vector as the
    result.
    """

    status: str
    data: _Data


class RawScores:
    """Asks one Prometheus HTTP API; `url` is its base, as sources of scorers name it."""

    def __init__(self, *, url: str, fetcher: Fetcher, failures: Counter) -> None:
        self._query = f"{url.rstrip('/')}/api/v1/query"
        self._fetcher, self._failures = fetcher, failures

    async def read(self, scorers: Iterable[DynamicScorer]) -> RawScoreTable:
        """Raw scores as they are now. A scorer whose query fails gets none in this snapshot; the log has the
        reason.
        """
        places = asyncio.Semaphore(AT_A_TIME)

        async def one(item: DynamicScorer) -> tuple[str, Mapping[str, Mapping[str, float]]]:
            async with places:
                return item.resource, await self._of(item)

        return dict(await asyncio.gather(*(one(item) for item in scorers)))

    async def _of(self, item: DynamicScorer) -> Mapping[str, Mapping[str, float]]:
        name = item.score_name
        query = urlencode({"query": selector(name)})
        answer = await self._fetcher.get(f"{self._query}?{query}")
        if isinstance(answer, Fault):
            return self._nothing(name, answer.message)
        try:
            samples = msgspec.json.decode(answer.body, type=_Answer).data.result
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._nothing(name, f"the answer is not an instant vector of Prometheus: {error}")
        return by_cluster(item, samples)

    def _nothing(self, name: str, why: str) -> Mapping[str, Mapping[str, float]]:
        self._failures.inc()
        LOG.warning("no raw scores of scorer %s in the snapshot: %s", name, why)
        return {}


def by_cluster(item: DynamicScorer, samples: Iterable[_Sample]) -> dict[str, dict[str, float]]:
    """Raw scores by cluster and dimension, computed as the agent does: with the scorer's format and
    aggregation.

    With scoreAggregation Last the order of the API's results decides, and metrics do not keep it. So a raw
    score is left out when the results differ.
    """
    found: dict[str, dict[str, list[float]]] = {}
    name, template = item.score_name, item.spec.dimension
    for sample in samples:
        cluster, value = sample.metric.get(CLUSTER_LABEL, ""), _number(sample.value[1])
        if cluster and math.isfinite(value):
            labels = {label: sample.metric.get(label_of(label), "") for label in LABELS}
            dimension = fill(template, cluster=cluster, score_name=name, labels=labels)
            found.setdefault(cluster, {}).setdefault(dimension, []).append(value)
    how = Aggregation(item.spec.aggregation)
    return {
        cluster: {
            dimension: aggregate(values, how)
            for dimension, values in table.items()
            if how is not Aggregation.LAST or len(set(values)) == 1
        }
        for cluster, table in found.items()
    }


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
