"""Turns Ctrl-C, SIGTERM and a closed terminal into a request that is checked between two actions, never in
the middle of one.
"""

import signal
import time
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SLICE_SECONDS: Final = 0.1


class StoppedError(Exception):
    """A signal ended the demo. ``number`` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """The request to end the demo."""

    def __init__(self) -> None:
        self._number: int | None = None

    def listen(self) -> None:
        """Installs the signal handlers for the rest of the process."""
        for number in SIGNALS:
            signal.signal(number, self._asked)

    def check(self) -> None:
        """Raises StoppedError after a signal."""
        if self._number is not None:
            raise StoppedError(self._number)

    def sleep(self, seconds: float) -> None:
        """Sleeps. Raises StoppedError soon after a signal."""
        end = time.monotonic() + seconds
        self.check()
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))
            self.check()

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        self._number = number
