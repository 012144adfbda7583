"""The stage ``fetch``: queries the source of one scorer."""

import asyncio
from dataclasses import replace
from typing import Final

from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.errors import AgentError
from dsf_agent.fetch.prometheus import PrometheusSource
from dsf_agent.fetch.prometheus import fault as prometheus_fault
from dsf_agent.fetch.promjson import Series
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire import measures
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import Summary

BATCH_SERIES: Final = 2000
"""Series that are written before other tasks may run: about 5 ms."""


def _measures_fault(scorer: Summary) -> str | None:
    """Why the query names no measures, or None."""
    try:
        selections = measures.select(scorer.source_query)
    except measures.MeasureError as error:
        return f"sourceQuery: {error} (character {error.offset + 1})"
    if not selections:
        return "sourceQuery is empty; write the name of a measure, such as cpu_available_ratio"
    return None


class KubernetesSource:
    """Gives the present values, one point for each series, whatever range the entry names."""

    def __init__(self, *, scorer: Summary, cluster: Cluster) -> None:
        self._cluster = cluster
        self._selections = measures.select(scorer.source_query)

    async def fetch(self, *, now: float) -> Series:
        """The series at ``now``. Raises AgentError."""
        parts: list[bytes] = []
        found = await self._cluster.read(self._selections)
        for start in range(0, len(found), BATCH_SERIES):
            batch = (
                b'{"metric":%b,"values":[[%.15g,"%b"]]}' % (key, now, _number(value).encode())
                for key, value in found[start : start + BATCH_SERIES]
            )
            parts.append(b",".join(batch))
            await asyncio.sleep(0)
        return Series(parts=tuple(parts), count=len(found), size=sum(map(len, parts)))


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


PROMETHEUS: Final = "Prometheus"
NONE: Final = "None"
"""The scoring API needs no series."""


def has_series(scorer: Summary) -> bool:
    """Whether the entry has a source that is asked for series."""
    return _kind(scorer) != NONE


def fault(scorer: Summary) -> str | None:
    """Why the source of this entry cannot be used, or None."""
    match _kind(scorer):
        case "Prometheus":
            return prometheus_fault(scorer)
        case "Kubernetes":
            return _measures_fault(scorer)
        case "None":
            return None
        case kind:
            return f"sourceType {kind!r} is not one of {SOURCE_TYPE}, {NONE}, {PROMETHEUS}"


def _kind(scorer: Summary) -> str:
    """An entry with a query and without a type means Prometheus; upstream's agent would query no source."""
    return scorer.source_type or (PROMETHEUS if scorer.source_query.strip() else NONE)


class Fetch:
    """The first stage of a cycle, for one scorer."""

    def __init__(self, *, scorer: Summary, endpoint: Endpoint, cluster: Cluster) -> None:
        self._endpoint = endpoint
        self._name = f"MetricSource {scorer.source_ref}: " if scorer.source_ref else ""
        kind = _kind(scorer)
        self._source: PrometheusSource | KubernetesSource | None = None
        if kind == PROMETHEUS:
            self._source = PrometheusSource(scorer=scorer, endpoint=endpoint)
        elif kind == SOURCE_TYPE:
            self._source = KubernetesSource(scorer=scorer, cluster=cluster)

    async def __call__(self, *, now: float) -> Series:
        """The series at ``now`` (Unix seconds). Raises AgentError."""
        if self._source is None:
            return Series()
        try:
            series = await self._source.fetch(now=now)
        except AgentError as error:
            raise error.anew(self._name + self._endpoint.hide(str(error)), stage="fetch") from error
        return replace(series, warnings=tuple(map(self._endpoint.hide, series.warnings)))
