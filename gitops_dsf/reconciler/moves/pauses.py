"""When the next removal may be tried: the limit of deletions, and pauses after attempts that came to nothing.
Pure; seconds.

Nothing rests on what is remembered here: without it the hub would only be asked more often.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from dsf_runtime.backoff import Backoff
from gitops_dsf.reconciler.moves.decided import Doubt

PER_MINUTE: Final = 10
"""Deletions of all ApplicationSets together."""
RETRIES: Final = Backoff(first=5.0, ceiling=60.0, jitter=0)
"""After an attempt for an ApplicationSet that came to nothing."""
SILENCE_SECONDS: Final = 5.0
"""After a request that the hub did not answer, during which nothing is tried for anybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Until when there is no attempt, and why."""

    until: float
    doubt: Doubt


@dataclass(kw_only=True, slots=True)
class _Failed:
    pause: Pause
    times: int


@dataclass(kw_only=True)
class Pauses:
    """By UID of the ApplicationSet."""

    _deleted: deque[float] = field(default_factory=lambda: deque(maxlen=PER_MINUTE))
    _failed: dict[str, _Failed] = field(default_factory=dict)
    _silence: Pause | None = None

    def now(self, uid: str, now: float) -> Pause | None:
        """What speaks against an attempt now."""
        if self._silence is not None and now < self._silence.until:
            return self._silence
        failed = self._failed.get(uid)
        if failed is not None and now < failed.pause.until:
            return failed.pause
        if len(self._deleted) == PER_MINUTE and now < self._deleted[0] + 60:
            return Pause(
                until=self._deleted[0] + 60,
                doubt=Doubt(reason="RateLimited", message=f"{PER_MINUTE} copies went within the last minute"),
            )
        return None

    def deleted(self, uid: str, now: float) -> None:
        """An attempt deleted a copy."""
        self._failed.pop(uid, None)
        self._deleted.append(now)

    def failed(self, uid: str, doubt: Doubt, now: float) -> Pause:
        """An attempt came to nothing."""
        before = self._failed.get(uid)
        again = before is not None and now < before.pause.until + RETRIES.ceiling
        times = before.times + 1 if again and before is not None else 1
        pause = Pause(until=now + RETRIES.delay(times), doubt=doubt)
        self._failed[uid] = _Failed(pause=pause, times=times)
        return pause

    def silent(self, doubt: Doubt, now: float) -> Pause:
        """The hub did not answer: the next ApplicationSet would wait as long for nothing."""
        self._silence = Pause(until=now + SILENCE_SECONDS, doubt=doubt)
        return self._silence

    def keep_only(self, uids: Collection[str]) -> None:
        """Forgets ApplicationSets that are gone."""
        for uid in [uid for uid in self._failed if uid not in uids]:
            del self._failed[uid]
