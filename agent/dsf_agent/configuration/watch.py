"""Reports every state of the mounted file ``summaries``, and the suspended scorers of the hub. While the file
cannot be used, the last good configuration stays active. If the hub does not answer, no scorer is suspended.
"""

import asyncio
import logging
import os
import random
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dsf_agent.configuration import snapshot
from dsf_agent.configuration.snapshot import Snapshot
from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_agent.metrics import Metrics
from dsf_wire import scorename
from dsf_wire.clusters import ClustersError
from dsf_wire.constants import SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.summary import SummariesError

log = logging.getLogger(__name__)

JITTER: Final = 0.2
"""Of the time between two reads of the suspended scorers."""
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


@dataclass(kw_only=True, eq=False, repr=False)
class Watcher:
    """Calls ``emit`` when the contents of the files changed."""

    files: tuple[Path, ...]
    poll_seconds: float
    emit: Callable[[Observation], Awaitable[None]]
    _seen: list[Content] = field(init=False, default_factory=list)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            found = await asyncio.to_thread(self._changed)
            if found is not None:
                await self.emit(found)
            await asyncio.sleep(self.poll_seconds)

    def _changed(self) -> Observation | None:
        """What the files say if they changed since the last look. Blocking."""
        contents = list(map(_content, self.files))
        if contents == self._seen:
            return None
        self._seen = contents
        return _parsed(self.files, contents)


@dataclass(kw_only=True, eq=False, repr=False)
class Suspension:
    """Reads key ``scorers`` of ConfigMap gitops-dsf-suspended, and calls ``emit`` for a new set of names."""

    server: ApiServer
    namespace: str
    poll_seconds: float
    metrics: Metrics
    emit: Callable[[frozenset[str]], Awaitable[None]]
    _names: frozenset[str] = field(init=False, default_factory=frozenset)
    _fault: str = field(init=False, default="")

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self.check()
            except Exception:
                text = "reading the suspended scorers failed because of a bug in the agent"
                log.exception(text, extra={"reason": Reason.INTERNAL.value})
            await asyncio.sleep(self.poll_seconds * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret

    async def check(self) -> None:
        """Reads the names once."""
        fault = ""
        try:
            names = await self._read()
        except AgentError as error:
            names = frozenset()
            fault = error.reason.value
            self.metrics.suspension_failures.labels(fault).inc()
            if fault != self._fault:
                text = "cannot read the suspended scorers, so none is suspended: %s"
                log.warning(text, error, extra={"reason": fault})
        self._fault = fault
        if names != self._names:
            self._names = names
            await self.emit(names)

    async def _read(self) -> frozenset[str]:
        path = (
            f"/api/v1/namespaces/{quote(self.namespace, safe='')}/configmaps/{SUSPENDED_CONFIGMAP}"
        )
        try:
            found = await self.server.call("GET", path, shape=dict[str, Any])
        except AgentError as error:
            if error.reason is Reason.NOT_FOUND:
                return frozenset()
            raise
        try:
            return scorename.suspended(found.get("data"))
        except msgspec.DecodeError as error:
            msg = (
                f"key {SUSPENDED_KEY!r} of ConfigMap {SUSPENDED_CONFIGMAP!r} is not a JSON array of score"
                f" names: {error}"
            )
            raise AgentError(msg, reason=Reason.INVALID_BODY) from error
