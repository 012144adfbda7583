"""Follows the mounted file ``summaries``, and the file of clusters of the hub scorer.

Every state of the files is reported once: a configuration, or the reason why they cannot be used.
While they cannot be used, the last good configuration stays active. The receiver does that; this
module only reads.
"""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dsf_agent.configuration import snapshot
from dsf_agent.configuration.snapshot import ConfigurationSnapshot
from dsf_wire.clusters import ClustersError
from dsf_wire.summary import SummariesError

MAX_BYTES: Final = 4 << 20
"""Largest file that is read. The API server limits a ConfigMap to 1 MiB."""


@dataclass(frozen=True, kw_only=True)
class UnusableFile:
    """The reason why the file cannot be used: a short word for metrics, and a text."""

    reason: str
    text: str


Observation = ConfigurationSnapshot | UnusableFile
Content = bytes | UnusableFile


def observe(files: tuple[Path, ...]) -> Observation:
    """Reads and parses the file, and the file of clusters of the hub scorer. Blocking."""
    return _parsed(files, [_content(file) for file in files])


@dataclass(kw_only=True, eq=False, repr=False)
class Watcher:
    """Calls ``emit`` when the contents of the files changed."""

    files: tuple[Path, ...]
    poll_seconds: float
    emit: Callable[[Observation], Awaitable[None]]
    _contents: list[Content] = field(init=False, default_factory=list)
    """The contents of the last read."""

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            # Polling, because the kubelet replaces a symbolic link: inotify of the file would see
            # nothing.
            # In a thread, because reading a file of a hung volume would stop the event loop.
            changed = await asyncio.to_thread(self._changed)
            if changed is not None:
                await self.emit(changed)
            await asyncio.sleep(self.poll_seconds)

    def _changed(self) -> Observation | None:
        """The new contents, or None if they did not change since the last read. Blocking."""
        contents = [_content(file) for file in self.files]
        # Also a file that cannot be used is one state, which is reported and counted once.
        if contents == self._contents:
            return None
        self._contents = contents
        return _parsed(self.files, contents)


def _parsed(files: tuple[Path, ...], contents: list[Content]) -> Observation:
    texts: list[bytes] = []
    for content in contents:
        if isinstance(content, UnusableFile):
            return content
        texts.append(content)
    try:
        return snapshot.parse(*texts)
    except (SummariesError, ClustersError) as error:
        wrong = 1 if isinstance(error, ClustersError) else 0
        reason = "not_json" if texts[wrong].strip() else "empty"
        return UnusableFile(reason=reason, text=f"{files[wrong]}: {error}")


def _content(path: Path) -> Content:
    try:
        # Without O_NONBLOCK the open of a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return UnusableFile(reason="missing", text=f"{path} does not exist")
    except OSError as error:
        return UnusableFile(reason="unreadable", text=f"{path}: {error.strerror}")
    try:
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                return UnusableFile(reason="unreadable", text=f"{path} is not a regular file")
            # Not MAX_BYTES: the kernel would clear a huge page for them, each second.
            content = file.read(min(state.st_size, MAX_BYTES) + 1)
    except OSError as error:
        return UnusableFile(reason="unreadable", text=f"{path}: {error.strerror}")
    if len(content) > MAX_BYTES:
        return UnusableFile(reason="too_large", text=f"{path} has more than {MAX_BYTES} bytes")
    return content
