"""The statuses of scorers in a ConfigMap, where DynamicScorers have no room for them.

With delivery.crds Existing, the API server drops conditions from the status, and a scorer by query
has no DynamicScorer at all. With delivery.mode UpstreamController, upstream's controller owns the
fields of the status. `gitops-dsf status` and the next leader read them here.

Not guaranteed: that all statuses fit. When they do not, they stay in memory and in the metrics, and
the log says so.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.names import STATUS_CONFIGMAP
from gitops_dsf.hub.scorerlist import read_statuses
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.configmaps import OwnConfigMap

MAX_BYTES: Final = 900_000
"""Upper limit for all statuses. The API server refuses a ConfigMap above 1,048,576 bytes."""

LOG = logging.getLogger(__name__)


class StatusConfigMap:
    """Reads it once, and writes it when a status changed."""

    def __init__(self, context: ControllerContext) -> None:
        self._source = context.view.scorers
        self._stored = OwnConfigMap(
            api=context.api, namespace=context.view.hub_namespace, name=STATUS_CONFIGMAP
        )
        self._object: dict[str, Any] | None = None
        self._data: dict[str, str] = {}
        """The data that the hub has."""
        self._is_read = False
        self._is_full = False

    async def read(self) -> None:
        """Takes over what the leader before wrote. Raises ApiError."""
        if self._is_read:
            return
        self._object = await self._stored.read()
        self._data = dict((self._object or {}).get("data") or {})
        for name, status in read_statuses(self._data).items():
            self._source.remember(name, status)
        self._is_read = True

    async def write(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        """Writes these statuses, and forgets all others. Raises ApiError."""
        data: dict[str, str] = {}
        for name, status in sorted(statuses.items()):
            # Objects have the last /config, and a page may be large.
            kept = {key: value for key, value in status.items() if key != "lastSyncedConfig"}
            data[name] = msgspec.json.encode(kept, order="deterministic").decode()
        size = sum(len(name) + len(text.encode()) for name, text in data.items())
        if size > MAX_BYTES and not self._is_full:
            LOG.warning(
                "ConfigMap %s is not written: the statuses of %d scorers have %d bytes, and it"
                " holds %d",
                STATUS_CONFIGMAP,
                len(data),
                size,
                MAX_BYTES,
            )
        self._is_full = size > MAX_BYTES
        if self._is_full or data == self._data:
            return
        before = self._object
        if before is not None:
            # Keys that are not written again disappear: those of scorers that git removed.
            before = {**before, "data": {}}
        try:
            self._object = await self._stored.write(before, data)
        except ApiError:
            # The ConfigMap was written or deleted meanwhile: the next pass reads it again.
            self._is_read = False
            raise
        self._data = data
