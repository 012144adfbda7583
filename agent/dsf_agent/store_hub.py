"""AddOnPlacementScores on the hub, in the cluster's own namespace.

Rights used: addonplacementscores get, list, create, patch, delete and addonplacementscores/status patch.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dsf_agent import store
from dsf_agent.apiserver import ApiServer
from dsf_agent.errors import PublishError
from dsf_agent.reasons import Reason
from dsf_agent.store import Stored
from dsf_runtime.apiserver import APPLY, JSON_PATCH
from dsf_wire import ownership
from dsf_wire.constants import (
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    MAX_ITEM_NAME,
    MAX_SCORE_ITEMS,
    SCORE_API_VERSION,
    SCORE_GROUP,
    SCORE_PLURAL,
    SCORE_VERSION,
)
from dsf_wire.ownership import FieldsEntry, Writer

log = logging.getLogger(__name__)

SILENT_SECONDS: Final = 3600.0
"""A writer that has not written for this time is gone."""
LIST_SECONDS: Final = 300.0
"""Between two looks at which objects are there: one request for all scorers of a cluster."""
LIST_LAG_SECONDS: Final = 10.0
"""An object that was written so shortly before a list may be missing in it: the API server answers from its
cache.
"""
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""A list as `kubectl get` asks for it. A row without its object has some 100 bytes; managedFields alone can
have hundreds of kB.
"""

MAX_OBJECT_BYTES: Final = 1_500_000
"""Bytes that the hub would have to store; etcd refuses requests above 1.5 MiB."""
OWNED_ITEM_BYTES: Final = 36
"""What an item's entry in managedFields has more than the item itself: server-side apply writes down who owns
it, by name.
"""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    managed_fields: list[FieldsEntry] = []


class _Item(msgspec.Struct, frozen=True, gc=False):
    """As a struct: there may be tens of thousands, for which dictionaries take twice the time and memory."""

    name: str
    value: int = 0


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    scores: list[_Item] = []
    valid_until: str | None = None


class _Score(msgspec.Struct, frozen=True):
    """An AddOnPlacementScore without what the agent has no use for: the fields of managedFields are most of
    it.
    """

    metadata: _Metadata = _Metadata()
    status: _Status = _Status()

    @property
    def writers(self) -> tuple[Writer, ...]:
        """Other programs that write the status."""
        labelled = self.metadata.labels.get(MANAGED_BY_LABEL) == AGENT_MANAGER
        return ownership.other_writers(
            self.metadata.managed_fields, labelled=labelled, scored=bool(self.status.scores)
        )

    @property
    def held(self) -> bool:
        """Whether an apply of the status changes nothing but what our agent owns, and all of it."""
        applied = any(entry.ours for entry in self.metadata.managed_fields)
        return not self.writers and (applied or not self.status.scores)

    def stored(self) -> Stored:
        return Stored(
            name=self.metadata.name,
            values={item.name: item.value for item in self.status.scores},
            valid_until=store.seconds(self.status.valid_until),
            labels=self.metadata.labels,
            version=self.metadata.resource_version,
            shared=bool(self.writers),
        )


class _List(msgspec.Struct, frozen=True):
    items: list[_Score] = []


class _Row(msgspec.Struct, frozen=True):
    cells: list[Any]


class _Table(msgspec.Struct, frozen=True):
    """The rows of a list; the first column of a custom resource is the name."""

    rows: list[_Row]


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """An object's version, since when it has it, and whether it had another one before (else somebody may
    have written just before).
    """

    version: str
    since: float
    changed: bool


def stored_bytes(body: int, *, items: int) -> int:
    """About how large the object of a request with this body is once the hub also keeps who owns
    each item.
    """
    return 2 * body + OWNED_ITEM_BYTES * items


def status_body(values: Mapping[str, int], *, name: str, namespace: str, valid_until: float) -> bytes:
    """The body of an apply of the status."""
    body = store.manifest(name=name, namespace=namespace)
    items = [_Item(name=item, value=value) for item, value in values.items()]
    body["status"] = {"scores": items, "validUntil": store.timestamp(valid_until)}
    return msgspec.json.encode(body)


