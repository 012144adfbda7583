"""Raw scores of the past, on a grid of equal steps."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Labels = tuple[str, ...]
"""Labels of a result, in the order of dsf_wire.dimension.LABELS."""
Values = npt.NDArray[np.float64]
"""Raw scores at consecutive points of a grid; NaN where there is no result."""
Results = Mapping[str, Mapping[Labels, Values]]
"""By cluster, then by labels."""


@dataclass(frozen=True, kw_only=True)
class Grid:
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


@dataclass(frozen=True, kw_only=True)
class Page:
    """Raw scores of one scorer at consecutive points of a grid."""

    first: int
    """Number of the first point."""
    count: int
    """How many points."""
    results: Results
