"""A scoring function: per series or per request, sync or async, with or without arguments.

Wire: ``{"data": [{"metric": {...}, "values": [[ts, "v"], ...]}, ...], "arguments": {...}}``, values
as Prometheus writes them.

Guaranteed: a request with a wrong shape is a client's mistake with its place, and the function is
not called. Not guaranteed: that the scores are between -100 and 100; agents map and clamp them.
"""

import asyncio
import inspect
import math
from array import array
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final, NamedTuple

import msgspec

from dsf_scorer.errors import DefinitionError, RefusedError
from dsf_scorer.series import Series
from dsf_wire.scoring import ScoringResult


class _Envelope(msgspec.Struct):
    data: list[msgspec.Raw]
    """Read one by one: together, samples as Python objects would be seven times as large as the
    body.
    """
    arguments: dict[str, Any] | None = None


class _SentSeries(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    value: tuple[float, str] | None = None
    """Instant queries have this instead of ``values``."""
    # Prometheus answers native histograms beside the values of a series, or in their place.
    histograms: msgspec.Raw = msgspec.Raw(b"")


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_ROW: Final = msgspec.json.Decoder(_SentSeries)


class DecodedRequest(NamedTuple):
    """The content of a request."""

    series: list[Series]
    arguments: dict[str, Any] | None
    """None if the request has none."""


def decode(body: bytes | bytearray, *, max_series: int) -> DecodedRequest:
    """The series and the arguments of a request.

    Raises RefusedError: 400 for no JSON, 413 for too many series, 422 otherwise.
    """
    try:
        envelope = _ENVELOPE.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(
            f'{error}; expected {{"data": [{{"metric": {{...}}, "values": [[timestamp, "value"],'
            " ...]}]}"
        ) from None
    # msgspec raises RecursionError for a body that is nested too deep.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(f"the body is not JSON: {error}", status=400) from None
    # Before any series is decoded, which takes most of the time and memory.
    if len(envelope.data) > max_series:
        raise RefusedError(
            f"{len(envelope.data)} series in one request; this scoring API takes {max_series}",
            status=413,
        )
    series = [_series(raw, index) for index, raw in enumerate(envelope.data)]
    return DecodedRequest(series, envelope.arguments)


def _series(raw: msgspec.Raw, index: int) -> Series:
    try:
        row = _ROW.decode(raw)
    except msgspec.ValidationError as error:
        raise RefusedError(_located(error, index)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(f"data[{index}] is not JSON: {error}", status=400) from None
    samples = row.values
    if not samples and row.value is not None:
        samples = [row.value]
    if not samples and row.histograms:
        raise RefusedError(
            f"data[{index}] holds native histograms; reduce them in the query, for instance with"
            " histogram_quantile()"
        )
    values = array("d")
    for position, (_, text) in enumerate(samples):
        # Prometheus writes NaN, +Inf and -Inf, which float() reads, too.
        try:
            values.append(float(text))
        except ValueError:
            raise RefusedError(
                f"{text[:40]!r} is not a number - at `$.data[{index}].values[{position}][1]`"
            ) from None
    timestamps = array("d", [timestamp for timestamp, _ in samples])
    return Series(labels=row.metric, timestamps=timestamps, values=values)


def _located(error: msgspec.ValidationError, index: int) -> str:
    """The decoder's message, with the path from the root of the body."""
    text = _below(str(error), f"data[{index}]")
    if ".value" in text and "Expected `str`" in text:
        return f"{text}; sample values are strings, as Prometheus writes them"
    return text


def _below(text: str, path: str) -> str:
    """A message of the decoder about a part of the body, with the path from the root of the body.

    It writes the path as `$...`, and none if the part as a whole is wrong.
    """
    if "`$" in text:
        return text.replace("`$", f"`$.{path}", 1)
    return f"{text} - at `$.{path}`"


class BadResultError(TypeError):
    """The scoring function returned something that is not a score: a bug, answered with 500."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The response body, and what was counted.

    These are the series of the request, the results in the body, and those that are not finite.
    """

    body: bytes
    series: int
    results: int
    dropped: int


def encode(returned: object, *, series: int) -> Scored:
    """Encodes results, without those not finite, which JSON cannot say. Raises BadResultError."""
    if not isinstance(returned, Iterable) or isinstance(returned, str | bytes | dict):
        raise BadResultError(
            "a batch scorer returns an iterable of Score(metric, score), got"
            f" {type(returned).__name__}"
        )
    results: list[ScoringResult] = []
    dropped = 0
    for result in map(_checked, returned):
        if math.isfinite(result.score):
            results.append(result)
        else:
            dropped += 1
    body = msgspec.json.encode({"results": results})
    return Scored(body=body, series=series, results=len(results), dropped=dropped)


def _checked(result: object) -> ScoringResult:
    if not isinstance(result, ScoringResult):
        raise BadResultError(f"expected Score(metric, score), got {type(result).__name__}")
    score: object = result.score
    # Real includes NumPy's scalars. It also includes bool, which is never meant as a score.
    if isinstance(score, bool) or not isinstance(score, Real):
        raise BadResultError(
            f"a score must be a number, got {score!r:.60} ({type(score).__name__})"
        )
    # A whole number of Python has no limit. It is dropped later, as infinity is.
    try:
        value = float(score)
    except OverflowError:
        value = math.inf
    return ScoringResult(metric=msgspec.convert(result.metric, dict[str, str]), score=value)


EachFunction = Callable[..., float | None] | Callable[..., Awaitable[float | None]]
"""(series) or (series, arguments) to a score; None means no score for that series."""
BatchFunction = (
    Callable[..., Iterable[ScoringResult]] | Callable[..., Awaitable[Iterable[ScoringResult]]]
)
"""(list of series) or (list of series, arguments) to scores, with labels that name them."""


class Function:
    """Runs an author's function, in a thread if it is not async.

    Raises DefinitionError for others.
    """

    def __init__(self, function: Callable[..., Any], *, each: bool) -> None:
        self._function = function
        self._each = each
        self._parameter = _second_parameter(function)
        self.is_async = inspect.iscoroutinefunction(function)

    async def __call__(self, body: bytes | bytearray, *, max_series: int) -> Scored:
        """Scores one request.

        Raises RefusedError for a bad one, and any error of the author's function.
        """
        # Decoding and encoding megabytes would hold up the event loop, and with it /healthz.
        series, extra = await asyncio.to_thread(self._read, body, max_series)
        inputs: list[Any] = series if self._each else [series]
        if self.is_async:
            returned: list[Any] = []
            for argument in inputs:
                returned.append(await self._function(argument, *extra))
        else:
            returned = await asyncio.to_thread(self._call_each, inputs, extra)
        results = _labelled(series, returned) if self._each else returned[0]
        return await asyncio.to_thread(encode, results, series=len(series))

    def _call_each(self, inputs: list[Any], extra: tuple[Any, ...]) -> list[Any]:
        return [self._function(argument, *extra) for argument in inputs]

    def _read(
        self, body: bytes | bytearray, max_series: int
    ) -> tuple[list[Series], tuple[Any, ...]]:
        """The series, and the value for the second parameter. Raises RefusedError.

        The value is of any type that msgspec knows, and a dict without annotation. A Struct with
        ``forbid_unknown_fields=True`` catches misspelt names.
        """
        series, arguments = decode(body, max_series=max_series)
        parameter = self._parameter
        if parameter is None:
            # If they were ignored, they would be settings without an effect, which are hard to
            # notice.
            if arguments:
                raise RefusedError(
                    "this scorer takes no arguments; remove scoring.arguments from its"
                    " DynamicScorer"
                )
            return series, ()
        if arguments is None and parameter.default is not parameter.empty:
            return series, (parameter.default,)
        expected: Any = parameter.annotation
        if expected is parameter.empty:
            expected = dict[str, Any]
        try:
            return series, (msgspec.convert(arguments or {}, expected, str_keys=True),)
        except msgspec.ValidationError as error:
            raise RefusedError(
                f"{_below(str(error), 'arguments')} (scoring.arguments of the DynamicScorer)"
            ) from None


def _second_parameter(function: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter for arguments, if there is one."""
    name = getattr(function, "__name__", repr(function))
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        raise DefinitionError(f"the signature of {name} cannot be read: {error}") from error
    parameters = list(signature.parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not 1 <= len(parameters) <= 2 or any(
        parameter.kind not in positional for parameter in parameters
    ):
        raise DefinitionError(f"{name}{signature} must take (series) or (series, arguments)")
    if len(parameters) == 1:
        return None
    return parameters[1]


def _labelled(series: list[Series], scores: list[float | None]) -> list[ScoringResult]:
    """Scores with the labels of their series, without those that are None."""
    results: list[ScoringResult] = []
    for scored, score in zip(series, scores, strict=True):
        if score is not None:
            results.append(ScoringResult(metric=dict(scored.labels), score=score))
    return results
