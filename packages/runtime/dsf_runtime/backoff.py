"""Delays between failed attempts. Pure."""

import random
from dataclasses import dataclass
from typing import Final

_RNG: Final = random.Random()  # noqa: S311 - spreads retries, keeps no secret


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Delays in seconds that double after each failure, with jitter. The first delay is ``first``, the
    longest ``ceiling``.
    """

    first: float
    ceiling: float
    jitter: float = 0.2
    """A delay is between 1 - jitter and 1 + jitter times its nominal value, so that a fleet does not retry in
    step.
    """

    def delay(self, attempt: int, *, rng: random.Random = _RNG) -> float:
        """Seconds to wait after this number of failures in a row (from 1)."""
        # The bound prevents a float overflow after thousands of failures. 2**62 seconds is above any ceiling.
        nominal = min(self.ceiling, self.first * 2.0 ** min(attempt - 1, 62))
        return nominal * rng.uniform(1 - self.jitter, 1 + self.jitter)
