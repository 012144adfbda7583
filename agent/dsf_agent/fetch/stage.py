"""The stage ``fetch``: queries a source with Prometheus' HTTP API, or the agent's own cluster.

It gives all series of all queries, or raises AgentError. Not guaranteed: that the source has all
data; its message about missing data is a warning, or a failure where the scorer asks for that
(``onPartial``).
"""

import asyncio
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from dsf_agent.endpoints.budget import BudgetFullError
from dsf_agent.endpoints.endpoint import Endpoint, refusal, url_fault
from dsf_agent.endpoints.transport import Body, Call, PeerAnswer
from dsf_agent.errors import AgentError
from dsf_agent.fetch import promjson
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.kubernetes.cluster import ClusterInformers
from dsf_runtime.calls import display
from dsf_wire import measures, query
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.prometheus import PrometheusRequest, parameters_fault
from dsf_wire.scored import Reason
from dsf_wire.summary import ScorerSummary

MAX_LOOKBACK: Final = 10 * 366 * 86_400
"""Seconds. A longer range is probably a wrong unit."""

MAX_ALIGNED_STEP: Final = 300
"""Seconds. With a larger step the window ends now: to end at a multiple would leave out too much.
"""
BATCH_SERIES: Final = 2000
"""Series that are written before other tasks may run: about 5 ms."""
PROMETHEUS: Final = "Prometheus"
NONE: Final = "None"
"""The scoring API needs no series."""


def window_end(now: float, *, step: int) -> int:
    """The end of a range. With a small step it is a multiple, so that caches can answer."""
    end = int(now)
    return end - end % step if step <= MAX_ALIGNED_STEP else end


def _prometheus_fault(scorer: ScorerSummary) -> str | None:
    fault = url_fault("sourceEndpoint", scorer.source_endpoint)
    if fault is not None:
        return fault
    if not query.split(scorer.source_query):
        return "sourceQuery is empty; for a scorer without a query write sourceType None"
    if not 0 <= scorer.source_range <= MAX_LOOKBACK:
        return f"sourceRange is {scorer.source_range}; write seconds from 0 to {MAX_LOOKBACK}"
    if not _instant(scorer) and not 1 <= scorer.source_step <= MAX_LOOKBACK:
        return (
            f"sourceStep is {scorer.source_step}; write the seconds between two points, from 1 to"
            f" {MAX_LOOKBACK}"
        )
    fault = parameters_fault(scorer.source_parameters or {})
    return f"sourceParameters: {fault}" if fault else None


