"""ConfigMaps: those that are rendered from the fleet repository (masks and maintenance), and the reconciler's
own.

They are read by name and not watched, because that would need more rights than to get one object.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi

LOG = logging.getLogger(__name__)
POLL_SECONDS: Final = 30.0
T = TypeVar("T")


class _ConfigMap(msgspec.Struct, frozen=True):
    data: Any = None


class ConfigMapPoll(Generic[T]):
    """A rendered ConfigMap. `current` is None while there is none, or it could not be read yet."""

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


class OwnConfigMap:
    """A ConfigMap of the reconciler. What others wrote after it was read is never overwritten."""

    def __init__(self, *, api: HubApi, namespace: str, name: str) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> dict[str, Any] | None:
        """The object; None when it does not exist. Raises ApiError."""
        try:
            found: dict[str, Any] = msgspec.json.decode(await self._api.get(f"{self._path}/{self._name}"))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return found

    async def write(self, before: dict[str, Any] | None, data: Mapping[str, str]) -> dict[str, Any]:
        """Writes these keys. Raises ApiError, with 409 when somebody wrote it after it was read."""
        item = before or {"metadata": {"name": self._name, "namespace": self._namespace}}
        metadata = item["metadata"]
        item = {
            **item,
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: MANAGER}},
            "data": {**(item.get("data") or {}), **data},
        }
        if before is None:
            answer = await self._api.create(self._path, item)
        else:
            answer = await self._api.replace(f"{self._path}/{self._name}", item)
        found: dict[str, Any] = msgspec.json.decode(answer)
        return found
