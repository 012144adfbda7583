"""TODO."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TimeGrid:
    """The moments `start + number * step`, for numbers below `count`. Times are seconds since 1970."""

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        if not self.step > 0 or self.count < 1:
            msg = f"a grid needs a positive step and at least one point, not {self.step} and {self.count}"
            raise ValueError(msg)

    def at(self, number: int) -> float:
        """The time of a point."""
        return self.start + number * self.step

    @property
    def end(self) -> float:
        """The time of the last point."""
        return self.at(self.count - 1)
