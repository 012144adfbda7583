"""How long the demo lingers. All in seconds of real time."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Time for watching, in seconds. Time for programs to answer is not part of it: those are waited for."""

    watch: float
    """After each change, so that the lines of the report have something to show."""
    rise: float
    """A load peak, from calm to its height."""
    ease: float
    """And back."""
    tick: float = 0.5
    """Between two looks at the scores."""


FULL: Final = Pace(watch=7.0, rise=6.0, ease=9.0)
FAST: Final = Pace(watch=1.0, rise=1.5, ease=4.0)
