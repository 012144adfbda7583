"""Source type Kubernetes: measures of the agent's own cluster, as series in the shape of Prometheus."""

import asyncio
from collections.abc import Iterable
from typing import Final

from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.errors import FetchError, Reason
from dsf_agent.fetch.series import Series
from dsf_agent.kubernetes.cluster import Cluster, needs_history
from dsf_agent.kubernetes.history import History, Key
from dsf_wire import measures
from dsf_wire.measures import MAX_RANGE_SECONDS
from dsf_wire.summary import Summary

BATCH_POINTS: Final = 2000
"""Points that are written before other tasks may run: about 5 ms."""


class KubernetesSource:
    """Gives the present values, or with a range the recorded history and the present values."""

    def __init__(self, *, scorer: Summary, endpoint: Endpoint, cluster: Cluster) -> None:
        del endpoint
        self._scorer = scorer
        self._cluster = cluster
        self._selections = measures.select(scorer.source_query)

    @staticmethod
    def fault(scorer: Summary) -> str | None:
        try:
            selections = measures.select(scorer.source_query)
        except measures.MeasureError as error:
            return f"sourceQuery: {error} (character {error.offset + 1})"
        if not selections:
            return "sourceQuery is empty; write the name of a measure, such as cpu_available_ratio"
        if not 0 <= scorer.source_range <= MAX_RANGE_SECONDS:
            return f"sourceRange is {scorer.source_range}; write seconds from 0 to {MAX_RANGE_SECONDS}"
        if needs_history(scorer) and not 1 <= scorer.source_step <= MAX_RANGE_SECONDS:
            return (
                f"sourceStep is {scorer.source_step}; write the seconds between two points, from 1 to"
                f" {MAX_RANGE_SECONDS}"
            )
        return None

    async def fetch(self, *, now: float) -> Series:
        """The series at ``now``. Raises FetchError."""
        found = await self._cluster.read(self._selections)
        if not needs_history(self._scorer):
            return await _series(((key, [(now, value)]) for key, value in found), warnings=())
        history = self._cluster.history(self._scorer.name)
        if history is None:
            msg = "the history of this scorer is not recorded"
            raise FetchError(msg, reason=Reason.INTERNAL)
        since = now - self._scorer.source_range
        return await _series(
            ((key, _points(history, key, now=now, since=since, value=value)) for key, value in found),
            warnings=_warnings(history),
        )


def _warnings(history: History) -> tuple[str, ...]:
    if not history.shortened:
        return ()
    text = (
        f"the history is limited to {history.most_bytes} bytes: it has {len(history)} points, and not the"
        " whole range"
    )
    return (text,)


def _points(
    history: History, key: Key, *, now: float, since: float, value: float
) -> list[tuple[float, float]]:
    return [*history.points(key, since=since, before=now), (now, value)]


async def _series(
    found: Iterable[tuple[Key, list[tuple[float, float]]]], *, warnings: tuple[str, ...]
) -> Series:
    parts: list[bytes] = []
    batch: list[bytes] = []
    count = points = 0
    for key, values in found:
        text = ",".join([f'[{at:.15g},"{_number(value)}"]' for at, value in values])
        batch.append(b'{"metric":%b,"values":[%b]}' % (key, text.encode()))
        count += 1
        points += len(values)
        if points >= BATCH_POINTS:
            parts.append(b",".join(batch))
            batch.clear()
            points = 0
            await asyncio.sleep(0)
    if batch:
        parts.append(b",".join(batch))
    return Series(parts=tuple(parts), count=count, size=sum(map(len, parts)), warnings=warnings)


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")
