"""Clocks: the machine's, and the hub's, which is learned from its answers."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dsf_wire.retryafter import http_date

PLAUSIBLE_SECONDS: Final = 366 * 86_400.0
"""A Date header that differs more from the local clock is ignored: one of the two is wrong."""
JUMP_SECONDS: Final = 900.0
"""A Date that differs more from what is known of the hub's clock needs to be confirmed. It is as
long as a virtual machine may be paused, which stops the monotonic clock, without any effect on the
scores.
"""
CONFIRM_ANSWERS: Final = 3
CONFIRM_SECONDS: Final = 30.0
"""CONFIRM_ANSWERS answers, over this time or longer, confirm a jump. A pass of the reconciler has
several answers in a second, so their number alone says little.
"""


def monotonic() -> float:
    """The clock of the event loop, else ``time.monotonic``.

    A test can replace it by choosing the loop.
    """
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


async def happens_within(event: asyncio.Event, *, seconds: float | None) -> bool:
    """Waits for the event, at most this long (None: without limit).

    Returns whether it was set in time.
    """
    try:
        # Not asyncio.wait_for: before Python 3.12 it loses a cancellation that arrives together
        # with the event.
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class HubClock:
    """The hub's wall clock, learned from the Date header of its answers.

    Between answers the monotonic clock advances it. OCM compares validUntil with the hub's clock
    (ocm pkg/placement/plugins/addon), not with a local one.

    One answer alone does not move the clock by more than JUMP_SECONDS: a proxy, or one of several
    API servers, can be wrong for a moment, and a time that was written meanwhile stays in the
    objects of the hub. Such an answer is believed when others say the same for CONFIRM_SECONDS.
    Only before anything is known the first answer counts at once, because it is no worse than the
    local clock.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = monotonic
    ) -> None:
        self._local = wall
        self.steady = steady
        self._ahead: float | None = None
        """Hub time minus monotonic time. None before the first plausible Date."""
        self._confirmed = False
        """Whether the time was confirmed by more than one answer, or by the local clock and one
        answer.
        """
        self._claim: _StatedTime | None = None
        """The time in answers that is not confirmed yet."""
        self._offset: float | None = None
        self.known = False
        """Whether the last answer had a plausible Date that agrees with earlier ones.

        If not, nothing may be deleted because of its age, and no move may begin.
        """

    @property
    def offset(self) -> float | None:
        """Hub clock minus local wall clock at the last answer, in seconds.

        None before the first answer.
        """
        return self._offset

    def wall(self) -> float:
        """The hub's time. Before the first answer it is this machine's time."""
        if self._ahead is None:
            return self._local()
        return self.steady() + self._ahead

    def learn(self, date: str | None, *, sent: float, received: float) -> None:
        """Takes the Date header of an answer, and the monotonic times of request and answer.

        The hub wrote it between the two and rounded it down to the second, so it gives an upper and
        a lower bound for the hub's time. The estimate starts at the local clock and changes only if
        it is outside the bounds.
        """
        stated = http_date(date)
        now = self.steady()
        local = self._local()
        if stated is None or abs(stated - local) >= PLAUSIBLE_SECONDS:
            self.known = False
            return
        bounds = stated - received, stated + 1 - sent
        # The time of the hub by the local clock, if that is right within these bounds.
        by_local = _within(bounds, local - now)
        if self._ahead is None:
            self._ahead = by_local
        ahead = _within(bounds, self._ahead)
        agrees = abs(ahead - self._ahead) <= JUMP_SECONDS
        if agrees and self._confirmed:
            self._ahead = ahead
            self._claim = None
        elif not self._confirmed and abs(by_local - (local - now)) <= JUMP_SECONDS:
            # The answer and the local clock confirm each other.
            self._ahead = by_local
            self._confirmed = True
            self._claim = None
        else:
            claim = _StatedTime.of(self._claim, bounds, ahead=ahead, now=now)
            self._claim = claim
            # Both are needed: ten answers of one second may come from one API server that is wrong.
            if claim.answers >= CONFIRM_ANSWERS and now - claim.since >= CONFIRM_SECONDS:
                self._ahead = claim.ahead
                self._confirmed = True
                self._claim = None
            elif not self._confirmed:
                self._ahead = claim.ahead
        self.known = self._confirmed and self._claim is None
        self._offset = now + self._ahead - local


@dataclass(frozen=True, slots=True)
class _StatedTime:
    """A time that some answers in a row have stated, against what was known."""

    ahead: float
    """Hub time minus monotonic time."""
    since: float
    """Monotonic time of the first of these answers."""
    answers: int

    @classmethod
    def of(
        cls, before: "_StatedTime | None", bounds: tuple[float, float], *, ahead: float, now: float
    ) -> "_StatedTime":
        """The claim with one more answer, or a new one (`ahead`) if it states another time."""
        if before is not None:
            same = _within(bounds, before.ahead)
            if abs(same - before.ahead) <= JUMP_SECONDS:
                return cls(same, before.since, before.answers + 1)
        return cls(ahead, now, 1)


def _within(bounds: tuple[float, float], value: float) -> float:
    """The value, or the bound that it exceeds."""
    earliest, latest = bounds
    return min(max(value, earliest), latest)
