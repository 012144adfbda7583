"""Delays between attempts after failures."""

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass

from dsf_runtime.clock import monotonic


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Seconds between attempts, with jitter.

    ``first``, doubled after each failure up to ``ceiling``.
    """

    first: float
    ceiling: float
    jitter: float = 0.2
    """A delay is 1 - jitter to 1 + jitter times its nominal value, so that a fleet spreads its
    retries.
    """

    def nominal(self, attempt: int) -> float:
        """The delay after this number of failures in a row (from 1), without jitter."""
        # The bound prevents a float overflow after thousands of failures. 2**62 seconds is above
        # any ceiling.
        return min(self.ceiling, self.first * 2.0 ** min(attempt - 1, 62))

    def delay(self, attempt: int) -> float:
        """Seconds to wait after this number of failures in a row (from 1)."""
        return self.nominal(attempt) * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - no secret


@dataclass(frozen=True)
class _Failures:
    """The failures of one object."""

    in_a_row: int
    retry_at: float
    """Time of the clock at which it may be tried again."""


class Pauses:
    """Pauses after failures, for each of several objects.

    An object that the server refuses is tried ever more rarely, and holds up no other object.
    """

    def __init__(self, backoff: Backoff, *, clock: Callable[[], float] = monotonic) -> None:
        self._backoff = backoff
        self._clock = clock
        self._failures: dict[str, _Failures] = {}

    def left(self, key: str) -> float:
        """Seconds until the object may be tried; 0 if it may be tried now."""
        failures = self._failures.get(key)
        return 0.0 if failures is None else max(0.0, failures.retry_at - self._clock())

    def times(self, key: str) -> int:
        """The number of times in a row that the object failed."""
        failures = self._failures.get(key)
        return 0 if failures is None else failures.in_a_row

    def failed(self, key: str) -> float:
        """Notes a failure. Returns the seconds until the next attempt."""
        in_a_row = self.times(key) + 1
        # From now, and not from the attempt before: an attempt may take longer than the pause.
        pause = self._backoff.delay(in_a_row)
        self._failures[key] = _Failures(in_a_row=in_a_row, retry_at=self._clock() + pause)
        return pause

    def worked(self, key: str) -> None:
        """Forgets the failures of an object."""
        self._failures.pop(key, None)

    def keep_only(self, keys: Collection[str]) -> None:
        """Forgets all other objects."""
        self._failures = {key: kept for key, kept in self._failures.items() if key in keys}
