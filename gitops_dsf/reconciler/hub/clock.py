"""The hub's clock, which decides what is expired, by the Date header of its answers."""

import email.utils
import time


class HubClock:
    """Seconds. Until the first answer, and after one without a Date, `known` is false and the last offset counts."""

    def __init__(self) -> None:
        self.offset = 0.0
        """By which the hub's clock is ahead of ours."""
        self.known = False
        """Whether the last answer had a Date."""

    def now(self) -> float:
        """Since 1970."""
        return time.time() + self.offset

    def told(self, date: str, *, sent: float, received: float) -> None:
        """Takes a Date header and our own times of the exchange.

        The hub wrote it at some moment between the two: a page that took long to arrive is no clock that is behind. It counts whole
        seconds, so less than two may be nothing.
        """
        try:
            at = email.utils.parsedate_to_datetime(date).timestamp()
        except (TypeError, ValueError):
            self.known = False
            return
        self.known = True
        if at - received > 2:
            self.offset = at - received
        else:
            self.offset = at - sent if at - sent < -2 else 0.0
