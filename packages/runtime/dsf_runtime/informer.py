"""An informer, which keeps the objects of a resource in memory, by list and watch.

The objects are reduced to the fields that are needed.

It reads the list once, and then follows the watch. If the watch breaks off, it is opened again at
the same version; only when the server no longer knows the version, or refuses several times, is the
list read again. `broken` says when the objects may be outdated: then nothing that depends on them
may be deleted.

Not guaranteed: two informers are at the same version, or a change is seen at once. An object that
cannot be read keeps its earlier state.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from dsf_runtime.apiserver import SILENCE, ApiError, ApiServer
from dsf_runtime.backoff import Backoff
from dsf_runtime.clock import monotonic

T = TypeVar("T")

RETRIES: Final = Backoff(first=0.4, ceiling=23.0, jitter=0.3)
SHORT_SECONDS: Final = 1.0
"""A watch without an event that ends sooner counts as failed, or a thousand a second might follow.
"""
OVERLOADED: Final = frozenset({401, 429, 500, 502, 503, 504})
"""The watch is opened again at the same version, because these do not mean that it is too old."""
STEADY_SECONDS: Final = 60.0
"""A list that is needed again sooner after the last one counts as a failure, so that pauses grow:
an API server whose watch cache is too small ends each watch with 410 after a few events.
client-go's reflector resets its back-off after two minutes (v0.37.2).
"""
MAX_TRIES: Final = 3
"""After this many such statuses in a row the list is read again."""
UNREADABLE: Final = (
    msgspec.MsgspecError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""Exceptions that ``project`` may raise for an unusual object."""

STALE_SECONDS: Final = SILENCE + 30
"""If nothing came for this time, the objects count as outdated. A watch without events is closed
after SILENCE and opened again, and bookmarks arrive every minute, so a healthy server is never
silent for longer.
"""
RESYNC_SECONDS: Final = 6 * 3600.0
"""The list is read again after this time even if the watch never broke, in case a change was
missed.
"""


SLICE: Final = 2000
"""Keys that are looked at before other tasks may run. A fleet has hundreds of thousands of scores.
"""

LOG = logging.getLogger(__name__)

Project = Callable[[msgspec.Raw], tuple[str, T]]
"""Returns the key of an undecoded object, and what to keep of it."""


class Marks(Protocol):
    """Keys that were added, as a set has them."""

    def add(self, key: str, /) -> None:
        """Adds a key."""
        ...

    def __contains__(self, key: object, /) -> bool: ...


