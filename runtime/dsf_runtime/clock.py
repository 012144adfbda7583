"""Time: the process's own, injected so that tests can move it, and the hub's, learnt from its answers."""

import asyncio
import email.utils
import time
from typing import Final, Protocol

PLAUSIBLE_SECONDS: Final = 366 * 86_400.0
"""A hub whose Date is further than this from the local clock is not believed: one of the two is nonsense, and
certificates, which are issued for about a year, would not be valid at both times.
"""


class Clock(Protocol):
    """Seconds: ``monotonic`` for pacing, ``wall`` (Unix time) for everything that leaves the process."""

    def monotonic(self) -> float: ...

    def wall(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


def monotonic() -> float:
    """Seconds as ``asyncio.sleep`` and ``asyncio.timeout`` count them: the clock of the running event loop.

    Pauses, time limits and ages then follow one clock, which a test replaces by choosing the loop. Without a
    loop: ``time.monotonic``.
    """
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        return monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


async def happens_within(event: asyncio.Event, *, seconds: float) -> bool:
    """Waits for the event, at most this long. Returns whether it was set in time.

    ``asyncio.wait_for`` is no replacement: before Python 3.12 it loses a cancellation that arrives together
    with the event, and the task goes on although it was told to end.
    """
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class HubClock:
    """The hub's wall clock, learnt from the Date header of its answers and carried on by the local monotonic
    clock.

    OCM compares validUntil with the hub's clock (ocm pkg/placement/plugins/addon), so a program whose own
    clock is minutes off, or jumps, would publish scores that are born expired, or would take live scores for
    expired ones.
    """

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._ahead: float | None = None
        """Hub time minus monotonic time; None before the first Date that was believed."""
        self._offset: float | None = None
        self.known = False
        """Whether the last answer had a Date that was believed. What deletes by the hub's clock must not act
        while this is false.
        """

    @property
    def offset(self) -> float | None:
        """Hub minus local wall clock, in seconds, when the hub last answered; None before its first
        answer.
        """
        return self._offset

    def wall(self) -> float:
        """The hub's time; this machine's before the hub's first answer."""
        if self._ahead is None:
            return self._clock.wall()
        return self._clock.monotonic() + self._ahead

    def learn(self, date: str | None, *, sent: float, received: float) -> None:
        """Takes the Date header of an answer, with the monotonic times at which the request was sent and the
        answer received.

        The hub wrote the header between the two, and cut it to the second. So each answer bounds the hub's
        time from both sides, and the estimate moves only as far as it must: it starts at the local clock, and
        an answer that took long changes nothing that fits it.
        """
        told, now, wall = http_date(date), self._clock.monotonic(), self._clock.wall()
        self.known = told is not None and abs(told - wall) < PLAUSIBLE_SECONDS
        if told is None or not self.known:
            return
        earliest, latest = told - received, told + 1 - sent
        ahead = wall - now if self._ahead is None else self._ahead
        self._ahead = min(max(ahead, earliest), latest)
        self._offset = now + self._ahead - wall


def http_date(date: str | None) -> float | None:
    """Unix time of an HTTP date (RFC 9110 section 5.6.7), or None."""
    try:
        return email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
