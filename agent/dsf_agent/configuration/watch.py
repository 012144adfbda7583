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


Content = bytes | UnusableFile


def observe(files: tuple[Path, ...]) -> Observation:
    """Reads and parses the file, and the file of clusters of the hub scorer. Blocking."""
    return _parsed(files, list(map(_content, files)))


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
    """Calls ``emit`` when the contents of the files changed."""

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
        self._seen: list[Content] = []

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            found = await asyncio.to_thread(self._changed)
            if found is not None:
                await self._emit(found)
            await asyncio.sleep(self._poll)

    def _changed(self) -> Observation | None:
        """What the files say if they changed since the last look. Blocking."""
        contents = list(map(_content, self._files))
        if contents == self._seen:
            return None
        self._seen = contents
        return _parsed(self._files, contents)
