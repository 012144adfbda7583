"""A scoring function with a known signature: per series or per request, sync or async, with or without
arguments.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_scorer import request, response
from dsf_scorer.errors import DefinitionError, RefusedError
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
    function is async. Raises DefinitionError if it does not take (series) or (series, arguments).
    """

    def __init__(self, function: Callable[..., Any], *, each: bool) -> None:
        self._function = function
        self._each = each
        self._arguments = _arguments_of(function)
        self.is_async = inspect.iscoroutinefunction(function)

    async def __call__(self, body: bytes | bytearray, *, max_series: int) -> Scored:
        """Scores one request. Raises RefusedError for a bad request, and any exception of the author's
        function.
        """
        if not self.is_async:
            return await asyncio.to_thread(self._score, body, max_series)
        series, extra = await asyncio.to_thread(self._read, body, max_series)
        if self._each:
            results = _labelled(series, [await self._function(one, *extra) for one in series])
        else:
            results = await self._function(series, *extra)
        return await asyncio.to_thread(_scored, series, results)

    def _score(self, body: bytes | bytearray, max_series: int) -> Scored:
        series, extra = self._read(body, max_series)
        if self._each:
            return _scored(series, _labelled(series, [self._function(one, *extra) for one in series]))
        return _scored(series, self._function(series, *extra))

    def _read(self, body: bytes | bytearray, max_series: int) -> tuple[list[Series], tuple[Any, ...]]:
        series, given = request.decode(body, max_series=max_series)
        if self._arguments is not None:
            return series, (self._argument(self._arguments, given),)
        if given is not None and msgspec.json.decode(given):
            msg = "this scorer takes no arguments; remove scoring.arguments from its DynamicScorer"
            raise RefusedError(msg)
        return series, ()

    def _argument(self, parameter: inspect.Parameter, given: bytes | None) -> Any:  # noqa: ANN401 - whatever the author annotated
        """The value for the second parameter, of any type that msgspec reads from JSON: a Struct
        (``forbid_unknown_fields=True`` catches misspelt names), a dataclass, a TypedDict or a dict. Without
        an annotation it is a dict. Raises RefusedError with the invalid field.
        """
        if given is None and parameter.default is not parameter.empty:
            return parameter.default
        expected = dict[str, Any] if parameter.annotation is parameter.empty else parameter.annotation
        try:
            return msgspec.json.decode(given or b"{}", type=expected)
        except msgspec.ValidationError as error:
            text = str(error)
            text = text.replace("`$", "`$.arguments", 1) if "`$" in text else f"{text} - at `$.arguments`"
            raise RefusedError(f"{text} (scoring.arguments of the DynamicScorer)") from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise RefusedError(f"arguments are not JSON: {error}", status=400) from None


def _arguments_of(function: Callable[..., Any]) -> inspect.Parameter | None:
    """The second parameter, if there is one."""
    name = getattr(function, "__name__", repr(function))
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        msg = f"the signature of {name} cannot be read: {error}"
        raise DefinitionError(msg) from error
    parameters = list(signature.parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not 1 <= len(parameters) <= 2 or any(parameter.kind not in positional for parameter in parameters):
        msg = f"{name}{signature} must take (series) or (series, arguments)"
        raise DefinitionError(msg)
    return parameters[1] if len(parameters) == 2 else None


def _labelled(series: list[Series], scores: list[float | None]) -> list[ScoringResult]:
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
