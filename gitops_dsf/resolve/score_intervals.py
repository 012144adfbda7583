"""Intervals of raw scores behind a published score, and of scores that another map would publish.

Guaranteed: an interval of raw scores holds exactly the numbers that the agent maps to the given
published scores, because it is found with the agent's own function. There is no second formula
that could round differently.

Not guaranteed: that the raw score is still the same when the agent runs next.
"""

import struct
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dsf_wire.publishrule import unwritten
from dsf_wire.scorevalue import map_score
from dsf_wire.summary import ScoreRange
from gitops_dsf.hub.intervals import Interval

MAX_RAW: Final = sys.float_info.max
"""The agent drops results that are not finite, so every raw score is within -MAX_RAW..MAX_RAW."""
_SIGN_BIT: Final = 2**63


@dataclass(frozen=True, slots=True)
class RawInterval:
    """Raw scores from `low` to `high`. Both ends are included."""

    low: float
    high: float


def within_deadband(published: int, *, deadband: int) -> Interval:
    """The scores that an agent may have computed while `published` stays on the hub.

    It writes a difference of the deadband or more, at the latest after minIntervalSeconds.
    """
    slack = unwritten(deadband)
    return Interval(published - slack, published + slack)


def raw_scores(scores: Interval, score_range: ScoreRange | None) -> RawInterval | None:
    """The raw scores that the agent maps to one of these scores; None if there is no such number.

    At an end of the outputs the interval is open to that side, because the agent clamps.
    """
    if _falls(score_range):
        first = _least(-scores.high, score_range)
        beyond = _least(1 - scores.low, score_range)
    else:
        first = _least(scores.low, score_range)
        beyond = _least(scores.high + 1, score_range)
    if first is None:
        return None
    # The last raw score is the float just below the first one that gives a higher score.
    last = MAX_RAW if beyond is None else _float(_ordinal(beyond) - 1)
    return None if first > last else RawInterval(first, last)


def mapped(raw: RawInterval, score_range: ScoreRange | None) -> Interval:
    """The scores that the agent computes for raw scores in an interval.

    The map never turns round, so the ends of one interval give the ends of the other.
    """
    ends = (raw.low, raw.high)
    return Interval.around(map_score(end, score_range).value for end in ends)


def outputs(score_range: ScoreRange | None) -> Interval:
    """The scores that a map can give."""
    return mapped(RawInterval(-MAX_RAW, MAX_RAW), score_range)


def published_next(computed: Interval, *, present: int, deadband: int) -> Interval:
    """The scores that can be on the hub when the agent computes one of `computed` from now on.

    Within the deadband the present score stays until it is refreshed, so both are possible.
    """
    if computed.meets(within_deadband(present, deadband=deadband)):
        return computed.joined(Interval(present, present))
    return computed


def _falls(score_range: ScoreRange | None) -> bool:
    """Whether a higher raw score is worse."""
    return score_range is not None and score_range.output_min > score_range.output_max


@lru_cache(maxsize=16_384)  # 201 scores of 40 maps, to both directions
def _least(level: int, score_range: ScoreRange | None) -> float | None:
    """The smallest raw score whose published score is at least `level`; None if there is none.

    For a map that falls, the published score counts with its sign turned. The search halves the
    finite floats 64 times. Each step of the map is monotone in floating point, too.
    """
    sign = -1 if _falls(score_range) else 1
    low = _ordinal(-MAX_RAW)
    high = _ordinal(MAX_RAW)
    if sign * map_score(MAX_RAW, score_range).value < level:
        return None
    while low < high:
        # The bisection is by places among the floats: by values it could take about 2,000 steps.
        middle = (low + high) // 2
        if sign * map_score(_float(middle), score_range).value >= level:
            high = middle
        else:
            low = middle + 1
    return _float(low)


def _ordinal(number: float) -> int:
    """The place of a float among all floats, in order; 0 for 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    # The bits of negative floats are their magnitude with a sign bit, not a two's complement.
    return bits if bits >= 0 else -(bits + _SIGN_BIT)


def _float(ordinal: int) -> float:
    """The float at a place."""
    magnitude: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return -magnitude if ordinal < 0 else magnitude
