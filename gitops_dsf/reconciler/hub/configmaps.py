"""ConfigMaps of the hub namespace.

Those that are rendered are polled; those of the reconciler are read and written here.

They are read by name and not watched: a watch would need rights to all ConfigMaps of the namespace,
because RBAC cannot limit `list` and `watch` to a name as it can limit `get`.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from dsf_runtime.informer import STALE_SECONDS
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi

POLL_SECONDS: Final = 30.0
"""The time between two reads of a rendered ConfigMap."""

LOG = logging.getLogger(__name__)

T = TypeVar("T")


class ConfigMapPoll(Generic[T]):
    """A rendered ConfigMap. `current` is None while there is none, or it could not be read yet."""

    def __init__(
        self,
        *,
        api: HubApi,
        namespace: str,
        name: str,
        key: str,
        read: Callable[[object], T | None],
    ) -> None:
        """`read` takes the data of the ConfigMap, and raises msgspec.DecodeError."""
        self._api = api
        self.name = name
        self._key = key
        self._read = read
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        self._last_warning = ""
        self.current: T | None = None
        """The same object until the content changes."""
        self.synced = asyncio.Event()
        """Set after the first read, even when it failed."""
        self._read_at: float | None = None
        """The time of the last read that succeeded, also if the ConfigMap does not exist."""

    @property
    def broken(self) -> str:
        """The reason why the content may be outdated; empty if it is current.

        As with an informer, content that could not be read for a while counts as outdated: it may
        have changed.
        """
        if self._read_at is None:
            return f"ConfigMap {self.name} could not be read yet"
        if monotonic() - self._read_at > STALE_SECONDS:
            return f"ConfigMap {self.name} could not be read for more than {STALE_SECONDS:g} s"
        return ""

    async def refresh(self) -> None:
        """Reads the ConfigMap once.

        When it cannot be read or is invalid, the content stays as it is.
        """
        try:
            stored = msgspec.json.decode(await self._api.get(self._path), type=dict[str, Any])
            content = self._read(stored.get("data"))
        except ApiError as error:
            # Only this answer says that there is none. After any other failure the content stays.
            if error.status == HTTPStatus.NOT_FOUND:
                self.current = None
                self._read_at = monotonic()
            self._warn(str(error))
        except msgspec.DecodeError as error:
            self._warn(f"ConfigMap {self.name}, key {self._key}: {error}")
        else:
            self._last_warning = ""
            self._read_at = monotonic()
            # Equal content stays the same object, so that readers notice quickly that it is.
            if content != self.current:
                self.current = content
        self.synced.set()

    async def run(self) -> None:
        while True:
            await self.refresh()
            await asyncio.sleep(POLL_SECONDS)

    def _warn(self, reason: str) -> None:
        if reason != self._last_warning:
            LOG.warning("%s is not updated: %s", self._key, reason)
        self._last_warning = reason


class OwnConfigMap:
    """A ConfigMap of the reconciler. What others wrote after it was read is never overwritten."""

    def __init__(self, *, api: HubApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> dict[str, Any] | None:
        """The object; None when it does not exist. Raises ApiError."""
        content = await self._api.find(f"{self._path}/{self._name}")
        if content is None:
            return None
        stored: dict[str, Any] = msgspec.json.decode(content)
        return stored

    async def write(self, before: dict[str, Any] | None, data: Mapping[str, str]) -> dict[str, Any]:
        """Writes these keys. Raises ApiError, with 409 if the ConfigMap changed since the read."""
        config_map = before or {"metadata": {"name": self._name, "namespace": self._namespace}}
        metadata = config_map["metadata"]
        config_map = {
            **config_map,
            "apiVersion": "v1",
            "kind": "ConfigMap",
            # The metadata that was read holds the resourceVersion. With it the API server refuses
            # to replace an object that has changed since.
            "metadata": {
                **metadata,
                "labels": {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: MANAGER},
            },
            "data": {**(config_map.get("data") or {}), **data},
        }
        if before is None:
            answer = await self._api.create(self._path, config_map)
        else:
            answer = await self._api.replace(f"{self._path}/{self._name}", config_map)
        stored: dict[str, Any] = msgspec.json.decode(answer)
        return stored
