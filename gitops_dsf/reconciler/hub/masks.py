"""The masks of the fleet repository: one rendered ConfigMap on the hub, polled by name.

It is not watched, because that would need more rights than to get one object.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.masks import Mask, read_masks
from gitops_dsf.hub.names import MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.reconciler.hub.api import HubApi

LOG = logging.getLogger(__name__)
POLL_SECONDS: Final = 30.0


class _ConfigMap(msgspec.Struct, frozen=True):
    data: Any = None


class MaskPoll:
    """`current` is None while the masks are not known: the ConfigMap does not exist, or could not be read
    yet.
    """

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{MASKS_CONFIGMAP}"
        self._last_warning = ""
        self.current: tuple[Mask, ...] | None = None
        """The same object until the masks change."""
        self.synced = asyncio.Event()
        """Set after the first read, even when it failed: nothing waits for the masks."""

    async def refresh(self) -> None:
        """Reads the ConfigMap once. When it cannot be read or is invalid, the masks stay as they are."""
        try:
            found = read_masks(msgspec.json.decode(await self._api.get(self._path), type=_ConfigMap).data)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self.current = None
            self._warn(str(error))
        except msgspec.DecodeError as error:
            self._warn(f"ConfigMap {MASKS_CONFIGMAP}, key {MASKS_KEY}: {error}")
        else:
            self._last_warning = ""
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
            LOG.warning("masks are not updated: %s", words)
        self._last_warning = words
