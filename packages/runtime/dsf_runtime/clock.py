"""Clocks: the machine's, and the hub's, which is learned from its answers; and delays between attempts."""

import asyncio
import email.utils
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PLAUSIBLE_SECONDS: Final = 366 * 86_400.0
"""A Date header that differs more from the local clock is ignored: one of the two is wrong."""


def monotonic() -> float:
    """The clock of the event loop, else ``time.monotonic``: a test can replace it by choosing the loop."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


async def happens_within(event: asyncio.Event, *, seconds: float | None) -> bool:
    """Waits for the event, at most this long (None: without limit). Returns whether it was set in time.
    Before Python 3.12 ``asyncio.wait_for`` loses a cancellation that arrives together with the event.
    """
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class HubClock:
    """The hub's wall clock, learned from the Date header of its answers; between them the monotonic clock
    advances it. OCM compares validUntil with it (ocm pkg/placement/plugins/addon), not with a local clock.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = monotonic
    ) -> None:
        self._local, self.steady = wall, steady
        self._ahead: float | None = None
        """Hub time minus monotonic time. None before the first plausible Date."""
        self._offset: float | None = None
        self.known = False
        """Whether the last answer had a plausible Date. If not, nothing may be deleted because of its age."""

    @property
    def offset(self) -> float | None:
        """Hub clock minus local wall clock at the last answer, in seconds. None before the first answer."""
        return self._offset

    def wall(self) -> float:
        """The hub's time. Before the first answer it is this machine's time."""
        if self._ahead is None:
            return self._local()
        return self.steady() + self._ahead

    def learn(self, date: str | None, *, sent: float, received: float) -> None:
        """Takes the Date header of an answer, and the monotonic times of the request and the answer. The hub
        wrote it between the two and rounded it down to the second, so it gives an upper and a lower bound for
        the hub's time. The estimate starts at the local clock and changes only if it is outside the bounds.
        """
        told, now, local = http_date(date), self.steady(), self._local()
        self.known = told is not None and abs(told - local) < PLAUSIBLE_SECONDS
        if told is None or not self.known:
            return
        earliest, latest = told - received, told + 1 - sent
        ahead = local - now if self._ahead is None else self._ahead
        self._ahead = min(max(ahead, earliest), latest)
        self._offset = now + self._ahead - local


def http_date(date: str | None) -> float | None:
    """Unix time of an HTTP date (RFC 9110 section 5.6.7), or None."""
    try:
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Seconds between attempts: ``first``, doubled after each failure up to ``ceiling``, with jitter."""

    first: float
    ceiling: float
    jitter: float = 0.2
    """A delay is 1 - jitter to 1 + jitter times its nominal value, so that a fleet spreads its retries."""

    def delay(self, attempt: int) -> float:
        """Seconds to wait after this number of failures in a row (from 1)."""
        # The bound prevents a float overflow after thousands of failures. 2**62 seconds is above any ceiling.
        nominal = min(self.ceiling, self.first * 2.0 ** min(attempt - 1, 62))
        return nominal * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - no secret
