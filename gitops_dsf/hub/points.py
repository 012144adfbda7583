"""Points: the scale in which people read how clusters compare.

OCM adds up weight times score, and compares these sums. Their size depends on the weights, which
the renderer chooses, so a sum cannot be compared with a `stickiness`. People read the sum divided
by the weights instead: the weighted mean of the scores, plus the stickiness where Steady counts.
Only JSON output has sums.
"""

from collections.abc import Iterable
from typing import Protocol

from gitops_dsf.hub.intervals import Interval
from gitops_dsf.hub.pace import MOVES_SCORE

_MOVES_PREFIX = f"AddOn/{MOVES_SCORE}/"


class Weighted(Protocol):
    """A prioritizer with its weight."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int: ...


def mean_weight(prioritizers: Iterable[Weighted]) -> int:
    """The divisor that turns a weighted sum of these prioritizers into points; never 0.

    Steady and the items of paced moves do not count: they do not compare clusters, but keep a
    decision.
    """
    weight = 0
    for prioritizer in prioritizers:
        if prioritizer.name != "Steady" and not prioritizer.name.startswith(_MOVES_PREFIX):
            weight += abs(prioritizer.weight)
    # Without scores every sum is 0, which is 0 points whatever divides it.
    return weight or 1


def points_of(total: int, weight: int) -> float:
    """A sum in points, rounded to hundredths."""
    return round(100 * total / weight) / 100


def points_needed(total: int, weight: int) -> float:
    """A sum that must be reached in points.

    It is rounded up to hundredths, because less would not do.
    """
    # Floor division of the negative number rounds up, without the error of floats.
    return -(-100 * total // weight) / 100


def points_range_text(sums: Interval, weight: int) -> str:
    """Formats bounds of a sum in points: `61 to 66`, or `61` if the two are the same."""
    low = points_text(points_of(sums.low, weight))
    high = points_text(points_of(sums.high, weight))
    return low if low == high else f"{low} to {high}"


def points_text(points: float) -> str:
    """Formats `65`, `65.5`, `66.67`."""
    return f"{points:.2f}".rstrip("0").rstrip(".")
