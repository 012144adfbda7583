"""An informer: a resource of an API server kept in memory, as little of each object as is needed.

It reads the list, follows the watch, and reads the list again when the watch breaks or was long ago.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Final, Generic, TypeVar

import msgspec

from dsf_runtime.apiserver import SILENCE, ApiError, ApiServer
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic

LOG = logging.getLogger(__name__)
T = TypeVar("T")

RETRIES: Final = Backoff(first=0.4, ceiling=23.0, jitter=0.3)
SHORT_SECONDS: Final = 1.0
"""A watch that ended sooner, and without an event, is a failure: otherwise a server could be asked a thousand
times a second.
"""
OVERLOADED: Final = frozenset({401, 429, 500, 502, 503, 504})
"""Statuses that say nothing about the version that was asked for: the watch is tried again from there, and
the list is not read again.
"""
TRIES: Final = 3
"""Watches that are refused so in a row, after which the list is read again."""
UNREADABLE: Final = (
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""What reading an object may raise: the API server accepts values that nobody would expect."""

STALE_SECONDS: Final = SILENCE + 30
"""Without a word from the server for so long, what is kept is not trusted. A watch without events is given up
after SILENCE (bookmarks come every minute) and opened again, so a healthy server is never silent for longer.
"""
SLICE: Final = 2000
"""Objects of two lists that are compared before other tasks have their turn: a fleet has hundreds of
thousands of scores.
"""
RESYNC_SECONDS: Final = 6 * 3600.0
"""After which the list is read again although the watch never broke, so that a change that was missed is not
missed for ever.
"""

Project = Callable[[msgspec.Raw], tuple[str, T]]
"""From an undecoded object to its key and what is kept of it."""


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Head = _Head()
    code: int = 0
    """Of a Status, which is what an ERROR event carries."""


def by_name(_namespace: str, name: str) -> str:
    """The key of objects of one namespace, or of none."""
    return name


