"""Converts raw scores to AddOnPlacementScore values: aggregation, linear map, clamp, floor."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dsf_wire import dimension
from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.summary import ScoreRange, ScorerSummary


class Aggregation(StrEnum):
    """How several results of one dimension are combined (spec.scoreAggregation)."""

    LAST = "Last"
    MEAN = "Mean"
    MIN = "Min"
    MAX = "Max"
    SUM = "Sum"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mapped:
    """A published value, and whether it was clamped."""

    value: int
    clamped: bool


def aggregate(values: Sequence[float], how: Aggregation) -> float:
    """Combines finite raw scores, at least one. A sum may overflow to infinity: callers drop it."""
    match how:
        case Aggregation.LAST:
            return values[-1]
        case Aggregation.MEAN:
            return _sum(values) / len(values)
        case Aggregation.MIN:
            return min(values)
        case Aggregation.MAX:
            return max(values)
        case Aggregation.SUM:
            return _sum(values)


def _sum(values: Sequence[float]) -> float:
    try:
        # fsum is exact, so the order of series, which stores do not promise, does not matter.
        return math.fsum(values)
    except OverflowError:
        return math.inf


def map_score(raw: float, score_range: ScoreRange | None) -> Mapped:
    """The published integer in -100..100 for a finite raw score. Raises ValueError for others.

    Without a range it is the floor of the score. With one it is ``outputMin + (raw - min) / (max -
    min) * (outputMax - outputMin)``, clamped to the two outputs (the normalisation of OCM's
    extensible scheduling guide, generalised) and floored.
    """
    if not math.isfinite(raw):
        raise ValueError(f"{raw} cannot be mapped to a score")
    if score_range is None:
        value = raw
        low = float(SCORE_MIN)
        high = float(SCORE_MAX)
    else:
        first = float(score_range.output_min)
        last = float(score_range.output_max)
        # Multiply before dividing: (raw - min) / span * outputs is floored to 1 less if the
        # quotient is not a binary fraction.
        value = first + (raw - score_range.min) * (last - first) / (
            score_range.max - score_range.min
        )
        low = min(first, last)
        high = max(first, last)
        if math.isnan(value):
            # inf - inf at the limits of the float range. The raw score itself shows which limit it
            # is.
            value = first if raw <= score_range.min else last
    # The outputs are not checked when a summary is read. One item beyond the limits of OCM makes
    # the API server refuse all of them.
    low = max(low, float(SCORE_MIN))
    high = min(high, float(SCORE_MAX))
    held = min(max(value, low), high)
    return Mapped(value=math.floor(held), clamped=held != value)


def default_items(scorer: ScorerSummary, *, cluster: str) -> dict[str, int] | None:
    """The items that are published without series (spec.defaultScore), if any.

    The format has no labels then.
    """
    if scorer.default_score is None:
        return None
    name = dimension.fill(
        scorer.score_dimension_format, cluster=cluster, score_name=scorer.score_name, labels={}
    )
    return {name: scorer.default_score}
