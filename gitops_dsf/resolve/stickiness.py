"""Converts stickiness in score points to weights that OCM's scheduler accepts.

OCM's Steady prioritizer gives 100 points to the clusters of the current decision
(docs/decisions/scheduler.md#the-pass-step-by-step). If every score weight is multiplied by `factor` and
Steady has the weight `steady`, another cluster must lead by 100 * steady / (factor * sum of |weights|)
points of the weighted mean of the scores. With one score, these are points of that score. All weights are
integers of at most 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd

MAX_WEIGHT = 10
STEADY_POINTS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """The multiplier of every score weight, and the weight of Steady; 0 leaves Steady out."""

    factor: int
    steady: int


def choose(points: int, weights: Sequence[int]) -> Weights | None:
    """Returns the smallest weights with exactly this stickiness; None if there are none."""
    if points == 0:
        return Weights(factor=1, steady=0)
    return next((found for value, found in _possible(tuple(weights)) if value == points), None)


def expressible(weights: Sequence[int]) -> dict[int, Weights]:
    """Every whole number of points that can be expressed, with its smallest weights, in order."""
    found = {0: Weights(factor=1, steady=0)}
    for value, chosen in _possible(tuple(weights)):
        if value.denominator == 1:
            found.setdefault(int(value), chosen)
    return dict(sorted(found.items()))


def nearest(points: int, weights: Sequence[int]) -> list[int]:
    """The closest integers that can be expressed: at most one that is lower or equal, and one
    that is higher.
    """
    values = list(expressible(weights))
    below = [value for value in values if value <= points]
    above = [value for value in values if value > points]
    return below[-1:] + above[:1]


@lru_cache(maxsize=1024)
def _possible(weights: tuple[int, ...]) -> list[tuple[Fraction, Weights]]:
    largest = max((abs(weight) for weight in weights), default=0)
    total = sum(abs(weight) for weight in weights)
    if not largest:
        return []
    found = [
        (Fraction(STEADY_POINTS * steady, factor * total), Weights(factor=factor, steady=steady))
        for steady in range(1, MAX_WEIGHT + 1)
        for factor in range(1, MAX_WEIGHT // largest + 1)
        if gcd(steady, factor) == 1
    ]
    return sorted(found, key=lambda item: (item[1].steady, item[1].factor))