class Informer(Generic[T]):
    """`items` is one whole list with all changes since; before the first list it is empty and `synced` is not
    set.

    An object that `project` cannot read is logged, and what was kept of it stays: one bad object stops
    nothing. `key` makes the key that `project` would give to an object of this namespace and name.
    """

    def __init__(
        self,
        *,
        api: ApiServer,
        path: str,
        project: Project[T],
        selector: Mapping[str, str] | None = None,
        key: Callable[[str, str], str] = by_name,
        shelf: Callable[[], MutableMapping[str, T]] = dict,
        resync_seconds: float = RESYNC_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api = api
        self._path = path
        self._project, self._key = project, key
        self._unreadable: dict[str, str] = {}
        """Why, by key."""
        self._selector = selector or {}
        self._listeners: list[Callable[[str, T | None, T | None], None]] = []
        self._shelf = shelf
        self._items = shelf()
        self._resync_seconds = resync_seconds
        self._resync_at = 0.0
        self._version = ""
        """From which the next watch goes on; empty: the list must be read anew."""
        self._heard = False
        """Whether this watch had an event."""
        self._clock = clock
        self._heard_at = clock()
        self._refused = ""
        """What the hub said when it refused the list or the watch; empty since it has accepted a watch."""
        self.synced = asyncio.Event()
        self.relists = 0
        """Lists read so far."""

    @property
    def items(self) -> Mapping[str, T]:
        """What is kept of each object, by key."""
        return self._items

    @property
    def resource(self) -> str:
        """Such as managedclusters."""
        return self._path.rpartition("/")[2]

    @property
    def broken(self) -> str:
        """Why what is kept may be old; empty while it can be trusted."""
        if self._refused:
            return self._refused
        if self._clock() - self._heard_at > STALE_SECONDS:
            return f"{self.resource}: nothing was heard from the hub for more than {STALE_SECONDS:g} s"
        return ""

    def listen(self, listener: Callable[[str, T | None], None]) -> Callable[[], None]:
        """Calls it with every object that changed (None: it is gone), those of the first list included; what
        is returned ends that.
        """
        return self.compare(lambda key, _, item: listener(key, item))

    def compare(self, listener: Callable[[str, T | None, T | None], None]) -> Callable[[], None]:
        """As `listen`, with what was kept before (None: it was not there) and what is kept now."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def refresh(self) -> str:
        """Reads the whole list; the version to watch from. Nothing changes when it fails half-way. Raises
        ApiError.
        """
        found, old = self._shelf(), self._items
        unreadable = set[str]()

        def take(raw: msgspec.Raw) -> None:
            key, item = self._read(raw)
            if key in self._unreadable:
                unreadable.add(key)
            if item is not None:
                # What is equal is kept once: both lists are in memory for a while.
                known = old.get(key)
                found[key] = known if known is not None and known == item else item

        version = await self._api.list(self._path, take, **self._selector)
        self._unreadable = {key: self._unreadable[key] for key in unreadable}
        self.relists += 1
        self._resync_at = monotonic() + self._resync_seconds * random.uniform(0.8, 1.0)  # noqa: S311 - spreads lists, keeps no secret
        self._items = found
        self._heard_at = self._clock()
        await self._tell(old, found)
        self.synced.set()
        return version

    async def run(self) -> None:
        """Follows the resource for ever."""
        failures = 0
        self._version, refused = "", 0
        while True:
            began, self._heard = monotonic(), False
            try:
                if not self._version or began >= self._resync_at:
                    self._version = await self.refresh()
                    began = monotonic()
                await self._follow()
                fine = self._heard or (bool(self._version) and monotonic() - began >= SHORT_SECONDS)
            except ApiError as error:
                LOG.warning("watch of %s broke: %s", self._path, error)
                if error.status and error.status != HTTPStatus.GONE:
                    self._refused = str(error)
                fine, refused = False, refused + 1 if error.status in OVERLOADED else 0
                # 410: the version is older than what the server remembers.
                if error.status and (not refused or refused >= TRIES):
                    self._version, refused = "", 0
            else:
                refused = 0
            if fine or self._heard:
                failures = 0
            if not fine:
                failures += 1
                await asyncio.sleep(RETRIES.delay(failures))

    async def _follow(self) -> None:
        """One watch, to its end; `_version` is where the next one goes on, empty when the list must be read
        anew. Raises ApiError.
        """
        watch = self._api.watch(
            self._path, resource_version=self._version, opened=self._opened, **self._selector
        )
        async with aclosing(watch) as events:
            async for event in events:
                self._heard_at = self._clock()
                self._version = self._take(event.type, event.object, self._version)
                if not self._version:
                    return
                self._heard = True

    def _opened(self) -> None:
        self._heard_at, self._refused = self._clock(), ""

    def _read(self, raw: msgspec.Raw) -> tuple[str, T | None]:
        """Key and what is kept of an object; of one that cannot be read what was kept before, None when
        nothing was.
        """
        try:
            key, item = self._project(raw)
        except UNREADABLE as error:
            head = msgspec.json.decode(raw, type=_Versioned).metadata
            key, why = self._key(head.namespace, head.name), f"{type(error).__name__}: {error}"
            if self._unreadable.get(key) != why:
                LOG.warning("%s of %s cannot be read, and is left as it was: %s", key, self._path, why)
            self._unreadable[key] = why
            return key, self._items.get(key)
        self._unreadable.pop(key, None)
        return key, item

    async def _tell(self, old: Mapping[str, T], new: Mapping[str, T]) -> None:
        """What differs between two lists, a slice at a time. Nothing else changes either of them
        meanwhile.
        """
        number = 0
        for first, second, gone in ((new, old, False), (old, new, True)):
            for key, item in first.items():
                other = second.get(key)
                if gone and other is None:
                    self._changed(key, item, None)
                elif not gone and other != item:
                    self._changed(key, other, item)
                number += 1
                if not number % SLICE:
                    await asyncio.sleep(0)

    def _changed(self, key: str, before: T | None, item: T | None) -> None:
        for listener in self._listeners:
            listener(key, before, item)

    def _take(self, kind: str, raw: msgspec.Raw, version: str) -> str:
        """Applies one event; the version to go on from, empty when the list must be read anew."""
        head = msgspec.json.decode(raw, type=_Versioned)
        if kind == "ERROR":
            LOG.info("watch of %s ended by the hub with %s; reading the list anew", self._path, head.code)
            return ""
        if kind != "BOOKMARK":
            key, item = self._read(raw)
            if kind == "DELETED":
                self._unreadable.pop(key, None)
                self._changed(key, self._items.pop(key, None), None)
            elif item is not None and (before := self._items.get(key)) != item:
                self._items[key] = item
                self._changed(key, before, item)
        return head.metadata.resource_version or version
