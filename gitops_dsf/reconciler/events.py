"""Kubernetes Events (core/v1) about what the reconciler saw and did. They are for people: nothing depends on
them.

The same Event within an hour increases the count of the first one. The name of an Event is a digest of its
content, so a new leader increases the counts of Events that the leader before wrote.
"""

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec
from prometheus_client import CollectorRegistry, Counter

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.kinds import Reference
from gitops_dsf.reconciler.series import PREFIX
from gitops_dsf.wording import shortened

LOG = logging.getLogger(__name__)
COMPONENT: Final = "gitops-dsf-reconciler"
SAME_SECONDS: Final = 3600.0
"""The same message about the same object is the same Event for this time. The API server itself deletes
Events after an hour.
"""
REMEMBERED: Final = 4096
"""Events and objects that are remembered at most. The oldest are forgotten first."""
BURST: Final = 100
"""Events that the process may write at once."""
PER_SECOND: Final = 2.0
"""Rate after that. Conditions, metrics and the log have everything."""
OBJECT_BURST: Final = 25
"""Events about one object that may be written at once, as in the event recorder of Kubernetes."""
OBJECT_PER_SECOND: Final = 1 / 300
"""Rate after that, as in Kubernetes: one in five minutes."""
REQUEST_SECONDS: Final = 5.0
MAX_MESSAGE: Final = 1024
"""Characters of a message that the API server accepts."""

Kind = Literal["Normal", "Warning"]


class EventMetrics:
    """Events by outcome."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.events = Counter(
            f"{PREFIX}_events",
            "Events: written, counted (the same within an hour), dropped (too many at once), suppressed (too"
            " many about one object) or refused by the hub.",
            ["outcome"],
            registry=registry,
        )


class _Written(msgspec.Struct, gc=False):
    """An Event on the hub."""

    at: float
    count: int


class _Bucket(msgspec.Struct, gc=False):
    """A token bucket: Events that may be written now, and when that was computed."""

    left: float
    at: float

    def take(self, now: float, *, burst: float, per_second: float) -> bool:
        """Takes one token. False when there is none."""
        self.left, self.at = min(burst, self.left + (now - self.at) * per_second), now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class _Subject(msgspec.Struct):
    """An object with Events."""

    bucket: _Bucket
    suppressed: int = 0
    """Events that were suppressed since the last one that was written."""


class _CountedEvent(msgspec.Struct, frozen=True):
    count: int = 1


class Events:
    """Writes Events into the namespace of their object. Never raises, never waits for long, and limits the
    number of Events.
    """

    def __init__(self, *, api: HubApi, metrics: EventMetrics, clock: Callable[[], float] = monotonic) -> None:
        self._api, self._events, self._clock = api, metrics.events, clock
        self._known: OrderedDict[tuple[str, str], _Written] = OrderedDict()
        """By namespace and name."""
        self._bucket = _Bucket(left=BURST, at=clock())
        self._subjects: OrderedDict[str, _Subject] = OrderedDict()
        """By UID. Least recently used objects are forgotten first."""

    async def say(self, about: Reference, kind: Kind, reason: str, message: str) -> None:
        """Writes one Event. `reason` is one CamelCase word, `message` a sentence for people."""
        message = shortened(message, most=MAX_MESSAGE)
        LOG.info("event on %s %s: %s: %s", about.kind, about.name, reason, message)
        subject, now = self._subject(about), self._clock()
        if not subject.bucket.take(now, burst=OBJECT_BURST, per_second=OBJECT_PER_SECOND):
            subject.suppressed += 1
            self._events.labels(outcome="suppressed").inc()
            return
        if not self._bucket.take(now, burst=BURST, per_second=PER_SECOND):
            self._events.labels(outcome="dropped").inc()
            return
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                suppressed = subject.suppressed
                outcome = await self._write(about, kind, reason, message, suppressed)
            subject.suppressed -= suppressed
        except (ApiError, TimeoutError, msgspec.DecodeError) as error:
            outcome = "refused"
            LOG.warning(
                "event on %s %s not written: %s",
                about.kind,
                about.name,
                str(error) or "the hub does not answer",
            )
        self._events.labels(outcome=outcome).inc()

    def _subject(self, about: Reference) -> _Subject:
        known = self._subjects.get(about.uid)
        if known is None:
            known = self._subjects[about.uid] = _Subject(bucket=_Bucket(left=OBJECT_BURST, at=self._clock()))
        self._subjects.move_to_end(about.uid)
        while len(self._subjects) > REMEMBERED:
            self._subjects.popitem(last=False)
        return known

    async def _write(self, about: Reference, kind: Kind, reason: str, message: str, suppressed: int) -> str:
        name = _name(about, kind, reason, message)
        key, path = (about.namespace, name), f"/api/v1/namespaces/{about.namespace}/events"
        if suppressed:
            # The number is not part of the name, so the same message stays the same Event.
            note = f" ({suppressed} Events about this object were suppressed before this one)"
            message = f"{shortened(message, most=MAX_MESSAGE - len(note))}{note}"
        known = self._known.get(key)
        if known is not None and self._clock() - known.at < SAME_SECONDS:
            try:
                return await self._count(key, path, known.count + 1, message=message)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        try:
            await self._api.create(path, self._event(name, about, kind, reason, message))
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return await self._count(key, path, None, message=message)
        self._remember(key, 1)
        return "written"

    async def _count(self, key: tuple[str, str], path: str, count: int | None, *, message: str) -> str:
        """Increases the count of an Event. Without `count` another leader wrote it, and the hub's answer has
        its count.
        """
        change: dict[str, Any] = {"lastTimestamp": self._now(), "message": message}
        if count is not None:
            change["count"] = count
        answer = msgspec.json.decode(await self._api.merge(f"{path}/{key[1]}", change), type=_CountedEvent)
        if count is None:
            answer = msgspec.json.decode(
                await self._api.merge(f"{path}/{key[1]}", {"count": answer.count + 1}), type=_CountedEvent
            )
        self._remember(key, answer.count)
        return "counted"

    def _remember(self, key: tuple[str, str], count: int) -> None:
        before = self._known.pop(key, None)
        self._known[key] = _Written(
            at=before.at if before is not None and count > 1 else self._clock(), count=count
        )
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _now(self) -> str:
        return timestamp_of(self._api.now())

    def _event(self, name: str, about: Reference, kind: Kind, reason: str, message: str) -> dict[str, Any]:
        now = self._now()
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": about.namespace},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def _name(about: Reference, kind: Kind, reason: str, message: str) -> str:
    """The object's name and 16 digits: at most 253 characters, which the API server accepts."""
    digest = hashlib.sha256(f"{about.kind}\n{about.uid}\n{kind}\n{reason}\n{message}".encode()).hexdigest()[
        :16
    ]
    return f"{about.name[:236].rstrip('-.')}.{digest}"
