"""The masks of the fleet repository as the hub has them: one rendered ConfigMap, read now and then.

Read by name, because the right to watch it would need more than the right to get one object.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Final

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.masks import Mask, read_masks
from gitops_dsf.hub.names import MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.reconciler.hub.api import HubApi

LOG = logging.getLogger(__name__)
POLL_SECONDS: Final = 30.0


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


class MaskPoll:
    """`current` is None while the masks are not known: the ConfigMap is absent, or nobody could
    read it yet.
    """

    def __init__(self, *, api: HubApi, namespace: str, poll: float = POLL_SECONDS) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{MASKS_CONFIGMAP}"
        self._poll = poll
        self._said = ""
        self.current: tuple[Mask, ...] | None = None
        """The same object until the masks change."""
        self.synced = asyncio.Event()
        """Set after the first look, whatever it saw: without masks less can be said, but nothing waits."""

    async def refresh(self) -> None:
        """One look. What cannot be read, or is no list of masks, changes nothing about what is known."""
        try:
            found = self._read(await self._api.get(self._path))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self.current = None
            self._say(str(error))
        except msgspec.DecodeError as error:
            self._say(f"ConfigMap {MASKS_CONFIGMAP}, key {MASKS_KEY}: {error}")
        else:
            self._said = ""
            if found != self.current:
                self.current = found
        self.synced.set()

    async def run(self) -> None:
        """Looks until it is cancelled."""
        while True:
            await self.refresh()
            await asyncio.sleep(self._poll)

    @staticmethod
    def _read(body: bytes) -> tuple[Mask, ...] | None:
        data = msgspec.json.decode(body, type=_ConfigMap).data
        return read_masks(data[MASKS_KEY]) if MASKS_KEY in data else None

    def _say(self, words: str) -> None:
        if words != self._said:
            LOG.warning("masks are not known anew: %s", words)
        self._said = words
