"""A scoring function with a known signature: per series or per request, sync or async, with or without
arguments.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dsf_scorer import arguments, request, response
from dsf_scorer.arguments import Arguments
from dsf_scorer.response import BadResultError, EncodedScores
from dsf_scorer.series import Series
from dsf_wire.scoring import ScoringResult

EachFunction = Callable[..., float | None] | Callable[..., Awaitable[float | None]]
"""(series) or (series, arguments) to a score; None means no score for that series."""
BatchFunction = Callable[..., Iterable[ScoringResult]] | Callable[..., Awaitable[Iterable[ScoringResult]]]
"""(list of series) or (list of series, arguments) to scores, with labels that name them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The response to one request, and the number of series in the request."""

    series: int
    response: EncodedScores


class Function:
    """Runs an author's function for a request body. Slow work runs in a thread, unless the
    function is async.
    """

    def __init__(self, function: Callable[..., Any], *, each: bool) -> None:
        self._function = function
        self._each = each
        self._arguments: Arguments = arguments.of(function)
        self.is_async = inspect.iscoroutinefunction(function)

    async def __call__(self, body: bytes | bytearray, *, max_series: int) -> Scored:
        """Scores one request. Raises RefusedError for a bad request, and any exception of the author's
        function.
        """
        if not self.is_async:
            return await asyncio.to_thread(self._score, body, max_series)
        series, extra = await asyncio.to_thread(self._read, body, max_series)
        if self._each:
            values = [await self._function(one, *extra) for one in series]
            results: Iterable[ScoringResult] = _labelled(series, values)
        else:
            results = await self._function(series, *extra)
        return await asyncio.to_thread(_scored, series, results)

    def _score(self, body: bytes | bytearray, max_series: int) -> Scored:
        series, extra = self._read(body, max_series)
        if self._each:
            function = self._function
            return _scored(series, _labelled(series, [function(one, *extra) for one in series]))
        return _scored(series, self._function(series, *extra))

    def _read(self, body: bytes | bytearray, max_series: int) -> tuple[list[Series], tuple[Any, ...]]:
        decoded = request.decode(body, max_series=max_series)
        value = self._arguments.read(decoded.arguments)
        return decoded.series, (value,) if self._arguments.taken else ()


def _labelled(series: list[Series], scores: list[float | None]) -> Iterable[ScoringResult]:
    return [
        ScoringResult(metric=dict(one.labels), score=score)
        for one, score in zip(series, scores, strict=True)
        if score is not None
    ]


def _scored(series: list[Series], results: object) -> Scored:
    if not isinstance(results, Iterable) or isinstance(results, str | bytes | dict):
        msg = f"a batch scorer returns an iterable of Score(metric, score), got {type(results).__name__}"
        raise BadResultError(msg)
    return Scored(series=len(series), response=response.encode(results))
