"""Time that an event loop did not get: what a machine that other processes use as well took from it."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Final

STEP: Final = 0.02
"""Seconds between two looks."""


class Stolen:
    """Looks again and again how late a timer and a hop to a thread and back are, as every call of the agent needs them.

    The CPU that the loop's own thread used meanwhile is not forgiven, so whoever computes in the loop is seen. Garbage collections are:
    they go through the objects of the whole test run. Waiting in the loop without computing cannot be told from a busy machine; the
    linter refuses it (ASYNC).
    """

    def __init__(self) -> None:
        self._looks: list[tuple[float, float, float]] = []
        self._begun = self._cpu = 0.0
        self._thread = threading.get_ident()
        self._collecting = self._collected = 0.0

    async def run(self) -> None:
        """For ever."""
        loop = asyncio.get_running_loop()
        gc.callbacks.append(self._collection)
        try:
            with ThreadPoolExecutor(max_workers=1) as threads:
                while True:
                    self._begun, self._cpu = time.monotonic(), self._used()
                    await asyncio.sleep(STEP)
                    await loop.run_in_executor(threads, time.monotonic)
                    self._looks.append((self._begun, time.monotonic(), self._late()))
        finally:
            gc.callbacks.remove(self._collection)

    def between(self, start: float, end: float) -> float:
        """Seconds that were taken by the looks that touch the time from start to end, which are times of the monotonic clock."""
        under_way = (self._begun, time.monotonic(), self._late())
        return sum(late for begun, ended, late in (*self._looks, under_way) if begun <= end and ended >= start)

    def _late(self) -> float:
        return max(0.0, time.monotonic() - self._begun - STEP - (self._used() - self._cpu))

    def _used(self) -> float:
        """Seconds of CPU of this thread without those of the collector."""
        return time.thread_time() - self._collected

    def _collection(self, phase: str, _info: dict[str, int]) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collected += time.thread_time() - self._collecting


@asynccontextmanager
async def stolen() -> AsyncIterator[Stolen]:
    """Looks while the block runs."""
    measured = Stolen()
    task = asyncio.create_task(measured.run(), name="stolen")
    await asyncio.sleep(0)
    try:
        yield measured
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
