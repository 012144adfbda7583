"""A clock that a test sets."""


class ManualClock:
    """Stands still until a test sets `now`; nobody may sleep by it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)