class _ObjectHead(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _ObjectHead = _ObjectHead()
    code: int = 0
    """The code of a Status, which is the object of an ERROR event."""


def by_name(_namespace: str, name: str) -> str:
    """The key for cluster-scoped objects, or for objects of a single namespace."""
    return name


@dataclass(kw_only=True, eq=False, repr=False)
class Informer(Generic[T]):
    """``items`` is complete once ``synced`` is set.

    If ``project`` cannot read an object, this is logged and the earlier item stays.
    """

    api: ApiServer
    path: str
    project: Project[T]
    selector: Mapping[str, str] = field(default_factory=dict)
    key: Callable[[str, str], str] = by_name
    """The key of a namespace and a name: the same as that of ``project``, for objects that it
    cannot read.
    """
    shelf: Callable[[], MutableMapping[str, T]] = dict
    """Makes an empty mapping for the items."""
    marks: Callable[[], Marks] = set[str]
    """The function that gives a list a place to note its keys."""
    resync_seconds: float = RESYNC_SECONDS
    gather_seconds: float = 0.0
    """The time for which events of the watch may wait for others.

    Reading many at once needs less CPU.
    """
    on_bug: Callable[[], None] | None = None
    """Called when a listener raised an exception, to count it. Without it the exception ends
    ``run``, for listeners that copy what they hear: their copies would be wrong from then on.
    """
    _unreadable: dict[str, str] = field(init=False, default_factory=dict)
    """Error messages by key."""
    _listeners: list[Callable[[str, T | None, T | None], None]] = field(
        init=False, default_factory=list
    )
    _items: MutableMapping[str, T] = field(init=False)
    _resync_at: float = field(init=False, default=0.0)
    _version: str = field(init=False, default="")
    """The version where the next watch begins. If it is empty, the list is read again."""
    _heard: bool = field(init=False, default=False)
    """Whether this watch had an event."""
    _heard_at: float = field(init=False)
    """Monotonic time of the last list, event or open watch."""
    _refused: str = field(init=False, default="")
    """The last error of the list or the watch; empty after a watch was opened."""
    synced: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    attempted: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set when the first attempt to read the list ended, whether it failed or not."""
    failure: ApiError | None = field(init=False, default=None)
    """The error of the last list or watch; None after a watch was opened."""

    def __post_init__(self) -> None:
        self._items = self.shelf()
        self._heard_at = monotonic()

    @property
    def items(self) -> Mapping[str, T]:
        """The kept items by key."""
        return self._items

    @property
    def resource(self) -> str:
        """The plural name, such as managedclusters."""
        return self.path.rpartition("/")[2]

    @property
    def broken(self) -> str:
        """The reason why the items may be outdated; empty if they are current."""
        if self._refused:
            return self._refused
        if monotonic() - self._heard_at > STALE_SECONDS:
            return (
                f"{self.resource}: nothing was heard from the API server for more than"
                f" {STALE_SECONDS:g} s"
            )
        return ""

    def listen(self, listener: Callable[[str, T | None], None]) -> Callable[[], None]:
        """Calls the listener with every changed item (None: deleted).

        Returns a function that removes it.
        """
        return self.compare(lambda key, _, item: listener(key, item))

    def compare(self, listener: Callable[[str, T | None, T | None], None]) -> Callable[[], None]:
        """Like ``listen``, with the item before the change (None if it is new) and after it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def refresh(self) -> str:
        """Reads the whole list. Returns the version to watch from. Raises ApiError.

        A later list changes items while it is read, so that two are never in memory; what it did
        not have goes at its end.
        """
        items = self._items if self.synced.is_set() else self.shelf()
        seen = self.marks()

        def take(raw: msgspec.Raw) -> None:
            key, kept = self._read(raw)
            seen.add(key)
            if kept is None:
                return
            before = items.get(key)
            # Most items of a later list did not change.
            if before == kept:
                return
            items[key] = kept
            # Listeners are not notified of the first list until it is complete.
            if items is self._items:
                self._changed(key, before, kept)

        version = await self.api.list(self.path, take, **self.selector)
        # Spread, because a reconciler has a dozen informers that started together.
        spread = random.uniform(0.8, 1.0)  # noqa: S311 - keeps no secret
        self._resync_at = monotonic() + self.resync_seconds * spread
        self._heard_at = monotonic()
        self._unreadable = {key: reason for key, reason in self._unreadable.items() if key in seen}
        if items is self._items:
            gone = [key async for key in _slowly(items) if key not in seen]
            async for key in _slowly(gone):
                self._changed(key, items.pop(key), None)
        else:
            self._items = items
            if self._listeners:
                async for key in _slowly(items):
                    self._changed(key, None, items[key])
        self.synced.set()
        self.attempted.set()
        return version

    async def run(self) -> None:
        """Follows the resource until it is cancelled."""
        failures = 0  # in a row, for the pause
        refused = 0  # statuses in a row that say nothing about the version
        self._version = ""
        while True:
            began = monotonic()
            self._heard = False
            try:
                if not self._version or began >= self._resync_at:
                    # A list that breaks off left newer items than a watch from this version would
                    # begin with.
                    self._version = ""
                    self._version = await self.refresh()
                    began = monotonic()
                await self._follow()
                long_enough = monotonic() - began >= SHORT_SECONDS
                fine = self._heard or (bool(self._version) and long_enough)
                refused = 0
            except ApiError as error:
                LOG.warning("watch of %s broke: %s", self.path, error)
                self.failure = error.without_traceback()
                self.attempted.set()
                # Without a status the connection broke, as at a restart of the server: then the
                # time since the last event decides. 410 only means that the watch was too old.
                if error.status and error.status != HTTPStatus.GONE:
                    self._refused = str(error)
                fine = False
                refused = refused + 1 if error.status in OVERLOADED else 0
                # 410: the server no longer knows the version.
                if error.status and (not refused or refused >= MAX_TRIES):
                    self._version = ""
                    refused = 0
            if self._version:
                steady = fine or self._heard
            else:
                # The list must be read again, which is dear: 410 as the end of the watch, or as an
                # answer.
                fine = False
                steady = monotonic() - began >= STEADY_SECONDS
            if steady:
                failures = 0
            if not fine:
                failures += 1
                await asyncio.sleep(RETRIES.delay(failures))

    async def _follow(self) -> None:
        """Follows one watch to its end and updates ``_version``. Raises ApiError."""
        watch = self.api.watch(
            self.path,
            resource_version=self._version,
            opened=self._opened,
            gather_seconds=self.gather_seconds,
            **self.selector,
        )
        async with aclosing(watch) as events:
            async for event in events:
                self._heard_at = monotonic()
                self._version = self._take(event.type, event.object, self._version)
                if not self._version:
                    return
                self._heard = True

    def _opened(self) -> None:
        self._heard_at = monotonic()
        self._refused = ""
        self.failure = None

    def _read(self, raw: msgspec.Raw) -> tuple[str, T | None]:
        """The key and item of an object.

        If the object cannot be read, the earlier item, or None.
        """
        try:
            key, kept = self.project(raw)
        except UNREADABLE as error:
            head = msgspec.json.decode(raw, type=_Versioned).metadata
            key = self.key(head.namespace, head.name)
            reason = f"{type(error).__name__}: {error}"
            if self._unreadable.get(key) != reason:
                text = "%s of %s cannot be read, so its earlier state stays: %s"
                LOG.warning(text, key, self.path, reason)
            self._unreadable[key] = reason
            return key, self._items.get(key)
        self._unreadable.pop(key, None)
        return key, kept

    def _changed(self, key: str, before: T | None, item: T | None) -> None:
        for listener in self._listeners:
            try:
                listener(key, before, item)
            except Exception:
                if self.on_bug is None:
                    raise
                # A bug in one listener must neither end the watch, which would cost a new list, nor
                # hide the change from the others.
                text = "a listener of %s failed because of a bug, for %s"
                LOG.exception(text, self.resource, key)
                self.on_bug()

    def _take(self, kind: str, raw: msgspec.Raw, version: str) -> str:
        """Applies one event.

        Returns the version to continue from, empty if the list must be read again.
        """
        head = msgspec.json.decode(raw, type=_Versioned)
        if kind == "ERROR":
            text = "the API server ended the watch of %s with %s, reading the list again"
            LOG.info(text, self.path, head.code)
            return ""
        # The object of a bookmark has nothing but a resourceVersion.
        if kind != "BOOKMARK":
            key, kept = self._read(raw)
            if kind == "DELETED":
                self._unreadable.pop(key, None)
                self._changed(key, self._items.pop(key, None), None)
            elif kept is not None:
                before = self._items.get(key)
                if before != kept:
                    self._items[key] = kept
                    self._changed(key, before, kept)
        return head.metadata.resource_version or version


async def _slowly(keys: Iterable[str]) -> AsyncGenerator[str]:
    """The keys, with pauses for other tasks."""
    for number, key in enumerate(keys, 1):
        yield key
        if not number % SLICE:
            await asyncio.sleep(0)
