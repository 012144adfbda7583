"""AddOnPlacementScores on the hub. Rights: get, list, create, patch and delete, and patch of status."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import AgentError, Reason
from dsf_agent.publish import store
from dsf_agent.publish.store import HubObject, ObjectList, Stored, Table, sole_owner, status_body
from dsf_runtime.apiserver import APPLY, JSON_PATCH, MERGE
from dsf_wire import constants, ownership
from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, RUNS_ON_HUB, RUNS_ON_LABEL
from dsf_wire.ownership import Writer

log = logging.getLogger(__name__)

SILENT_SECONDS: Final = 3600.0
"""A program that has not written for this time counts as removed."""
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""As `kubectl get` asks: about 100 bytes a row, where managedFields can have hundreds of kB."""

FEW_ITEMS: Final = 500
"""Items that are encoded without a thread: less than a millisecond."""
MAX_OBJECT_BYTES: Final = 1_500_000
"""Largest object to store, in bytes. etcd refuses requests above 1.5 MiB. This is less than MAX_SCORE_ITEMS
items, beyond which the hub's admission policy would refuse the object, too.
"""


@dataclass(frozen=True, kw_only=True)
class _SeenVersion:
    """A version and since when it was seen. If no other was seen, the last write may be just before."""

    version: str
    since: float
    changed: bool


class _NotNeeded(Exception):  # noqa: N818 - a state, not a mistake
    """Nobody needs the object any more, so it is not created."""


