"""Limits how many requests are read and scored at the same time, and for how long."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from dsf_scorer.errors import RefusedError
from dsf_scorer.settings import Settings

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Turn:
    """One slot for a request. Work that outlives its request keeps the slot until it ends."""

    def __init__(self) -> None:
        self._job: asyncio.Task[Any] | None = None

    async def run(self, work: Coroutine[Any, Any, _T], *, seconds: float, cancel: bool) -> _T:
        """Runs the work and returns its result. Raises RefusedError (503) after the given seconds.

        With ``cancel``, the work is cancelled then. A thread cannot be stopped, so it runs to its end, and
        its result is discarded.
        """
        job = asyncio.create_task(work)
        self._job = job
        try:
            done, _ = await asyncio.wait({job}, timeout=seconds)
        except asyncio.CancelledError:
            job.cancel()
            raise
        if not done:
            if cancel:
                job.cancel()
            msg = (
                f"no score after {seconds:g} s; ask for fewer series or points, or raise"
                " SCORER_TIMEOUT_SECONDS"
            )
            raise RefusedError(msg, status=503, headers={"retry-after": "30"})
        return job.result()

    @property
    def unfinished(self) -> "asyncio.Task[Any] | None":
        return self._job if self._job is not None and not self._job.done() else None


class Turns:
    """Assigns slots in order of arrival. Refuses requests when too many wait."""

    def __init__(self, settings: Settings) -> None:
        self._places = asyncio.Semaphore(settings.max_concurrent)
        self._max_waiting = settings.max_waiting
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Waits for a slot. Raises RefusedError (503 with Retry-After) when the queue is full."""
        if self._places.locked() and self._waiting >= self._max_waiting:
            raise RefusedError(
                "too many scoring requests are waiting", status=503, headers={"retry-after": "5"}
            )
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        turn = Turn()
        try:
            yield turn
        finally:
            late = turn.unfinished
            if late is None:
                self._places.release()
            else:
                late.add_done_callback(self._finished_late)

    def _finished_late(self, job: "asyncio.Task[Any]") -> None:
        self._places.release()
        if not job.cancelled() and job.exception() is not None:
            _log.error("a scoring function failed after its time limit", exc_info=job.exception())
