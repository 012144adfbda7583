"""Reports every state of the mounted file ``summaries``. While it cannot be used, the last good configuration
stays active.

The kubelet replaces a symlink, so another file has the name then.
"""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dsf_agent.configuration import snapshot
from dsf_agent.configuration.snapshot import Snapshot
from dsf_wire.clusters import ClustersError
from dsf_wire.summary import SummariesError

MAX_BYTES: Final = 4 << 20
"""Largest file that is read. The API server limits a ConfigMap to 1 MiB."""


@dataclass(frozen=True, kw_only=True)
class UnusableFile:
    """Why the file cannot be used: a short reason for metrics, and a text."""

    reason: str
    text: str


Observation = Snapshot | UnusableFile


def observe(files: tuple[Path, ...]) -> Observation:
    """Reads and parses the file, and the file of clusters of the hub scorer. Blocking."""
    contents: list[bytes] = []
    for path in files:
        content = _content(path)
        if isinstance(content, UnusableFile):
            return content
        contents.append(content)
    try:
        return snapshot.parse(*contents)
    except (SummariesError, ClustersError) as error:
        wrong = 1 if isinstance(error, ClustersError) else 0
        reason = "not_json" if contents[wrong].strip() else "empty"
        return UnusableFile(reason=reason, text=f"{files[wrong]}: {error}")


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


class Watcher:
    """Calls ``emit`` when the configuration changed. It looks at names, times and sizes, and reads the files
    only when one of them differs.
    """

    def __init__(
        self,
        *,
        files: tuple[Path, ...],
        poll_seconds: float,
        emit: Callable[[Observation], Awaitable[None]],
    ) -> None:
        self._files = files
        self._poll = poll_seconds
        self._emit = emit
        self._seen: list[tuple[int, ...]] | None = None
        self._last: Observation | None = None

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(self._poll)

    async def check(self) -> None:
        """Looks at the files now and calls ``emit`` if their state changed."""
        seen = await asyncio.to_thread(lambda: [_state(file) for file in self._files])
        if seen == self._seen:
            return
        self._seen = seen
        found = await asyncio.to_thread(observe, self._files)
        if _same(found, self._last):
            return
        self._last = found
        await self._emit(found)


def _state(file: Path) -> tuple[int, ...]:
    """Differs when a file was replaced or written. Empty if it cannot be looked at."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _same(one: Observation, other: Observation | None) -> bool:
    if isinstance(one, Snapshot) and isinstance(other, Snapshot):
        return one.digest == other.digest
    return one == other
