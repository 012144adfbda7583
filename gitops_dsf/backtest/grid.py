"""A grid of points in time with equal steps."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TimeGrid:
    """The times `start + number * step`, for numbers below `count`, in Unix seconds."""

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        if not self.step > 0 or self.count < 1:
            raise ValueError(
                "a grid needs a positive step and at least one point,"
                f" not {self.step} and {self.count}"
            )

    def at(self, number: int) -> float:
        """The time of a point."""
        # A product, not a sum of steps: rounding errors would add up over a million points.
        return self.start + number * self.step

    @property
    def end(self) -> float:
        """The time of the last point."""
        return self.at(self.count - 1)
