"""How the raw scores of one cycle lie in a scoreRange, in sentences.

They name what people get wrong most: percent where the range expects a ratio, and the other way
round.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import map_score
from dsf_wire.summary import ScoreRange

_RATIO: Final = 1.0
_PERCENT: Final = 100.0


def scale_notes(raw: Sequence[float], scale: ScoreRange | None) -> list[str]:
    """What stands out; empty if nothing does.

    `raw` are the finite raw scores that are mapped to values, one for each item.
    """
    if not raw:
        return []
    notes = list(_without_range(raw) if scale is None else _in_range(raw, scale))
    values = {map_score(score, scale).value for score in raw}
    if not notes and len(set(raw)) > 1 and len(values) == 1:
        notes.append(
            f"all {len(raw)} raw scores give the value {values.pop()}, although they are"
            f" {_span(raw)}: the scores rank no cluster or item above another; write a narrower"
            " scoreRange"
        )
    return notes


def _in_range(raw: Sequence[float], scale: ScoreRange) -> Iterator[str]:
    above = [score for score in raw if score > scale.max]
    below = [score for score in raw if score < scale.min]
    if above:
        clamped = _clamped(len(above), len(raw), map_score(above[0], scale).value)
        yield f"{clamped}: max is {scale.max:g}, and {_given(above, raw)}{_percent(raw, scale)}"
    if below:
        clamped = _clamped(len(below), len(raw), map_score(below[0], scale).value)
        yield f"{clamped}: min is {scale.min:g}, and {_given(below, raw)}"
    if scale.min == 0 and scale.max == _PERCENT and _are_ratios(raw):
        yield (
            f"max is {scale.max:g}, and {_given(raw, raw)}: the query probably gives a ratio; write"
            " max: 1, or multiply the query by 100"
        )


def _without_range(raw: Sequence[float]) -> Iterator[str]:
    above = [score for score in raw if score > SCORE_MAX]
    below = [score for score in raw if score < SCORE_MIN]
    if above:
        yield (
            f"{_clamped(len(above), len(raw), SCORE_MAX)}: without scoreRange the value is the raw"
            f" score, at most {SCORE_MAX}, and {_given(above, raw)}; write scoreRange"
        )
    if below:
        yield (
            f"{_clamped(len(below), len(raw), SCORE_MIN)}: without scoreRange the value is the raw"
            f" score, at least {SCORE_MIN}, and {_given(below, raw)}; write scoreRange"
        )
    if _are_ratios(raw):
        yield (
            "without scoreRange the value is the raw score rounded down, and"
            f" {_given(raw, raw)}: the query probably gives a ratio; write scoreRange: {{min: 0,"
            " max: 1}"
        )


def _are_ratios(raw: Sequence[float]) -> bool:
    """Whether all are from 0 to 1, and not all of them are 0 or 1, which can be percent, too."""
    in_unit = all(0 <= score <= _RATIO for score in raw)
    return in_unit and any(0 < score < _RATIO for score in raw)


def _percent(raw: Sequence[float], scale: ScoreRange) -> str:
    # Bytes, counts and seconds can be above 1, too. Those up to 100 are percent in most cases.
    if scale.min != 0 or scale.max != _RATIO or max(raw) > _PERCENT or min(raw) < 0:
        return ""
    return ": the query probably gives percent; write max: 100, or divide the query by 100"


def _clamped(count: int, total: int, value: int) -> str:
    if total == 1:
        return f"the value is clamped at {value}"
    if count == total:
        return f"all {total} values are clamped at {value}"
    if count == 1:
        return f"1 of {total} values is clamped at {value}"
    return f"{count} of {total} values are clamped at {value}"


def _given(some: Sequence[float], raw: Sequence[float]) -> str:
    if len(some) == 1:
        return f"the raw score is {_span(some)}" if len(raw) == 1 else f"one is {_span(some)}"
    if len(some) == len(raw):
        return f"the raw scores are {_span(some)}"
    return f"their raw scores are {_span(some)}"


def _span(raw: Sequence[float]) -> str:
    low = f"{min(raw):g}"
    high = f"{max(raw):g}"
    return low if low == high else f"{low} to {high}"
