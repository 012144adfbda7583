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

from dsf_wire.dimension import LABELS, fill
from dsf_wire.scorevalue import Aggregation, aggregate
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.state.metrics import StateMetrics
from gitops_dsf.sync.fetch import Fault, Fetcher

LOG = logging.getLogger(__name__)
AT_A_TIME: Final = 4
"""Queries at a time: nobody waits for a snapshot, and the Prometheus has other users."""

Raw = Mapping[str, Mapping[str, Mapping[str, float]]]
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

    def __init__(self, *, url: str, fetcher: Fetcher, metrics: StateMetrics) -> None:
        self._query = f"{url.rstrip('/')}/api/v1/query"
        self._fetcher, self._metrics = fetcher, metrics

    async def read(self, scorers: Iterable[DynamicScorer]) -> Raw:
        """What is there now. A scorer whose answer is no use has no raw scores in this snapshot; the log says
        why.
        """
        turn = asyncio.Semaphore(AT_A_TIME)

        async def one(item: DynamicScorer) -> tuple[str, Mapping[str, Mapping[str, float]]]:
            async with turn:
                return item.resource, await self._of(item)

        return dict(await asyncio.gather(*(one(item) for item in scorers)))

    async def _of(self, item: DynamicScorer) -> Mapping[str, Mapping[str, float]]:
        name = item.score_name
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        query = urlencode({"query": f'dynamic_score{{ds_score_name="{quoted}"}}'})
        answer = await self._fetcher.get(f"{self._query}?{query}")
        if isinstance(answer, Fault):
            return self._nothing(name, answer.message)
        try:
            samples = msgspec.json.decode(answer.body, type=_Answer).data.result
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._nothing(name, f"not an instant vector of Prometheus: {error}")
        return by_cluster(item, samples)

    def _nothing(self, name: str, why: str) -> Mapping[str, Mapping[str, float]]:
        self._metrics.raw_failures.inc()
        LOG.warning("no raw scores of %s: %s", name, why)
        return {}


def by_cluster(item: DynamicScorer, samples: Iterable[_Sample]) -> dict[str, dict[str, float]]:
    """Raw scores by cluster and dimension, with the scorer's format and aggregation, as the agent computes
    them.

    With scoreAggregation Last the order of the API's results decides, which metrics do not tell: where they
    differ, the raw score is left out.
    """
    found: dict[str, dict[str, list[float]]] = {}
    name, template = item.score_name, item.spec.dimension
    for sample in samples:
        cluster, value = sample.metric.get("ds_cluster", ""), _number(sample.value[1])
        if cluster and math.isfinite(value):
            labels = {label: sample.metric.get(f"ds_{label}", "") for label in LABELS}
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
