"""Encodes the result of a scoring function as JSON. NaN and infinities cannot be written as JSON, so they are
dropped and counted.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

import msgspec

from dsf_wire.scoring import ScoringResult

_ENCODER: Final = msgspec.json.Encoder()


class BadResultError(TypeError):
    """The scoring function returned something that is not a score. This is a bug of the scorer, answered with
    500.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedScores:
    """The response body, the number of results in it, and the number that were not finite."""

    body: bytes
    results: int
    not_finite: int


def encode(results: Iterable[ScoringResult]) -> EncodedScores:
    """Encodes results. Raises BadResultError when a result is not a Score of string labels and a number."""
    kept: list[ScoringResult] = []
    dropped = 0
    for result in results:
        if not isinstance(result, ScoringResult):
            msg = f"expected Score(metric, score), got {type(result).__name__}"
            raise BadResultError(msg)
        value = _finite(result.score)
        if value is None:
            dropped += 1
            continue
        kept.append(ScoringResult(metric=_labels(result.metric), score=value))
    return EncodedScores(body=_ENCODER.encode({"results": kept}), results=len(kept), not_finite=dropped)


def _finite(score: object) -> float | None:
    # Real includes NumPy's scalars. It also includes bool, which is never meant as a score.
    if isinstance(score, bool) or not isinstance(score, Real):
        msg = f"a score must be a number, got {score!r:.60} ({type(score).__name__})"
        raise BadResultError(msg)
    try:
        value = float(score)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _labels(metric: Mapping[Any, Any]) -> dict[str, str]:
    for key, value in metric.items():
        if not isinstance(key, str) or not isinstance(value, str):
            msg = f"labels map strings to strings, got {key!r:.60}: {value!r:.60}"
            raise BadResultError(msg)
    return dict(metric)
