"""watch: the mounted ConfigMap directory as a sequence of Snapshots.

The kubelet replaces the ``..data`` symlink, so the directory is watched, not the file; a slow poll is the
safety net. A state that cannot be used leaves the last good configuration in force.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from watchfiles import awatch

from dsf_agent import snapshot
from dsf_agent.snapshot import Snapshot, SummariesError
from dsf_runtime.clock import happens_within
from dsf_wire.constants import CONFIGMAP_KEY

log = logging.getLogger(__name__)

MAX_BYTES: Final = 4 << 20
"""A ConfigMap holds at most 1 MiB (API server); four times that is somebody's accident."""
DEBOUNCE_MS: Final = 100
"""Longest time that a burst of changes is collected."""
STEP_MS: Final = 100
"""Between two looks of the watch; each wakes the process, all day, on every cluster: 0.7 ms of CPU per
second, half of what 50 ms take.
"""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Why the file as it is now cannot be used: a short reason for metrics, and a text."""

    reason: str
    text: str


Observation = Snapshot | Trouble


def observe(path: Path) -> Observation:
    """Reads and parses the file as it is now. Blocking."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Trouble(reason="missing", text=f"{path} is not there")
    except OSError as error:
        return Trouble(reason="unreadable", text=f"{path}: {error.strerror}")
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return Trouble(reason="unreadable", text=f"{path} is not a regular file")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        return Trouble(reason="unreadable", text=f"{path}: {error.strerror}")
    if len(content) > MAX_BYTES:
        return Trouble(reason="too_large", text=f"{path} has more than {MAX_BYTES} bytes")
    try:
        return snapshot.parse(content)
    except SummariesError as error:
        return Trouble(reason="empty" if not content.strip() else "not_json", text=f"{path}: {error}")


class Watcher:
    """Calls ``emit`` with every state of the file that differs from the one before."""

    def __init__(
        self, *, directory: Path, poll_seconds: float, emit: Callable[[Observation], Awaitable[None]]
    ) -> None:
        self._directory = directory
        self._path = directory / CONFIGMAP_KEY
        self._poll = poll_seconds
        self._emit = emit
        self._last: Observation | None = None

    async def run(self) -> None:
        """For ever."""
        touched = asyncio.Event()
        touched.set()
        while True:
            identity = _identity(self._directory)
            events = asyncio.create_task(self._events(touched), name="watch events")
            try:
                # A directory that was replaced has a new identity: the kernel's watch is on the old one.
                while identity == _identity(self._directory) and not events.done():
                    await happens_within(touched, seconds=self._poll)
                    touched.clear()
                    await self.look()
                if events.done():
                    await self.look()
                    await happens_within(touched, seconds=min(self._poll, 1.0))
            finally:
                events.cancel()
                await asyncio.gather(events, return_exceptions=True)

    async def look(self) -> None:
        """Reads the file now and emits if it differs."""
        found = await asyncio.to_thread(observe, self._path)
        if _same(found, self._last):
            return
        self._last = found
        await self._emit(found)

    async def _events(self, touched: asyncio.Event) -> None:
        try:
            async for _ in awatch(
                self._directory, watch_filter=None, debounce=DEBOUNCE_MS, step=STEP_MS, recursive=False
            ):
                touched.set()
        except OSError as error:
            # Not there yet, or the system's inotify limit: the poll goes on alone.
            log.debug("no file events for %s: %s", self._directory, error)


def _same(one: Observation, other: Observation | None) -> bool:
    if isinstance(one, Snapshot) and isinstance(other, Snapshot):
        return one.digest == other.digest
    return one == other


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        found = directory.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
