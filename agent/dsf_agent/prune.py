"""Removes AddOnPlacementScores of ours whose scorer is gone, and nothing else.

Only a file that is complete, valid and names at least one scorer may lead to a deletion, and only after it stood unchanged for a
while: a missing, empty, broken or partly bad file deletes nothing (their scores expire at validUntil).
"""

import asyncio
import logging
import random
from contextlib import suppress
from typing import Final

from dsf_agent.backoff import Backoff
from dsf_agent.errors import PublishError
from dsf_agent.metrics import Metrics
from dsf_agent.reasons import Reason
from dsf_agent.snapshot import Snapshot
from dsf_agent.store import ScoreStore

log = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=5.0, ceiling=300.0, jitter=0.3)


class Pruner:
    """Told about every state of the file; acts on the last one."""

    def __init__(self, *, store: ScoreStore, metrics: Metrics, settle_seconds: float, chance: random.Random) -> None:
        self._store = store
        self._metrics = metrics
        self._settle = settle_seconds
        self._chance = chance
        self._current: Snapshot | None = None
        self._news = asyncio.Event()

    def set(self, current: Snapshot | None) -> None:
        """The file as it is now; None while it cannot be used."""
        self._current = current
        self._news.set()

    async def run(self) -> None:
        """For ever."""
        failures = 0
        while True:
            if not failures:
                await self._news.wait()
            self._news.clear()
            if await self._disturbed(self._settle if not failures else BACKOFF.delay(failures, chance=self._chance)):
                failures = 0
                continue
            try:
                await self._prune()
                failures = 0
            except PublishError as error:
                failures += 1
                log.warning("scores of removed scorers could not be looked for: %s", error, extra={"reason": error.reason.value})
            except Exception:
                failures += 1
                log.exception("looking for scores of removed scorers failed inside the agent", extra={"reason": Reason.INTERNAL.value})

    async def _disturbed(self, seconds: float) -> bool:
        """Whether news came within this time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout=seconds)
            return True
        return False

    async def _prune(self) -> None:
        current = self._current
        if current is None or not current.complete:
            return
        for stored in await self._store.ours():
            if stored.name in current.object_names:
                continue
            if self._current is not current:
                return
            await self._store.delete(stored)
            self._metrics.deletions.inc()
            log.info("deleted AddOnPlacementScore %s: no scorer of the configuration has it", stored.name, extra={"object": stored.name})
