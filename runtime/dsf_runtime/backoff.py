"""Delays between failed attempts. Pure."""

import random
from dataclasses import dataclass
from typing import Final

_CHANCE: Final = random.Random()  # noqa: S311 - spreads retries, keeps no secret


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Doubling delays, in seconds, with jitter: attempt 1 waits ``first``, none waits longer than
    ``ceiling``.
    """

    first: float
    ceiling: float
    jitter: float = 0.2
    """Each delay is drawn from 1 - jitter to 1 + jitter times its nominal value, so that a fleet does not
    retry in step.
    """

    def delay(self, attempt: int, *, chance: random.Random = _CHANCE) -> float:
        """Seconds to wait after the attempt-th failure in a row (from 1)."""
        # 2**63 seconds is beyond any ceiling; the bound keeps months of failures out of float overflow.
        nominal = min(self.ceiling, self.first * 2.0 ** min(attempt - 1, 62))
        return nominal * chance.uniform(1 - self.jitter, 1 + self.jitter)
