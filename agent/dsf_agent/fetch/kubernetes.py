"""Source type Kubernetes: measures of the agent's own cluster, as series in the shape of Prometheus."""

import asyncio
from typing import Final

from dsf_agent.fetch.promjson import Series
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire import measures
from dsf_wire.summary import Summary

BATCH_SERIES: Final = 2000
"""Series that are written before other tasks may run: about 5 ms."""


def fault(scorer: Summary) -> str | None:
    """Why the entry cannot be used with this type of source, or None."""
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
