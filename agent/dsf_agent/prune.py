"""Removes AddOnPlacementScores of ours whose scorer is gone, and nothing else.

Only a file that is complete and valid may lead to a deletion, and only after it stood unchanged for a while:
a missing, empty, broken or partly bad file deletes nothing (their scores expire at validUntil). ``[]`` is
complete and valid, and is what a cluster gets whose last scorer was removed or suspended in git. Since an
accident looks the same, it must stand longer, and it removes at once only what this process saw named before;
of the rest what has expired, which no placement counts any more.
"""

import asyncio
import logging
import random
from typing import Final

from dsf_agent.errors import PublishError
from dsf_agent.metrics import Metrics
from dsf_agent.reasons import Reason
from dsf_agent.snapshot import Snapshot
from dsf_agent.store import ScoreStore, Stored
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import happens_within

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=5.0, ceiling=300.0, jitter=0.3)
EMPTY_STANDS: Final = 6
"""How many times longer than other files an empty array must stand: a minute by default."""
EXPIRED_SLACK_SECONDS: Final = 1.0
"""validUntil is in whole seconds, and so is what an API server says of its clock."""
LOOKS: Final = (1.0, 3600.0)
"""Shortest and longest time in seconds between two looks at what has not expired yet."""


class Pruner:
    """Told about every state of the file; acts on the last one."""

    def __init__(
        self, *, store: ScoreStore, metrics: Metrics, settle_seconds: float, chance: random.Random
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._settle = settle_seconds
        self._chance = chance
        self._current: Snapshot | None = None
        self._named: set[str] = set()
        """Objects that some file of this process stood for and that may still be there."""
        self._news = asyncio.Event()

    def set(self, current: Snapshot | None) -> None:
        """The file as it is now; None while it cannot be used."""
        self._current = current
        if current is not None:
            self._named |= current.object_names
            if current.empty and self._named:
                log.warning(
                    "the configuration names no scorer any more: if that stands for %.0f s, their scores are"
                    " deleted",
                    self._stand,
                )
        self._news.set()

    async def run(self) -> None:
        """For ever."""
        failures = 0
        delay: float | None = None
        while True:
            if delay is None:
                await self._news.wait()
            self._news.clear()
            if await happens_within(self._news, seconds=self._stand if delay is None else delay):
                failures, delay = 0, None
                continue
            try:
                delay = await self._prune()
                failures = 0
            except PublishError as error:
                failures += 1
                log.warning(
                    "scores of removed scorers could not be looked for: %s",
                    error,
                    extra={"reason": error.reason.value},
                )
            except Exception:
                failures += 1
                log.exception(
                    "looking for scores of removed scorers failed inside the agent",
                    extra={"reason": Reason.INTERNAL.value},
                )
            if failures:
                delay = BACKOFF.delay(failures, chance=self._chance)

    @property
    def _stand(self) -> float:
        """Seconds that the file as it is now must stand."""
        empty = self._current is not None and self._current.empty
        return self._settle * EMPTY_STANDS if empty else self._settle

    async def _prune(self) -> float | None:
        """Deletes what may go. Seconds until something else will have expired that may go then, or None."""
        current = self._current
        if current is None or not current.complete:
            return None
        waits = []
        for stored in await self._store.ours():
            if stored.name in current.object_names:
                continue
            wait = self._wait(stored, current)
            if wait is None or wait > 0:
                waits += [] if wait is None else [wait]
                continue
            if self._current is not current:
                return None
            await self._store.delete(stored)
            self._named.discard(stored.name)
            self._metrics.deletions.inc()
            log.info(
                "deleted AddOnPlacementScore %s: no scorer of the configuration has it",
                stored.name,
                extra={"object": stored.name},
            )
        return min(max(min(waits), LOOKS[0]), LOOKS[1]) if waits else None

    def _wait(self, stored: Stored, current: Snapshot) -> float | None:
        """Seconds until an object that the file does not name may go; None for never."""
        if not current.empty or stored.name in self._named:
            return 0.0
        if stored.valid_until is None:
            return None
        return stored.valid_until + EXPIRED_SLACK_SECONDS - self._store.wall()