class HubStore:
    """Writes by create, then server-side apply of /status: a create alone drops the status (OCM's CRD has the
    subresource).

    An apply removes the items that the same manager applied before and no others. So what another program
    left behind is taken over as a whole, before the first apply; after it the hub would say that the items
    belong to both.
    """

    def __init__(
        self,
        *,
        server: ApiServer,
        cluster: str,
        limit: int = MAX_OBJECT_BYTES,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        self._server = server
        self._limit = limit
        self._silent = silent_seconds
        self._cluster = cluster
        self._base = (
            f"/apis/{SCORE_GROUP}/{SCORE_VERSION}/namespaces/{quote(cluster, safe='')}/{SCORE_PLURAL}"
        )
        self._held: set[str] = set()
        """Objects that were ours alone when they were last seen, or were not there."""
        self._watched: dict[str, _Watched] = {}
        """Objects that another program wrote."""
        self._listed: float | None = None
        self._names: frozenset[str] | None = None
        """Our objects that were there then; None where that could not be read."""

    def wall(self) -> float:
        return self._server.server_clock.wall()

    async def read(self, name: str) -> Stored | None:
        found = await self._get(name)
        return None if found is None else found.stored()

    async def write(self, name: str, *, scorer: str, values: Mapping[str, int], valid_until: float) -> None:
        _check(values)
        # Off the event loop: tens of thousands of items take their time.
        body = await asyncio.to_thread(
            status_body, values, name=name, namespace=self._cluster, valid_until=valid_until
        )
        size = stored_bytes(len(body), items=len(values))
        if size > self._limit:
            msg = (
                f"{len(values)} items make an object of {size} bytes, the limit is {self._limit}; use a"
                " coarser scoreDimensionFormat"
            )
            raise PublishError(msg, reason=Reason.TOO_LARGE)
        if name not in self._held:
            await self._take_over(name, scorer=scorer)
        try:
            written = await self._apply(name, body, scorer=scorer)
            # Somebody else's items stay beside ours where no value of theirs meets one of ours.
            complete = written.held and len(written.status.scores) == len(values)
        except PublishError as error:
            # Invalid: what is left of an item of ours of which another program owns the value.
            if error.reason not in {Reason.CONFLICT, Reason.INVALID_OBJECT} or not await self._take_over(
                name, scorer=scorer
            ):
                raise
            complete = False
        else:
            if not complete:
                await self._take_over(name, scorer=scorer, leftovers=True)
        if not complete:
            written = await self._apply(name, body, scorer=scorer)
        if not store.labels(scorer).items() <= written.metadata.labels.items():
            await self._label(name, scorer=scorer)

    async def gone(self, name: str, *, written: float) -> bool:
        now = self.wall()
        if self._listed is None:
            # What was read or written at the start needs no second look.
            self._listed = now
        elif abs(now - self._listed) >= LIST_SECONDS:
            # Set before the request, so that the other scorers start no second one.
            self._listed, self._names = now, None
            self._names = await self._list_names()
        return (
            self._names is not None and name not in self._names and written + LIST_LAG_SECONDS < self._listed
        )

    async def ours(self) -> list[Stored]:
        reply = await self._server.call("GET", self._base, params=_OURS)
        return [item.stored() for item in reply.read(_List).items]

    async def delete(self, stored: Stored) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": stored.version},
        }
        try:
            await self._server.call("DELETE", self._path(stored.name), body=body)
        except PublishError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        self._held.discard(stored.name)

    async def _get(self, name: str) -> _Score | None:
        try:
            reply = await self._server.call("GET", self._path(name))
        except PublishError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            self._held.add(name)
            return None
        found = reply.read(_Score)
        self._note(name, held=found.held)
        return found

    def _note(self, name: str, *, held: bool) -> None:
        if held:
            self._held.add(name)
            self._watched.pop(name, None)
        else:
            self._held.discard(name)

    async def _list_names(self) -> frozenset[str] | None:
        params = {**_OURS, "includeObject": "None", "resourceVersion": "0"}
        try:
            table = (await self._server.call("GET", self._base, params=params, accept=TABLE)).read(_Table)
        except PublishError as error:
            log.debug(
                "could not look which scores are still there: %s", error, extra={"reason": error.reason.value}
            )
            return None
        return frozenset(str(row.cells[0]) for row in table.rows if row.cells)

    async def _create(self, name: str, *, scorer: str) -> None:
        body = store.manifest(name=name, namespace=self._cluster, scorer=scorer)
        try:
            await self._server.call("POST", self._base, params={"fieldManager": AGENT_MANAGER}, body=body)
        except PublishError as error:
            if error.reason is not Reason.CONFLICT:
                raise
            # Somebody was faster; the object is there, which is all that was wanted.

    async def _take_over(self, name: str, *, scorer: str, leftovers: bool = False) -> bool:
        """Makes our agent the owner of all that the status holds, so that the next apply removes what is not
        in it.

        Returns whether there was something to do: items of another program, or with ``leftovers`` of nobody.
        Raises CONFLICT while the other program is not known to be silent: no field has two writers, and the
        conflict is reported until a person decides.
        """
        found = await self._get(name)
        if found is None or (found.held and not leftovers):
            return False
        for writer in found.writers:
            self._expect_silence(name, writer, version=found.metadata.resource_version)
        log.warning(
            "taking over %s, whose other writer is silent", name, extra={"scorer": scorer, "object": name}
        )
        kept = [entry for entry in found.metadata.managed_fields if entry.subresource != ownership.STATUS]
        change = [
            # The hub refuses all of it when the object has another version meanwhile.
            {"op": "replace", "path": "/metadata/resourceVersion", "value": found.metadata.resource_version},
            {
                "op": "add",
                "path": "/metadata/managedFields",
                "value": [*kept, _owning(found.status, now=self.wall())],
            },
        ]
        await self._server.call(
            "PATCH",
            self._path(name),
            params={"fieldManager": AGENT_MANAGER},
            body=change,
            content_type=JSON_PATCH,
        )
        self._note(name, held=True)
        return True

    def _expect_silence(self, name: str, writer: Writer, *, version: str) -> None:
        """Raises CONFLICT unless the writer has not written for long, as far as the hub tells and this
        process saw.

        An upstream agent writes its items in another order each time, so while it lives the object's version
        changes.
        """
        now = self.wall()
        watched = self._watched.get(name)
        if watched is None or watched.version != version:
            watched = self._watched[name] = _Watched(version=version, since=now, changed=watched is not None)
        # A writer that repeats its values leaves no new time behind.
        seen = watched.since if watched.changed or writer.at is None else 0.0
        silent = now - max(writer.at or 0.0, seen)
        if silent > self._silent:
            return
        who = (
            writer.manager
            or "another program, which the hub does not name and which may be an upstream agent,"
        )
        msg = (
            f"{who} wrote the scores of {name}, perhaps {max(0.0, silent):.0f} s ago; stop that program: this"
            f" agent takes over {self._silent:.0f} s after its last write, or as soon as you delete the"
            " object"
        )
        raise PublishError(msg, reason=Reason.CONFLICT)

    async def _apply(self, name: str, body: bytes, *, scorer: str) -> _Score:
        """Applies the status, to a new object where there is none."""
        try:
            return await self._apply_status(name, body)
        except PublishError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        await self._create(name, scorer=scorer)
        return await self._apply_status(name, body)

    async def _apply_status(self, name: str, body: bytes) -> _Score:
        params = {"fieldManager": AGENT_MANAGER, "force": "false"}
        reply = await self._server.call(
            "PATCH", f"{self._path(name)}/status", params=params, body=body, content_type=APPLY
        )
        return reply.read(_Score)

    async def _label(self, name: str, *, scorer: str) -> None:
        """For an object that was there before us, or whose scorer has another name now: its scores are ours,
        so its removal is, too.
        """
        body = store.manifest(name=name, namespace=self._cluster, scorer=scorer)
        params = {"fieldManager": AGENT_MANAGER, "force": "true"}
        await self._server.call("PATCH", self._path(name), params=params, body=body, content_type=APPLY)

    def _path(self, name: str) -> str:
        return f"{self._base}/{quote(name, safe='')}"


