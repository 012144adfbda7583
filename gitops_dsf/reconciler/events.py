"""Kubernetes Events (core/v1) about what the reconciler saw and did.

They are for people: nothing depends on them.

The name of an Event is a digest of its content. So the same Event again, also from the next leader,
increases the count of the first one while the API server has it, which is an hour.
"""

import asyncio
import hashlib
import logging
from collections import deque
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from prometheus_client import Counter

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import InvolvedObject
from gitops_dsf.wording import shortened

LOG = logging.getLogger(__name__)
COMPONENT: Final = "gitops-dsf-reconciler"
BURST: Final = 100
"""Events that the process may write at once, and that may wait."""
PER_SECOND: Final = 2.0
"""Rate after that. Conditions, metrics and the log have everything."""
REQUEST_SECONDS: Final = 5.0
MAX_MESSAGE: Final = 1024
"""Characters of a message that the API server accepts."""


class _EventRecord(NamedTuple):
    about: InvolvedObject
    kind: str
    """Normal or Warning."""
    reason: str
    message: str


class Events:
    """Writes Events into the namespace of their object, one after another.

    They are written beside the callers, because a hub that is slow must not hold up a control loop.
    What waits when the process ends is lost.
    """

    def __init__(self, *, api: HubApi, outcomes: Counter) -> None:
        self._api = api
        self._outcomes = outcomes
        self._waiting = deque[_EventRecord]()
        self._work: asyncio.Task[None] | None = None
        """Writes what waits. It ends when nothing does."""
        self._left = float(BURST)
        self._at = monotonic()
        """Events that may be written now, and when that was computed: a token bucket."""

    def record(
        self, about: InvolvedObject, reason: str, message: str, *, warning: bool = False
    ) -> None:
        """Takes one Event. `reason` is one CamelCase word, `message` a sentence for people."""
        message = shortened(message, max_characters=MAX_MESSAGE)
        LOG.info("Event about %s %s: %s: %s", about.kind, about.name, reason, message)
        now = monotonic()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        # A message that is dropped here was logged anyway.
        if self._left < 1 or len(self._waiting) >= BURST:
            self._outcomes.labels(outcome="dropped").inc()
            return
        self._left -= 1
        self._waiting.append(
            _EventRecord(about, "Warning" if warning else "Normal", reason, message)
        )
        if self._work is None or self._work.done():
            self._work = self._api.beside(self._write_all(), name="events")

    async def _write_all(self) -> None:
        while self._waiting:
            event = self._waiting.popleft()
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    outcome = await self._write(*event)
            except (ApiError, TimeoutError, msgspec.DecodeError) as error:
                outcome = "refused"
                LOG.warning(
                    "Event about %s %s is not written: %s",
                    event.about.kind,
                    event.about.name,
                    # The text of a TimeoutError is empty.
                    str(error) or "the hub does not answer",
                )
            self._outcomes.labels(outcome=outcome).inc()

    async def _write(self, about: InvolvedObject, kind: str, reason: str, message: str) -> str:
        path = f"/api/v1/namespaces/{about.namespace}/events"
        now = timestamp_of(self._api.now())
        content = f"{about.kind}\n{about.uid}\n{kind}\n{reason}\n{message}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        # At most 253 characters, which the API server accepts.
        name = f"{about.name[:236].rstrip('-.')}.{digest}"
        event: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.namespace},
            "involvedObject": msgspec.to_builtins(about),
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._api.create(path, event)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            # The answer to the first patch has the count: there is no right to read Events.
            answer = await self._api.merge(f"{path}/{name}", {"lastTimestamp": now})
            counted = msgspec.json.decode(answer, type=dict[str, Any])
            count = msgspec.convert(counted.get("count", 1), int) + 1
            await self._api.merge(f"{path}/{name}", {"count": count})
            return "counted"
        return "written"
