"""A scoring function: per series or per request, sync or async, with or without arguments."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from dsf_scorer import request
from dsf_scorer.errors import DefinitionError, RefusedError
from dsf_scorer.request import Scored
from dsf_scorer.series import Series
from dsf_wire.scoring import ScoringResult

EachFunction = Callable[..., float | None] | Callable[..., Awaitable[float | None]]
"""(series) or (series, arguments) to a score; None means no score for that series."""
BatchFunction = Callable[..., Iterable[ScoringResult]] | Callable[..., Awaitable[Iterable[ScoringResult]]]
"""(list of series) or (list of series, arguments) to scores, with labels that name them."""


class Function:
    """Runs an author's function, in a thread if it is not async. Raises DefinitionError for others."""

    def __init__(self, function: Callable[..., Any], *, each: bool) -> None:
        self._function = function
        self._each = each
        self._parameter = _second_parameter(function)
        self.is_async = inspect.iscoroutinefunction(function)

    async def __call__(self, body: bytes | bytearray, *, max_series: int) -> Scored:
        """Scores one request. Raises RefusedError for a bad one, and any error of the author's function."""
        series, extra = await asyncio.to_thread(self._read, body, max_series)
        inputs: list[Any] = series if self._each else [series]
        if self.is_async:
            found = [await self._function(one, *extra) for one in inputs]
        else:
            found = await asyncio.to_thread(lambda: [self._function(one, *extra) for one in inputs])
        results = _labelled(series, found) if self._each else found[0]
        return await asyncio.to_thread(request.encode, results, series=len(series))

    def _read(self, body: bytes | bytearray, max_series: int) -> tuple[list[Series], tuple[Any, ...]]:
        """The series, and the value for the second parameter, of any type that msgspec knows (a dict without
        annotation; a Struct with ``forbid_unknown_fields=True`` catches misspelt names). Raises RefusedError.
        """
        series, given = request.decode(body, max_series=max_series)
        parameter = self._parameter
        if parameter is None:
            if given:
                msg = "this scorer takes no arguments; remove scoring.arguments from its DynamicScorer"
                raise RefusedError(msg)
            return series, ()
        if given is None and parameter.default is not parameter.empty:
            return series, (parameter.default,)
        expected = dict[str, Any] if parameter.annotation is parameter.empty else parameter.annotation
        try:
            return series, (msgspec.convert(given or {}, expected, str_keys=True),)
        except msgspec.ValidationError as error:
            text = str(error)
            text = text.replace("`$", "`$.arguments", 1) if "`$" in text else f"{text} - at `$.arguments`"
            raise RefusedError(f"{text} (scoring.arguments of the DynamicScorer)") from None


def _second_parameter(function: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter for arguments, if there is one."""
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
