"""Watches the mounted ConfigMap directory and reports every state of the file ``summaries``.

The kubelet replaces the symlink ``..data``, so the directory is watched and not the file. The file is also
read every few seconds, in case an event is missed. While it cannot be used, the last good configuration stays
active.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from watchfiles import awatch

from dsf_agent.configuration import snapshot
from dsf_agent.configuration.snapshot import Snapshot
from dsf_runtime.clock import happens_within
from dsf_wire.clusters import ClustersError
from dsf_wire.constants import CONFIGMAP_KEY
from dsf_wire.summary import SummariesError

log = logging.getLogger(__name__)

MAX_BYTES: Final = 4 << 20
"""Largest file that is read. The API server limits a ConfigMap to 1 MiB."""
DEBOUNCE_MS: Final = 100
"""Changes within this time are reported together."""
STEP_MS: Final = 100
"""How often watchfiles checks for events. Each check wakes the process: 0.7 ms of CPU per second, half as
much as with 50 ms.
"""


@dataclass(frozen=True, kw_only=True)
class UnusableFile:
    """Why the file cannot be used: a short reason for metrics, and a text."""

    reason: str
    text: str


Observation = Snapshot | UnusableFile


def observe(path: Path) -> Observation:
    """Reads and parses the file. Blocking."""
    content = _content(path)
    if isinstance(content, UnusableFile):
        return content
    try:
        return snapshot.parse(content)
    except SummariesError as error:
        return _unusable(path, content, error)


def observe_fleet(path: Path, clusters: Path) -> Observation:
    """Reads and parses the files of the hub scorer. Blocking."""
    content, listed = _content(path), _content(clusters)
    if isinstance(content, UnusableFile):
        return content
    if isinstance(listed, UnusableFile):
        return listed
    try:
        return snapshot.parse_fleet(content, listed)
    except SummariesError as error:
        return _unusable(path, content, error)
    except ClustersError as error:
        return _unusable(clusters, listed, error)


def _unusable(path: Path, content: bytes, error: ValueError) -> UnusableFile:
    return UnusableFile(reason="empty" if not content.strip() else "not_json", text=f"{path}: {error}")


def _content(path: Path) -> bytes | UnusableFile:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return UnusableFile(reason="missing", text=f"{path} does not exist")
    except OSError as error:
        return UnusableFile(reason="unreadable", text=f"{path}: {error.strerror}")
    try:
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return UnusableFile(reason="unreadable", text=f"{path} is not a regular file")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        return UnusableFile(reason="unreadable", text=f"{path}: {error.strerror}")
    if len(content) > MAX_BYTES:
        return UnusableFile(reason="too_large", text=f"{path} has more than {MAX_BYTES} bytes")
    return content


def observer(directory: Path, *, clusters: Path | None) -> Callable[[], Observation]:
    """A function that reads the configuration: of an agent, or with a file of clusters of the hub scorer."""
    path = directory / CONFIGMAP_KEY
    return partial(observe, path) if clusters is None else partial(observe_fleet, path, clusters)


class Watcher:
    """Calls ``emit`` when the configuration in a directory changed."""

    def __init__(
        self,
        *,
        directory: Path,
        read: Callable[[], Observation],
        poll_seconds: float,
        emit: Callable[[Observation], Awaitable[None]],
    ) -> None:
        self._directory = directory
        self._read = read
        self._poll = poll_seconds
        self._emit = emit
        self._last: Observation | None = None

    async def run(self) -> None:
        """Runs until it is cancelled."""
        touched = asyncio.Event()
        touched.set()
        while True:
            identity = _identity(self._directory)
            events = asyncio.create_task(self._events(touched), name="watch events")
            try:
                # If the directory is replaced, inotify still watches the old one.
                while identity == _identity(self._directory) and not events.done():
                    await happens_within(touched, seconds=self._poll)
                    touched.clear()
                    await self.check()
                if events.done():
                    await self.check()
                    await happens_within(touched, seconds=min(self._poll, 1.0))
            finally:
                events.cancel()
                await asyncio.gather(events, return_exceptions=True)

    async def check(self) -> None:
        """Reads the file now and calls ``emit`` if its state changed."""
        found = await asyncio.to_thread(self._read)
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
            # The directory does not exist yet, or the inotify limit is reached. Polling continues.
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
