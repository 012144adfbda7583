"""The raw scores of one cycle compared with a scoreRange, in sentences.

They name the most common mistakes: percent where the range expects a ratio, and the other way
round.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.scorevalue import map_score
from dsf_wire.summary import ScoreRange
from gitops_dsf.wording import plural

_RATIO: Final = 1.0
_PERCENT: Final = 100.0


def scale_notes(raw: Sequence[float], scale: ScoreRange | None) -> list[str]:
    """The unusual facts; empty if there are none.

    `raw` are the finite raw scores that are mapped to values, one for each item.
    """
    if not raw:
        return []
    notes = list(_without_range(raw) if scale is None else _in_range(raw, scale))
    # The agent's own map, so that a note never says something else than what is published.
    values = {map_score(score, scale).value for score in raw}
    # Where scores are clamped, this follows from that, and the advice would be the opposite.
    if not notes and len(set(raw)) > 1 and len(values) == 1:
        notes.append(
            f"all {len(raw)} raw scores give the value {values.pop()}, although they are"
            f" {min(raw):g} to {max(raw):g}: the scores rank no cluster or item above another;"
            " write a narrower scoreRange"
        )
    return notes


def _in_range(raw: Sequence[float], scale: ScoreRange) -> Iterator[str]:
    count = plural(len(raw), "raw score")
    above, below = _outside(raw, scale.min, scale.max)
    if above and _are_percent(raw, scale):
        yield (
            f"the scoreRange clamps {len(above)} of {count} to the value"
            f" {map_score(above[0], scale).value}: max is {scale.max:g}, and the highest is"
            f" {max(above):g}; the query probably gives percent: write max: 100, or divide the"
            " query by 100"
        )
    elif above:
        yield (
            f"the scoreRange clamps {len(above)} of {count} to the value"
            f" {map_score(above[0], scale).value}: max is {scale.max:g}, and the highest is"
            f" {max(above):g}"
        )
    if below:
        yield (
            f"the scoreRange clamps {len(below)} of {count} to the value"
            f" {map_score(below[0], scale).value}: min is {scale.min:g}, and the lowest is"
            f" {min(below):g}"
        )
    if scale.min == 0 and scale.max == _PERCENT and _are_ratios(raw):
        yield (
            f"max is {scale.max:g}, and every raw score is between 0 and 1; the query probably"
            " gives a ratio: write max: 1, or multiply the query by 100"
        )


def _without_range(raw: Sequence[float]) -> Iterator[str]:
    """The unusual facts where the value is the raw score itself, rounded down."""
    count = plural(len(raw), "raw score")
    above, below = _outside(raw, SCORE_MIN, SCORE_MAX)
    if above:
        yield (
            f"without scoreRange a value is at most {SCORE_MAX}, which clamps {len(above)} of"
            f" {count}; the highest is {max(above):g}: write scoreRange"
        )
    if below:
        yield (
            f"without scoreRange a value is at least {SCORE_MIN}, which clamps {len(below)} of"
            f" {count}; the lowest is {min(below):g}: write scoreRange"
        )
    if _are_ratios(raw):
        yield (
            "without scoreRange the value is the raw score rounded down, and every raw score is"
            " between 0 and 1; the query probably gives a ratio: write scoreRange: {min: 0, max: 1}"
        )


def _outside(raw: Iterable[float], low: float, high: float) -> tuple[list[float], list[float]]:
    """The raw scores above and below a range, which are clamped to its ends."""
    above: list[float] = []
    below: list[float] = []
    for score in raw:
        if score > high:
            above.append(score)
        elif score < low:
            below.append(score)
    return above, below


def _are_ratios(raw: Sequence[float]) -> bool:
    """Whether all are ratios from 0 to 1. Values that are all 0 or 1 can be percent as well."""
    if min(raw) < 0 or max(raw) > _RATIO:
        return False
    return any(0 < score < _RATIO for score in raw)


def _are_percent(raw: Sequence[float], scale: ScoreRange) -> bool:
    """Whether a range for ratios probably gets percent."""
    if scale.min != 0 or scale.max != _RATIO:
        return False
    # Bytes, counts and seconds can be above 1, too. Those up to 100 are percent in most cases.
    return min(raw) >= 0 and max(raw) <= _PERCENT
