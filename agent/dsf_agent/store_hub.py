"""AddOnPlacementScores on the hub, in the cluster's own namespace.

Rights used: addonplacementscores get, list, create, patch, delete and addonplacementscores/status patch.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dsf_agent import store
from dsf_agent.apiserver import APPLY, ApiServer
from dsf_agent.errors import PublishError
from dsf_agent.reasons import Reason
from dsf_agent.store import Stored
from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, SCORE_GROUP, SCORE_PLURAL, SCORE_VERSION

log = logging.getLogger(__name__)

SILENT_SECONDS: Final = 3600.0
"""A writer that has not written for this time is gone."""

MAX_OBJECT_BYTES: Final = 1_500_000
"""Bytes that the hub would have to store; etcd refuses requests above 1.5 MiB."""
OWNED_ITEM_BYTES: Final = 36
"""What an item's entry in managedFields has more than the item itself: server-side apply writes down who owns it, by name."""


def stored_bytes(body: int, *, items: int) -> int:
    """About how large the object of a request with this body is once the hub also keeps who owns each item."""
    return 2 * body + OWNED_ITEM_BYTES * items


def status_body(values: Mapping[str, int], *, name: str, namespace: str, valid_until: float) -> bytes:
    """The body of an apply of the status."""
    body = store.manifest(name=name, namespace=namespace)
    body["status"] = store.status(values, valid_until=valid_until)
    return msgspec.json.encode(body)


class HubStore:
    """Writes by create, then server-side apply of /status: a create alone drops the status (OCM's CRD has the subresource)."""

    def __init__(self, *, server: ApiServer, cluster: str, limit: int = MAX_OBJECT_BYTES) -> None:
        self._server = server
        self._limit = limit
        self._cluster = cluster
        self._base = f"/apis/{SCORE_GROUP}/{SCORE_VERSION}/namespaces/{quote(cluster, safe='')}/{SCORE_PLURAL}"

    def wall(self) -> float:
        return self._server.server_clock.wall()

    async def read(self, name: str) -> Stored | None:
        found = await self._get(name)
        return None if found is None else store.stored(found)

    async def write(self, name: str, *, scorer: str, values: Mapping[str, int], valid_until: float) -> None:
        # Off the event loop: tens of thousands of items take their time.
        body = await asyncio.to_thread(status_body, values, name=name, namespace=self._cluster, valid_until=valid_until)
        size = stored_bytes(len(body), items=len(values))
        if size > self._limit:
            msg = f"{len(values)} items make an object of {size} bytes, the limit is {self._limit}; use a coarser scoreDimensionFormat"
            raise PublishError(msg, reason=Reason.TOO_LARGE)
        try:
            written = await self._apply_status(name, body)
        except PublishError as error:
            if error.reason is Reason.CONFLICT and await self._abandoned(name):
                log.warning("taking over %s, whose other writer is silent", name, extra={"scorer": scorer, "object": name})
                written = await self._apply_status(name, body, force=True)
            elif error.reason is Reason.NOT_FOUND:
                await self._create(name, scorer=scorer)
                written = await self._apply_status(name, body)
            else:
                raise
        if not store.labels(scorer).items() <= written.labels.items():
            await self._label(name, scorer=scorer)

    async def ours(self) -> list[Stored]:
        selector = {"labelSelector": f"{MANAGED_BY_LABEL}={AGENT_MANAGER}"}
        reply = await self._server.call("GET", self._base, params=selector)
        items = reply.object.get("items")
        return [store.stored(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []

    async def delete(self, stored: Stored) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": stored.version}}
        try:
            await self._server.call("DELETE", self._path(stored.name), body=body)
        except PublishError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise

    async def _get(self, name: str) -> dict[str, Any] | None:
        try:
            return (await self._server.call("GET", self._path(name))).object
        except PublishError as error:
            if error.reason is Reason.NOT_FOUND:
                return None
            raise

    async def _create(self, name: str, *, scorer: str) -> None:
        body = store.manifest(name=name, namespace=self._cluster, scorer=scorer)
        try:
            await self._server.call("POST", self._base, params={"fieldManager": AGENT_MANAGER}, body=body)
        except PublishError as error:
            if error.reason is not Reason.CONFLICT:
                raise
            # Somebody was faster; the object is there, which is all that was wanted.

    async def _abandoned(self, name: str) -> bool:
        """Whether every other writer of the status has been silent for long, as an upstream agent that was replaced.

        No field has two writers: one that still writes keeps the object, and the conflict is reported until a person decides.
        """
        found = await self._get(name)
        metadata = (found or {}).get("metadata") or {}
        others = [
            store.seconds(entry.get("time"))
            for entry in metadata.get("managedFields") or []
            if entry.get("manager") != AGENT_MANAGER and entry.get("subresource") == "status"
        ]
        return found is not None and all(when is not None and self.wall() - when > SILENT_SECONDS for when in others)

    async def _apply_status(self, name: str, body: bytes, *, force: bool = False) -> Stored:
        params = {"fieldManager": AGENT_MANAGER, "force": "true" if force else "false"}
        reply = await self._server.call("PATCH", f"{self._path(name)}/status", params=params, body=body, content_type=APPLY)
        return store.stored(reply.object)

    async def _label(self, name: str, *, scorer: str) -> None:
        """For an object that was there before us, or whose scorer has another name now: its scores are ours, so its removal is, too."""
        body = store.manifest(name=name, namespace=self._cluster, scorer=scorer)
        params = {"fieldManager": AGENT_MANAGER, "force": "true"}
        await self._server.call("PATCH", self._path(name), params=params, body=body, content_type=APPLY)

    def _path(self, name: str) -> str:
        return f"{self._base}/{quote(name, safe='')}"
