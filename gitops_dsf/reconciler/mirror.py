"""A resource of the hub kept in memory, as little of each object as is needed: paged list, watch, and a list anew when either breaks."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from gitops_dsf.reconciler.api import ApiError, HubApi

LOG = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_SECONDS: Final = (0.5, 30.0)
"""First and longest pause after a failure; jittered, doubled each time."""

Project = Callable[[msgspec.Raw], tuple[str, T]]
"""From an undecoded object to its key and what is kept of it."""


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True):
    metadata: _Head = _Head()
    code: int = 0
    """Of a Status, which is what an ERROR event carries."""


class Mirror(Generic[T]):
    """`items` is always one whole list with the changes since; before the first list it is empty and `synced` is not set."""

    def __init__(self, *, api: HubApi, path: str, project: Project[T], changed: Callable[[str, T | None], None] | None = None) -> None:
        self._api = api
        self._path = path
        self._project = project
        self._changed = changed or (lambda _key, _item: None)
        self._items: dict[str, T] = {}
        self.synced = asyncio.Event()
        self.relists = 0
        """Lists read so far."""

    @property
    def items(self) -> Mapping[str, T]:
        """What is kept of each object, by key."""
        return self._items

    async def refresh(self) -> str:
        """Reads the whole list; the version to watch from. Nothing changes when it fails half-way. Raises ApiError."""
        found: dict[str, T] = {}
        version = ""
        async for page in self._api.pages(self._path):
            found.update(self._project(item) for item in page.items)
            version = page.metadata.resource_version
        self.relists += 1
        old, self._items = self._items, found
        for key in old.keys() | found.keys():
            if old.get(key) != found.get(key):
                self._changed(key, found.get(key))
        self.synced.set()
        return version

    async def run(self) -> None:
        """Follows the resource for ever."""
        pause, longest = RETRY_SECONDS
        version = ""
        while True:
            try:
                version = version or await self.refresh()
                async for event in self._api.watch(self._path, resource_version=version):
                    version = self._take(event.type, event.object, version)
                    pause = RETRY_SECONDS[0]
                    if not version:
                        break
            except ApiError as error:
                # 410: the version is older than what the server remembers.
                if error.status:
                    version = ""
                LOG.warning("watch of %s broke: %s", self._path, error)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads retries, keeps no secret
                pause = min(pause * 2, longest)

    def _take(self, kind: str, raw: msgspec.Raw, version: str) -> str:
        """Applies one event; the version to go on from, empty when the list must be read anew."""
        head = msgspec.json.decode(raw, type=_Versioned)
        if kind == "ERROR":
            LOG.info("watch of %s ended by the hub with %s; reading the list anew", self._path, head.code)
            return ""
        if kind != "BOOKMARK":
            key, item = self._project(raw)
            if kind == "DELETED":
                self._items.pop(key, None)
                self._changed(key, None)
            elif self._items.get(key) != item:
                self._items[key] = item
                self._changed(key, item)
        return head.metadata.resource_version or version
