"""Limits the number of writes a second that a process sends to the hub.

Only the rate is limited. The caller limits the number of requests at one time.
"""

import asyncio

from dsf_runtime.clock import monotonic


class WriteRate:
    """Turns to write, at equal distances. Several tasks may wait at the same time."""

    def __init__(self, *, per_second: float) -> None:
        self._seconds = 1 / per_second
        self._last_turn = 0.0
        """Monotonic time of the last turn that was given. It may be in the future."""

    async def wait_for_turn(self) -> None:
        """Waits for the next write that the rate allows. Each call takes a turn of its own."""
        now = monotonic()
        # Time without writes is not saved up: it would end in a burst.
        self._last_turn = max(now, self._last_turn + self._seconds)
        if self._last_turn > now:
            await asyncio.sleep(self._last_turn - now)
