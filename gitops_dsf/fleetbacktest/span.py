"""The span of time of a backtest, and its grids."""

import math
from dataclasses import dataclass
from typing import Final

from gitops_dsf.backtest.grid import TimeGrid
from gitops_dsf.errors import UsageError

MAX_POINTS: Final = 1_000_000
"""Points of a grid: two years of minutes."""


@dataclass(frozen=True, kw_only=True)
class HistorySpan:
    """The span whose history is read. Times are Unix seconds."""

    start: float
    end: float

    def grid(self, step: float) -> TimeGrid:
        """The multiples of a step within the span. Raises UsageError for none or too many."""
        # Multiples of the step, whatever the start is: a backtest that is repeated a little later
        # reads the same samples.
        first = math.ceil(self.start / step) * step
        count = math.floor((self.end - first) / step) + 1
        if count < 1 or count > MAX_POINTS:
            raise UsageError(
                f"between start and end are {max(0, count)} points of {step:g} s; write a span with"
                f" 1 to {MAX_POINTS:,}"
            )
        return TimeGrid(start=first, step=step, count=count)
