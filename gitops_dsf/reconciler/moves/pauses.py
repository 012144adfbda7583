"""When the next deletion may be tried: the limit of deletions, and pauses after failed attempts. Pure.

Times are in seconds. Losing what is remembered here only means that the hub is asked more often.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler.moves.completeness import BlockedReason

PER_MINUTE: Final = 10
"""Deletions for all ApplicationSets together."""
RETRIES: Final = Backoff(first=5.0, ceiling=60.0, jitter=0)
"""Pauses after failed attempts for one ApplicationSet."""
SILENCE_SECONDS: Final = 5.0
"""Pause of all attempts after a request that the hub did not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Until when nothing is tried, and why."""

    until: float
    blocked: BlockedReason


@dataclass(kw_only=True, slots=True)
class _Failed:
    pause: Pause
    times: int


@dataclass(kw_only=True)
class DeletionPauses:
    """The pauses of all ApplicationSets, by UID."""

    _deleted: deque[float] = field(default_factory=lambda: deque(maxlen=PER_MINUTE))
    _failed: dict[str, _Failed] = field(default_factory=dict)
    _silence: Pause | None = None

    def now(self, uid: str, now: float) -> Pause | None:
        """The pause that forbids an attempt now."""
        if self._silence is not None and now < self._silence.until:
            return self._silence
        failed = self._failed.get(uid)
        if failed is not None and now < failed.pause.until:
            return failed.pause
        if len(self._deleted) == PER_MINUTE and now < self._deleted[0] + 60:
            return Pause(
                until=self._deleted[0] + 60,
                blocked=BlockedReason(
                    reason="RateLimited", message=f"{PER_MINUTE} copies were deleted within the last minute"
                ),
            )
        return None

    def deleted(self, uid: str, now: float) -> None:
        """Counts a deletion, and ends the pause."""
        self._failed.pop(uid, None)
        self._deleted.append(now)

    def failed(self, uid: str, blocked: BlockedReason, now: float) -> Pause:
        """Starts the pause after a failed attempt."""
        before = self._failed.get(uid)
        again = before is not None and now < before.pause.until + RETRIES.ceiling
        times = before.times + 1 if again and before is not None else 1
        pause = Pause(until=now + RETRIES.delay(times), blocked=blocked)
        self._failed[uid] = _Failed(pause=pause, times=times)
        return pause

    def silent(self, blocked: BlockedReason, now: float) -> Pause:
        """Starts the pause of all attempts after a request without an answer."""
        self._silence = Pause(until=now + SILENCE_SECONDS, blocked=blocked)
        return self._silence

    def keep_only(self, uids: Collection[str]) -> None:
        """Forgets other ApplicationSets."""
        for uid in [uid for uid in self._failed if uid not in uids]:
            del self._failed[uid]
