"""The ConfigMap gitops-dsf-suspended in the hub namespace. Agents do not call the scores that it names."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.suspended import score_names
from gitops_dsf.reconciler.hub.api import MANAGER, HubApi
from gitops_dsf.reconciler.hub.configmap import OwnConfigMap


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
    """Reads and writes one key."""

    def __init__(self, *, api: HubApi, namespace: str) -> None:
        self._stored = OwnConfigMap(api=api, namespace=namespace, name=SUSPENDED_CONFIGMAP)

    async def read(self) -> SuspendedScores:
        """Raises ApiError."""
        item = await self._stored.read()
        if item is None:
            return SuspendedScores()
        try:
            return SuspendedScores(names=score_names(item.get("data")), item=item)
        except msgspec.DecodeError:
            return SuspendedScores(readable=False, item=item)

    async def write(self, before: SuspendedScores, names: Iterable[str]) -> None:
        """Raises ApiError, with status 409 when somebody else wrote the ConfigMap after it was read: then it
        has another resourceVersion.
        """
        text = msgspec.json.encode(sorted(names)).decode()
        await self._stored.write(before.item, {SUSPENDED_KEY: text})
