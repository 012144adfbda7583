"""ConfigMaps of the hub namespace in which the reconciler owns some keys."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi

Item = dict[str, Any]
"""The whole object."""


class OwnedKeys:
    """Reads and writes one ConfigMap. Other keys, labels and annotations stay as they are."""

    def __init__(self, *, api: HubApi, namespace: str, name: str) -> None:
        self._api, self._namespace, self._name = api, namespace, name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    async def read(self) -> Item | None:
        """None if it does not exist. Raises ApiError."""
        try:
            found: Item = msgspec.json.decode(await self._api.get(f"{self._path}/{self._name}"))
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise
        return found

    async def write(self, before: Item | None, data: Mapping[str, str]) -> Item:
        """Sets these keys. `before` is the object as it was read. Returns it as it is now.

        Raises ApiError, with status 409 when somebody else wrote the ConfigMap after it was read: then it has
        another resourceVersion.
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
        written: Item = msgspec.json.decode(answer)
        return written
