"""The ConfigMap gitops-dsf-suspended in the hub namespace. Agents do not call the scores that it names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from gitops_dsf.reconciler.hub.api import HubApi

RECONCILER_MANAGER: Final = "gitops-dsf-reconciler"
"""Value of MANAGED_BY_LABEL on the ConfigMap once a reconciler has written it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspendedScores:
    """The ConfigMap as it was read; `item` is None when it does not exist."""

    names: frozenset[str] = frozenset()
    readable: bool = True
    """Whether the key holds a JSON array of names. Agents treat anything else as an empty array."""
    item: Mapping[str, Any] | None = None

    @property
    def ours(self) -> bool:
        """Whether a reconciler wrote it. A ConfigMap that people made has another label, or none."""
        labels = (self.item or {}).get("metadata", {}).get("labels") or {}
        return bool(labels.get(MANAGED_BY_LABEL) == RECONCILER_MANAGER)


class SuspendedConfigMap:
    """Reads and writes the ConfigMap. Other keys, labels and annotations stay as they are."""

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> SuspendedScores:
        """Raises ApiError."""
        try:
            item: dict[str, Any] = msgspec.json.decode(
                await self._api.get(f"{self._path}/{SUSPENDED_CONFIGMAP}")
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return SuspendedScores()
            raise
        text = (item.get("data") or {}).get(SUSPENDED_KEY) or "[]"
        try:
            return SuspendedScores(names=frozenset(msgspec.json.decode(text, type=list[str])), item=item)
        except msgspec.DecodeError:
            return SuspendedScores(readable=False, item=item)

    async def write(self, before: SuspendedScores, names: Iterable[str]) -> None:
        """Raises ApiError, with status 409 when somebody else wrote the ConfigMap after it was read."""
        data = {SUSPENDED_KEY: msgspec.json.encode(sorted(names)).decode()}
        if before.item is None:
            metadata: dict[str, Any] = {"name": SUSPENDED_CONFIGMAP, "namespace": self._namespace}
            metadata["labels"] = {MANAGED_BY_LABEL: RECONCILER_MANAGER}
            await self._api.create(
                self._path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
            return
        # With the resourceVersion that was read, the API server refuses to replace a newer object.
        metadata = {**before.item["metadata"]}
        metadata["labels"] = {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: RECONCILER_MANAGER}
        item = {**before.item, "metadata": metadata, "data": {**(before.item.get("data") or {}), **data}}
        await self._api.replace(f"{self._path}/{SUSPENDED_CONFIGMAP}", item)
