"""Intervals of whole numbers: the bounds of a score, or of a weighted sum of scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self


class ScoreSpan(NamedTuple):
    """The lowest and the highest value that a score can have.

    It is also a pair, because the public `explain` takes pairs.
    """

    low: int
    high: int

    @property
    def width(self) -> int:
        """The points by which two clusters can differ."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`. Both ends are included."""

    low: int
    high: int

    @classmethod
    def around(cls, numbers: Iterable[int]) -> Self:
        """The smallest interval with all of these numbers, at least one."""
        ordered = sorted(numbers)
        return cls(ordered[0], ordered[-1])

    @property
    def exact(self) -> bool:
        """Whether it holds a single number."""
        return self.low == self.high

    @property
    def middle(self) -> int:
        """A number in the middle. It stands in where one is needed, and is never known."""
        return (self.low + self.high) // 2

    @property
    def width(self) -> int:
        return self.high - self.low

    def holds(self, number: int) -> bool:
        return self.low <= number <= self.high

    def meets(self, other: "Interval") -> bool:
        """Whether the two have a number in common."""
        return self.low <= other.high and other.low <= self.high

    def joined(self, other: "Interval") -> "Interval":
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def times(self, factor: int) -> "Interval":
        """Each number multiplied. A negative factor exchanges the ends."""
        return Interval.around((self.low * factor, self.high * factor))
