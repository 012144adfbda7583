"""The ConfigMap gitops-dsf-suspended in the hub namespace. Agents do not call the scores that it names."""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.suspended import score_names
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspendedScores:
    """The ConfigMap as it was read; `item` is None when it does not exist."""

    names: frozenset[str] = frozenset()
    readable: bool = True
    """Whether the key holds a JSON array of names. Agents treat anything else as an empty array."""
    item: dict[str, Any] | None = None

    @property
    def ours(self) -> bool:
        """Whether a reconciler wrote it. A ConfigMap that people made has another label, or none."""
        labels = (self.item or {}).get("metadata", {}).get("labels") or {}
        return bool(labels.get(MANAGED_BY_LABEL) == MANAGER)


class SuspendedConfigMap:
    """Reads and writes one key. Other keys, labels and annotations stay as they are."""

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> SuspendedScores:
        """Raises ApiError."""
        try:
            item = msgspec.json.decode(await self._api.get(f"{self._path}/{SUSPENDED_CONFIGMAP}"))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return SuspendedScores()
            raise
        try:
            return SuspendedScores(names=score_names(item.get("data")), item=item)
        except msgspec.DecodeError:
            return SuspendedScores(readable=False, item=item)

    async def write(self, before: SuspendedScores, names: Iterable[str]) -> None:
        """Raises ApiError, with status 409 when somebody else wrote the ConfigMap after it was read: then it
        has another resourceVersion.
        """
        item = before.item or {"metadata": {"name": SUSPENDED_CONFIGMAP, "namespace": self._namespace}}
        metadata = item["metadata"]
        item = {
            **item,
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), MANAGED_BY_LABEL: MANAGER}},
            "data": {**(item.get("data") or {}), SUSPENDED_KEY: msgspec.json.encode(sorted(names)).decode()},
        }
        if before.item is None:
            await self._api.create(self._path, item)
        else:
            await self._api.replace(f"{self._path}/{SUSPENDED_CONFIGMAP}", item)