def _check(values: Mapping[str, int]) -> None:
    """Raises PublishError for what the hub's admission policy refuses (gitops_dsf/render/agentscores.py)."""
    longest = max(map(len, values), default=0)
    if longest > MAX_ITEM_NAME:
        words = f"the name of an item has {longest} characters, the limit is {MAX_ITEM_NAME}"
    elif len(values) > MAX_SCORE_ITEMS:
        words = f"there are {len(values)} items, the limit is {MAX_SCORE_ITEMS}"
    else:
        return
    raise PublishError(f"{words}; use a coarser scoreDimensionFormat", reason=Reason.TOO_LARGE)


_OURS: Final = {"labelSelector": f"{MANAGED_BY_LABEL}={AGENT_MANAGER}"}


def _owning(status: _Status, *, now: float) -> FieldsEntry:
    """An entry that makes our agent the only owner of this status (`kubectl apply --server-side` moves
    ownership in the same way).
    """
    keys = (msgspec.json.encode({"name": item.name}).decode() for item in status.scores)
    fields: dict[str, Any] = {
        "f:scores": {f"k:{key}": {".": {}, "f:name": {}, "f:value": {}} for key in keys}
    }
    if status.valid_until is not None:
        fields["f:validUntil"] = {}
    return FieldsEntry(
        manager=AGENT_MANAGER,
        operation=ownership.APPLY,
        api_version=SCORE_API_VERSION,
        time=datetime.fromtimestamp(int(now), tz=UTC),
        fields_type="FieldsV1",
        fields_v1=msgspec.Raw(msgspec.json.encode({"f:status": fields})),
        subresource=ownership.STATUS,
    )
