"""A ConfigMap of the reconciler's own in the hub namespace."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi


class OwnConfigMap:
    """Reads it, and writes it only if nobody wrote it after it was read. Other keys, labels and annotations
    stay as they are.
    """

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
        """Writes these keys, and returns the object as it is now. Raises ApiError, with status 409 when
        somebody else wrote it after it was read.
        """
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