class Fetch:
    """The first stage of a cycle of one scorer.

    Prometheus gets range queries, or instant ones if series are scores or if the path ends with
    ``/query``. The cluster gives the present values, whatever the range.
    """

    def __init__(
        self, *, scorer: ScorerSummary, endpoint: Endpoint, cluster: ClusterInformers
    ) -> None:
        self._scorer = scorer
        self._endpoint = endpoint
        self._cluster = cluster
        self._name = f"MetricSource {scorer.source_ref}: " if scorer.source_ref else ""
        self._kind = _kind(scorer)
        self._queries = [part.text for part in query.split(scorer.source_query)]
        self._posts = True
        """Whether the source, or a proxy before it, accepts POST as far as is known."""

    async def __call__(self, *, now: float) -> SeriesText:
        """The series at ``now`` (Unix seconds). Raises AgentError."""
        if self._kind == NONE:
            return SeriesText()
        try:
            if self._kind == PROMETHEUS:
                series = await self._from_prometheus(now)
            else:
                series = await self._from_cluster(now)
        except AgentError as error:
            message = self._name + self._endpoint.hide(str(error))
            raise error.without_traceback(message, stage="fetch") from error
        # A source may quote the request's headers in a warning.
        return replace(series, warnings=tuple(map(self._endpoint.hide, series.warnings)))

    async def _from_cluster(self, now: float) -> SeriesText:
        samples = await self._cluster.read(measures.select(self._scorer.source_query))
        parts: list[bytes] = []
        for start in range(0, len(samples), BATCH_SERIES):
            batch: list[bytes] = []
            for labels, value in samples[start : start + BATCH_SERIES]:
                batch.append(_one_point(labels, value, now=now))
            parts.append(b",".join(batch))
            await asyncio.sleep(0)
        return SeriesText(parts=tuple(parts), count=len(samples), size=sum(map(len, parts)))

    async def _from_prometheus(self, now: float) -> SeriesText:
        """The series of all queries, in the order of the queries."""
        if len(self._queries) == 1:
            answers = [await self._one(0, now=now)]
        else:
            answers = await self._all(now=now)
        parts: list[Body] = []
        # A dict keeps their order, and each only once: several queries often have the same warning.
        warnings: dict[str, None] = {}
        for series in answers:
            parts += series.parts
            warnings |= dict.fromkeys(series.warnings)
        return SeriesText(
            parts=tuple(parts),
            count=sum(series.count for series in answers),
            size=sum(series.size for series in answers),
            warnings=tuple(warnings),
        )

    async def _all(self, *, now: float) -> list[SeriesText]:
        """Sends all queries at once. The first failure cancels the others."""
        tasks = [
            asyncio.create_task(self._one_of_several(index, now=now))
            for index in range(len(self._queries))
        ]
        try:
            return await asyncio.gather(*tasks)
        finally:
            await _end(tasks)

    async def _one_of_several(self, index: int, *, now: float) -> SeriesText:
        """Queries as ``_one`` does, with another error.

        The first one refers to its task, which would keep the data that was read.
        """
        try:
            return await self._one(index, now=now)
        except BudgetFullError as error:
            failure: AgentError | int = error.wanted
        except AgentError as error:
            failure = error.without_traceback()
        # Not the one that this frame holds, because the traceback of an error holds the frame.
        raise BudgetFullError(failure) if isinstance(failure, int) else failure.without_traceback()

    async def _one(self, index: int, *, now: float) -> SeriesText:
        request = self._request(index, now=now)
        answer = await self._endpoint.call(_call(request))
        # Remembered, so that the next cycles send one request and not two.
        if request.is_refused_as_post(answer.status):
            self._posts = False
            answer = await self._endpoint.call(_call(self._request(index, now=now)))
        if not answer.ok:
            raise self._refused(answer, index=index)
        series = await promjson.read(answer.chunks, where=self._where(index))
        # Without the missing series, a cluster could look better than it is.
        if series.lost and self._scorer.fails_on_partial:
            raise AgentError(
                f"{self._where(index)} gave an answer that lacks data: {series.lost}; onPartial is"
                " Fail",
                reason=Reason.PARTIAL_ANSWER,
            )
        return series

    def _request(self, index: int, *, now: float) -> PrometheusRequest:
        scorer = self._scorer
        question = {"query": self._queries[index]}
        if _instant(scorer):
            # Without it each of several queries would be for another moment, by the store's clock.
            question["time"] = str(int(now))
        else:
            end = window_end(now, step=scorer.source_step)
            question["start"] = str(end - scorer.source_range)
            question["end"] = str(end)
            question["step"] = str(scorer.source_step)
        own = scorer.source_parameters or {}
        return PrometheusRequest.of(
            scorer.source_endpoint, question, parameters=own, posts=self._posts
        )

    def _refused(self, answer: PeerAnswer, *, index: int) -> AgentError:
        error = refusal(answer, url=self._scorer.source_endpoint)
        if answer.status not in {400, 422} and answer.status < 500:
            return error
        # With these statuses Prometheus says in the body what is wrong with the query.
        failure = promjson.query_failure(answer.body)
        if failure is None:
            return error
        msg = f"{self._where(index)} refused: {failure.text}"
        return AgentError(msg, reason=failure.reason, retry_after=error.retry_after)

    def _where(self, index: int) -> str:
        url = display(self._scorer.source_endpoint)
        if len(self._queries) == 1:
            return f"query at {url}"
        return f"query {index + 1} of {len(self._queries)} at {url}"


def _one_point(labels: bytes, value: float, *, now: float) -> bytes:
    """A series with one point, as Prometheus writes it. ``labels`` are JSON."""
    # Prometheus writes whole numbers without a decimal point.
    number = repr(value).removesuffix(".0").encode()
    return b'{"metric":%b,"values":[[%.15g,"%b"]]}' % (labels, now, number)


def _call(request: PrometheusRequest) -> Call:
    body = None if request.form is None else (request.form,)
    return Call(url=request.url, headers=request.headers, body=body)


async def _end(tasks: list[asyncio.Task[SeriesText]]) -> None:
    """Cancels the tasks and empties the list, which is in the traceback of their errors."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()


def _instant(scorer: ScorerSummary) -> bool:
    # The present value of each series is its score, so the points before it are not read.
    if scorer.scored_by_query:
        return True
    return urlsplit(scorer.source_endpoint).path.rstrip("/").endswith("/query")


def _measures_fault(scorer: ScorerSummary) -> str | None:
    """The reason why the query names no measures, or None."""
    try:
        selections = measures.select(scorer.source_query)
    except measures.MeasureError as error:
        return f"sourceQuery: {error} (character {error.offset + 1})"
    if not selections:
        return "sourceQuery is empty; write the name of a measure, such as cpu_available_ratio"
    return None


def has_series(scorer: ScorerSummary) -> bool:
    """Whether the entry has a source that is asked for series."""
    return _kind(scorer) != NONE


def fault(scorer: ScorerSummary) -> str | None:
    """The reason why the source of this entry cannot be used, or None."""
    match _kind(scorer):
        case "Prometheus":
            return _prometheus_fault(scorer)
        case "Kubernetes":
            return _measures_fault(scorer)
        case "None":
            return None
        case kind:
            return f"sourceType {kind!r} is not one of {SOURCE_TYPE}, {NONE}, {PROMETHEUS}"


def _kind(scorer: ScorerSummary) -> str:
    """The type of the source.

    An entry with a query and without a type means Prometheus; upstream's agent would query no
    source.
    """
    return scorer.source_type or (PROMETHEUS if scorer.source_query.strip() else NONE)
