"""ConfigMap gitops-dsf-suspended in the hub namespace: the scores that no agent calls
(docs/reconciler.md#suspension).
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from gitops_dsf.reconciler.hub.api import HubApi

LOG = logging.getLogger(__name__)
RECONCILER_MANAGER: Final = "gitops-dsf-reconciler"
"""Value of MANAGED_BY_LABEL on the ConfigMap once a reconciler has written it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """The ConfigMap as it was read; `item` is None where there is none."""

    names: frozenset[str] = frozenset()
    readable: bool = True
    """Whether the key is a JSON array of names. Agents take anything else for an empty one."""
    item: Mapping[str, Any] | None = None

    @property
    def ours(self) -> bool:
        """Whether a reconciler wrote it. One that people made by hand has another label, or none."""
        labels = (self.item or {}).get("metadata", {}).get("labels") or {}
        return bool(labels.get(MANAGED_BY_LABEL) == RECONCILER_MANAGER)


class SuspendedList:
    """Reads and writes the ConfigMap; what else is in it stays."""

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> Listed:
        """As it is now. Raises ApiError."""
        try:
            item: dict[str, Any] = msgspec.json.decode(
                await self._api.get(f"{self._path}/{SUSPENDED_CONFIGMAP}")
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return Listed()
            raise
        text = (item.get("data") or {}).get(SUSPENDED_KEY) or "[]"
        try:
            return Listed(names=frozenset(msgspec.json.decode(text, type=list[str])), item=item)
        except msgspec.DecodeError:
            return Listed(readable=False, item=item)

    async def write(self, before: Listed, names: Iterable[str]) -> None:
        """Raises ApiError; status 409 when somebody wrote it since it was read."""
        data = {SUSPENDED_KEY: msgspec.json.encode(sorted(names)).decode()}
        if before.item is None:
            metadata: dict[str, Any] = {"name": SUSPENDED_CONFIGMAP, "namespace": self._namespace}
            metadata["labels"] = {MANAGED_BY_LABEL: RECONCILER_MANAGER}
            await self._api.create(
                self._path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
            return
        # With the resourceVersion that was read: a replacement of anything newer is refused.
        metadata = {**before.item["metadata"]}
        metadata["labels"] = {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: RECONCILER_MANAGER}
        item = {**before.item, "metadata": metadata, "data": {**(before.item.get("data") or {}), **data}}
        await self._api.replace(f"{self._path}/{SUSPENDED_CONFIGMAP}", item)
