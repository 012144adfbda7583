"""ConfigMaps that are rendered from the fleet repository: masks and maintenance, each polled by name.

They are not watched, because that would need more rights than to get one object.
"""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.hub.api import HubApi

LOG = logging.getLogger(__name__)
POLL_SECONDS: Final = 30.0
T = TypeVar("T")


class _ConfigMap(msgspec.Struct, frozen=True):
    data: Any = None


class ConfigMapPoll(Generic[T]):
    """`current` is None while the content is not known: the ConfigMap does not exist, or could not be read
    yet.
    """

    def __init__(
        self, *, api: HubApi, namespace: str, name: str, key: str, read: Callable[[object], T | None]
    ) -> None:
        """`read` takes the data of the ConfigMap, and raises msgspec.DecodeError."""
        self._api, self._name, self._key, self._read = api, name, key, read
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        self._last_warning = ""
        self.current: T | None = None
        """The same object until the content changes."""
        self.synced = asyncio.Event()
        """Set after the first read, even when it failed."""
        self.trusted = False
        """Whether it was read, or does not exist."""

    async def refresh(self) -> None:
        """Reads the ConfigMap once. When it cannot be read or is invalid, the content stays as it is."""
        try:
            found = self._read(msgspec.json.decode(await self._api.get(self._path), type=_ConfigMap).data)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self.current, self.trusted = None, True
            self._warn(str(error))
        except msgspec.DecodeError as error:
            self._warn(f"ConfigMap {self._name}, key {self._key}: {error}")
        else:
            self._last_warning, self.trusted = "", True
            if found != self.current:
                self.current = found
        self.synced.set()

    async def run(self) -> None:
        """Polls until it is cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(POLL_SECONDS)

    def _warn(self, words: str) -> None:
        if words != self._last_warning:
            LOG.warning("%s is not updated: %s", self._key, words)
        self._last_warning = words
