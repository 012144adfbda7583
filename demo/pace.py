"""How long the demo waits for its viewers, in seconds of real time."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Time for viewers, in seconds. Waiting for programs is not part of it."""

    watch: float
    """After each change, so that the lines of the report show something."""
    rise: float
    """The rise of a load peak."""
    ease: float
    """The fall of a load peak."""
    tick: float = 0.5
    """Between two observations."""


FULL: Final = Pace(watch=7.0, rise=6.0, ease=9.0)
FAST: Final = Pace(watch=1.0, rise=1.5, ease=4.0)