class HubStore:
    """Creates an object, then applies its status, which a create drops. An apply removes only items that the
    same manager applied, so those of another program are taken over before the first apply.
    """

    def __init__(self, *, server: ApiServer, cluster: str, hub_scorer: bool = False) -> None:
        self._hub_scorer = hub_scorer
        self._owned = {
            "labelSelector": f"{MANAGED_BY_LABEL}={AGENT_MANAGER},{RUNS_ON_LABEL}"
            f"{'=' if hub_scorer else '!='}{RUNS_ON_HUB}"
        }
        self._server = server
        self._cluster = cluster
        resource = f"namespaces/{quote(cluster, safe='')}/{constants.SCORE_PLURAL}"
        self._base = f"/apis/{constants.SCORE_API_VERSION}/{resource}"
        self._exclusive: set[str] = set()
        """Objects that only our agent wrote when they were last read, or that did not exist."""
        self._seen_versions: dict[str, _SeenVersion] = {}
        """Objects that another program wrote, by name."""
        self._to_claim: set[str] = set()
        """Objects with the label of the hub scorer, for an agent; those without it, for the hub scorer."""

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        needed: Callable[[], bool] = lambda: True,
    ) -> bool:
        try:
            await self._write(
                name, scorer=scorer, values=values, valid_until=valid_until, needed=needed
            )
        except _NotNeeded:
            return False
        return True

    async def _write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        needed: Callable[[], bool],
    ) -> None:
        labels = store.labels(scorer, hub_scorer=self._hub_scorer)
        encode = partial(
            status_body, values, name=name, namespace=self._cluster, valid_until=valid_until
        )
        # In a thread if there are many items: it takes long for tens of thousands.
        body = encode() if len(values) <= FEW_ITEMS else await asyncio.to_thread(encode)
        size = store.stored_bytes(len(body), items=len(values))
        if size > MAX_OBJECT_BYTES:
            many = f"{len(values)} items make an object of {size} bytes, the limit is {MAX_OBJECT_BYTES}"
            msg = f"{many}; use a coarser scoreDimensionFormat"
            raise AgentError(msg, reason=Reason.TOO_LARGE)
        if name not in self._exclusive and not await self._create(
            name, labels=labels, needed=needed
        ):
            await self._take_over(name, scorer=scorer)
        if name in self._to_claim:
            # From now on the hub's admission policies refuse the other one.
            await self._label(name, labels=labels)
            self._to_claim.discard(name)
            before = "its agent" if self._hub_scorer else "the hub scorer"
            log.info("took over %s from %s", name, before, extra={"scorer": scorer, "object": name})
        try:
            written = await self._apply(name, body, labels=labels, needed=needed)
            # Items of another program stay if their names differ from ours.
            complete = written.exclusive and len(written.status.scores) == len(values)
        except AgentError as error:
            # INVALID_OBJECT: without our item, a value that another program owns would remain.
            if error.reason not in {
                Reason.CONFLICT,
                Reason.INVALID_OBJECT,
            } or not await self._take_over(name, scorer=scorer):
                raise
            complete = False
        else:
            if not complete:
                await self._take_over(name, scorer=scorer, leftovers=True)
        if not complete:
            written = await self._apply(name, body, labels=labels, needed=needed)
        if not labels.items() <= written.metadata.labels.items():
            await self._label(name, labels=labels)

    async def names(self) -> frozenset[str]:
        params = {**self._owned, "includeObject": "None", "resourceVersion": "0"}
        table = await self._server.call("GET", self._base, shape=Table, params=params, accept=TABLE)
        return frozenset(str(row.cells[0]) for row in table.rows if row.cells)

    async def list_owned(self, *, values: bool = True) -> list[Stored]:
        del values
        found = (
            await self._server.call("GET", self._base, shape=ObjectList, params=self._owned)
        ).items
        # What is not listed was deleted, or another program has taken it over.
        self._exclusive &= {item.metadata.name for item in found}
        for item in found:
            self._note(item.metadata.name, exclusive=item.exclusive)
        return [item.stored() for item in found]

    async def delete(self, stored: Stored) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": stored.version},
        }
        try:
            await self._server.call("DELETE", self._path(stored.name), body=body)
        except AgentError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        self._exclusive.discard(stored.name)

    async def _get(self, name: str) -> HubObject | None:
        try:
            found = await self._server.call("GET", self._path(name), shape=HubObject)
        except AgentError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            self._exclusive.add(name)
            return None
        self._note(name, exclusive=found.exclusive)
        if found.stored().owned_by(hub_scorer=not self._hub_scorer):
            self._to_claim.add(name)
        return found

    def _note(self, name: str, *, exclusive: bool) -> None:
        if exclusive:
            self._exclusive.add(name)
            self._seen_versions.pop(name, None)
        else:
            self._exclusive.discard(name)

    async def _create(
        self, name: str, *, labels: Mapping[str, str], needed: Callable[[], bool]
    ) -> bool:
        """Returns False if the object exists: another program created it in the meantime."""
        if not needed():
            # The scorer was removed while an earlier request was under way, and the object was deleted.
            raise _NotNeeded
        body = store.manifest(name=name, namespace=self._cluster, labels=labels)
        try:
            await self._server.call(
                "POST", self._base, params={"fieldManager": AGENT_MANAGER}, body=body
            )
        except AgentError as error:
            if error.reason is not Reason.CONFLICT:
                raise
            return False
        self._exclusive.add(name)
        return True

    async def _take_over(self, name: str, *, scorer: str, leftovers: bool = False) -> bool:
        """Makes our agent the owner of the whole status, so that the next apply removes other items. Returns
        whether there were some, with ``leftovers`` without an owner. Raises CONFLICT while another writes.
        """
        found = await self._get(name)
        if found is None or (found.exclusive and not leftovers):
            return False
        for writer in found.writers:
            self._require_silence(name, writer, version=found.metadata.resource_version)
        extra = {"scorer": scorer, "object": name}
        log.warning("taking over %s, which no other program wrote for long", name, extra=extra)
        kept = [
            entry
            for entry in found.metadata.managed_fields
            if entry.subresource != ownership.STATUS
        ]
        change = [
            # The hub refuses the patch if the object changed since it was read.
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": found.metadata.resource_version,
            },
            {
                "op": "add",
                "path": "/metadata/managedFields",
                "value": [*kept, sole_owner(found.status, now=self._server.now())],
            },
        ]
        await self._patch(self._path(name), change, JSON_PATCH)
        self._note(name, exclusive=True)
        return True

    def _require_silence(self, name: str, writer: Writer, *, version: str) -> None:
        """Raises CONFLICT unless the writer was silent for long, by the hub's record and by what was seen: an
        upstream agent reorders its items each time, so the version changes while it runs.
        """
        now = self._server.now()
        seen = self._seen_versions.get(name)
        if seen is None or seen.version != version:
            seen = self._seen_versions[name] = _SeenVersion(
                version=version, since=now, changed=seen is not None
            )
        # A writer that repeats its values does not update its time in managedFields.
        last = seen.since if seen.changed or writer.at is None else 0.0
        silent = now - max(writer.at or 0.0, last)
        if silent > SILENT_SECONDS:
            return
        who = (
            writer.manager
            or "another program, which the hub does not name and which may be an upstream agent,"
        )
        msg = (
            f"{who} wrote the scores of {name}, perhaps {max(0.0, silent):.0f} s ago; stop that program: this"
            f" agent takes over {SILENT_SECONDS:.0f} s after its last write, or as soon as you delete the"
            " object"
        )
        raise AgentError(msg, reason=Reason.CONFLICT)

    async def _apply(
        self, name: str, body: bytes, *, labels: Mapping[str, str], needed: Callable[[], bool]
    ) -> HubObject:
        """Applies the status. Creates the object if it does not exist."""
        try:
            return await self._apply_status(name, body)
        except AgentError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        await self._create(name, labels=labels, needed=needed)
        return await self._apply_status(name, body)

    async def _apply_status(self, name: str, body: bytes) -> HubObject:
        return await self._patch(f"{self._path(name)}/status", body, APPLY, force="false")

    async def _label(self, name: str, *, labels: Mapping[str, str]) -> None:
        """Sets our labels on objects of other programs or of renamed scorers, so that they go with them."""
        await self._patch(
            self._path(name), {"metadata": {"labels": {RUNS_ON_LABEL: None, **labels}}}, MERGE
        )

    async def _patch(self, path: str, body: object, kind: str, **more: str) -> HubObject:
        params = {"fieldManager": AGENT_MANAGER, **more}
        return await self._server.call(
            "PATCH", path, shape=HubObject, params=params, body=body, content_type=kind
        )

    def _path(self, name: str) -> str:
        return f"{self._base}/{quote(name, safe='')}"
