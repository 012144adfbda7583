"""Encodes the result of a scoring function as JSON. NaN and infinities cannot be written as JSON, so they are
dropped and counted.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

import msgspec

from dsf_wire.scoring import ScoringResult


class BadResultError(TypeError):
    """The scoring function returned something that is not a score. This is a bug of the scorer, answered with
    500.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The response body, the number of series in the request, the number of results in the response, and the
    number that were not finite.
    """

    body: bytes
    series: int
    results: int
    dropped: int


def encode(found: object, *, series: int) -> Scored:
    """Encodes results. Raises BadResultError when they are not Scores of string labels and a number."""
    if not isinstance(found, Iterable) or isinstance(found, str | bytes | dict):
        msg = f"a batch scorer returns an iterable of Score(metric, score), got {type(found).__name__}"
        raise BadResultError(msg)
    results = [_checked(result) for result in found]
    kept = [result for result in results if math.isfinite(result.score)]
    body = msgspec.json.encode({"results": kept})
    return Scored(body=body, series=series, results=len(kept), dropped=len(results) - len(kept))


def _checked(result: object) -> ScoringResult:
    if not isinstance(result, ScoringResult):
        msg = f"expected Score(metric, score), got {type(result).__name__}"
        raise BadResultError(msg)
    score: object = result.score
    # Real includes NumPy's scalars. It also includes bool, which is never meant as a score.
    if isinstance(score, bool) or not isinstance(score, Real):
        msg = f"a score must be a number, got {score!r:.60} ({type(score).__name__})"
        raise BadResultError(msg)
    try:
        value = float(score)
    except OverflowError:
        value = math.inf
    return ScoringResult(metric=msgspec.convert(result.metric, dict[str, str]), score=value)
