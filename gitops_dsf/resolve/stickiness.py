"""The weights of a Placement that give a stickiness.

OCM holds a decision by its prioritizer Steady, which gives 100 points to the chosen clusters.
Weights are whole numbers up to 10, so another cluster must lead by 100 x Steady's weight /
(factor x sum of the score weights) points, and only some numbers of points can be expressed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Final

MAX_WEIGHT: Final = 10
"""The largest weight that OCM's CRD allows."""
STEADY_POINTS: Final = 100
"""The points that Steady gives to a chosen cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The multiplier of every score weight, and the weight of Steady; 0 leaves Steady out."""

    factor: int
    steady: int


def choose(points: int, weights: Sequence[int]) -> Weights | None:
    """Returns the smallest weights with exactly this stickiness; None if there are none."""
    if points == 0:
        # Without Steady, OCM moves for a lead of one point.
        return Weights(factor=1, steady=0)
    for value, possible in _possible(tuple(weights)):
        if value == points:
            return possible
    return None


def expressible(weights: Sequence[int]) -> dict[int, Weights]:
    """Every whole number of points that can be expressed, with its smallest weights, in order."""
    by_points = {0: Weights(factor=1, steady=0)}
    for value, possible in _possible(tuple(weights)):
        if value.denominator == 1:
            by_points.setdefault(int(value), possible)
    return dict(sorted(by_points.items()))


def nearest(points: int, weights: Sequence[int]) -> list[int]:
    """The closest points that can be expressed: lower or equal, and higher, where there are any."""
    values = list(expressible(weights))
    below = [value for value in values if value <= points]
    above = [value for value in values if value > points]
    return below[-1:] + above[:1]


@lru_cache(maxsize=1024)
def _possible(weights: tuple[int, ...]) -> list[tuple[Fraction, Weights]]:
    """The points of all weights that OCM allows, the smallest weights first."""
    largest = max(map(abs, weights), default=0)
    total = sum(map(abs, weights))
    if not largest:
        return []
    possible = []
    for steady in range(1, MAX_WEIGHT + 1):
        # The factor multiplies every score weight, of which the largest must stay within the CRD's.
        for factor in range(1, MAX_WEIGHT // largest + 1):
            # Weights with a common divisor give the same points as smaller ones.
            if gcd(steady, factor) == 1:
                points = Fraction(STEADY_POINTS * steady, factor * total)
                possible.append((points, Weights(factor=factor, steady=steady)))
    return possible
