"""AddOnPlacementScores on the hub, in the namespace of a cluster.

An object is created first, and then its status is applied: a create drops the status, because it is
a subresource in OCM's CRD.

A server-side apply removes only those items that the same field manager applied before. Items that
another program left, such as an upstream agent, would stay beside ours for ever, and OCM would
count them. So a take-over comes first: before the first apply our agent becomes the owner of the
whole status. After an apply it would be too late, because the hub would then record both programs
as owners.

Guaranteed: nothing is taken over from a program that may still be running. That is a conflict,
until it has not written for an hour or the object was deleted.

Rights that it needs: get, list, create, patch and delete of addonplacementscores, and patch of
their status.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

from dsf_agent.endpoints.apiserver import AgentApiServer
from dsf_agent.errors import AgentError
from dsf_agent.publish import hubobject, store
from dsf_agent.publish.hubobject import HubObjectList, ScoreObject, TableAnswer
from dsf_agent.publish.store import ScoredCondition, StoredScores
from dsf_runtime.apiserver import APPLY, JSON_PATCH, MERGE
from dsf_wire import constants, ownership
from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL, RUNS_ON_HUB, RUNS_ON_LABEL
from dsf_wire.ownership import ScoreWriter
from dsf_wire.scored import Reason

SILENT_SECONDS: Final = 3600.0
"""A program that has not written for this time counts as removed."""
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""A list in the form that `kubectl get` asks for.

A row without its object has about 100 bytes; managedFields alone can have hundreds of kB.
"""
CONDITION_REFUSED_SECONDS: Final = 3600.0
"""The time for which conditions are left out after the hub refused one.

Its admission policy comes from the fleet's repository, and may be older than this agent.
"""
FEW_ITEMS: Final = 500
"""Items that are encoded without a thread: less than a millisecond."""
POLICY_REFUSAL: Final = "ValidatingAdmissionPolicy"
"""The text in the message of a refusal by an admission policy (Kubernetes 1.37).

A refusal for want of rights has the same status, 403, but says nothing of the condition.
"""
MAX_OBJECT_BYTES: Final = 1_500_000
"""Largest object to store, in bytes. etcd refuses requests above 1.5 MiB.

This is less than MAX_SCORE_ITEMS items, beyond which the hub's admission policy would refuse the
object, too.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _SeenVersion:
    """A version of an object that another program writes."""

    version: str
    since: float
    """The time when it was seen first (Unix seconds of the hub)."""
    changed: bool
    """Whether another version was seen before it.

    If not, the last write may have been just before.
    """


class _NotNeeded(Exception):  # noqa: N818 - a state, not a mistake
    """Nobody needs the object any more, so it is not created."""


class HubStore:
    """The objects of one cluster."""

    def __init__(self, *, server: AgentApiServer, cluster: str, hub_scorer: bool = False) -> None:
        self._hub_scorer = hub_scorer
        operator = "=" if hub_scorer else "!="
        runs_on = f"{RUNS_ON_LABEL}{operator}{RUNS_ON_HUB}"
        self._owned = {"labelSelector": f"{MANAGED_BY_LABEL}={AGENT_MANAGER},{runs_on}"}
        self._server = server
        self._cluster = cluster
        resource = f"namespaces/{quote(cluster, safe='')}/{constants.SCORE_PLURAL}"
        self._base = f"/apis/{constants.SCORE_API_VERSION}/{resource}"
        self._exclusive: set[str] = set()
        """Objects that only our agent wrote when they were last read, or that did not exist."""
        self._seen_versions: dict[str, _SeenVersion] = {}
        """Objects that another program wrote, by name."""
        self._to_claim: set[str] = set()
        """Objects that the other of agent and hub scorer has labelled as its own."""
        self._no_conditions_until = 0.0
        """Unix time of the hub until which scores are written without a condition."""

    async def write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """See ScoreStore.write. A hub that refuses conditions gets the scores without one."""
        write = partial(
            self._write,
            name,
            scorer=scorer,
            values=values,
            valid_until=valid_until,
            needed=needed,
        )
        if self._server.now() < self._no_conditions_until:
            return await write(condition=None)
        try:
            return await write(condition=condition)
        except AgentError as error:
            if not _is_refused_by_policy(error):
                raise
        # The admission policy of an older version refuses conditions of agents. Scores must arrive
        # all the same.
        stored = await write(condition=None)
        self._refused_condition()
        return stored

    async def explain(
        self,
        name: str,
        *,
        scorer: str,
        stored: StoredScores | None,
        condition: ScoredCondition,
        needed: Callable[[], bool] = lambda: True,
    ) -> StoredScores | None:
        """See ScoreStore.explain."""
        if self._server.now() < self._no_conditions_until:
            return stored
        labels = store.labels(scorer, hub_scorer=self._hub_scorer)
        values: Mapping[str, int] = {}
        valid_until: float | None = None
        if stored is None:
            try:
                version = await self._create(name, labels=labels, needed=needed)
            except _NotNeeded:
                return None
            if not version:
                raise AgentError(
                    f"{name} exists, and was not there when the scores were listed",
                    reason=Reason.CONFLICT,
                )
        else:
            if stored.shared:
                raise AgentError(f"another program writes {name}, too", reason=Reason.CONFLICT)
            version = stored.version
            values = stored.values
            valid_until = stored.valid_until
        # With the version: after a write of scores in between this one would bring the old ones
        # back, and so the hub refuses it.
        body = await self._status_body(
            name, values=values, valid_until=valid_until, condition=condition, version=version
        )
        try:
            applied = await self._apply_status(name, body)
        except AgentError as error:
            if _is_refused_by_policy(error):
                self._refused_condition()
            raise
        return applied.stored(values=values)

    def _refused_condition(self) -> None:
        self._no_conditions_until = self._server.now() + CONDITION_REFUSED_SECONDS
        log.info(
            "the hub refuses this agent's conditions, so it cannot show why scores are missing;"
            " apply rendered/platform of this version",
        )

    async def _write(
        self,
        name: str,
        *,
        scorer: str,
        values: Mapping[str, int],
        valid_until: float,
        condition: ScoredCondition | None,
        needed: Callable[[], bool],
    ) -> StoredScores | None:
        labels = store.labels(scorer, hub_scorer=self._hub_scorer)
        body = await self._status_body(
            name, values=values, valid_until=valid_until, condition=condition
        )
        try:
            if name not in self._exclusive:
                created = await self._create(name, labels=labels, needed=needed)
                if created is None:
                    await self._take_over(name, scorer=scorer)
            if name in self._to_claim:
                await self._claim(name, scorer=scorer, labels=labels)
            applied = await self._apply_exactly(
                name, body, scorer=scorer, count=len(values), labels=labels, needed=needed
            )
        except _NotNeeded:
            return None
        if not labels.items() <= applied.metadata.labels.items():
            applied = await self._label(name, labels=labels)
        return applied.stored(values=values)

    async def names(self) -> frozenset[str]:
        """See ScoreStore.names. Answered from the API server's cache, without the objects."""
        # Version 0: any state that the cache has will do, since young objects are not judged.
        params = {**self._owned, "includeObject": "None", "resourceVersion": "0"}
        table = await self._server.call(
            "GET", self._base, shape=TableAnswer, params=params, accept=TABLE
        )
        return frozenset(str(row.cells[0]) for row in table.rows if row.cells)

    async def list_owned(self, *, values: bool = True) -> list[StoredScores]:
        """See ScoreStore.list_owned. The values are always read."""
        del values
        listed = await self._server.call("GET", self._base, shape=HubObjectList, params=self._owned)
        # An object that is not listed was deleted, or another program has taken it over.
        self._exclusive &= {score_object.metadata.name for score_object in listed.items}
        for score_object in listed.items:
            self._note(score_object.metadata.name, exclusive=score_object.exclusive)
        return [score_object.stored() for score_object in listed.items]

    async def delete(self, stored: StoredScores) -> None:
        """See ScoreStore.delete."""
        # Only as it was listed: another program may have taken the object over since.
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

    async def _status_body(
        self,
        name: str,
        *,
        values: Mapping[str, int],
        valid_until: float | None,
        condition: ScoredCondition | None,
        version: str = "",
    ) -> bytes:
        """The body of the apply. Raises AgentError if the object would be too large."""
        encode = partial(
            hubobject.status_body,
            values,
            name=name,
            namespace=self._cluster,
            valid_until=valid_until,
            condition=condition,
            version=version,
        )
        # In a thread if there are many items: it takes long for tens of thousands.
        body = encode() if len(values) <= FEW_ITEMS else await asyncio.to_thread(encode)
        size = hubobject.stored_bytes(len(body), items=len(values))
        if size > MAX_OBJECT_BYTES:
            raise AgentError(
                f"{len(values)} items make an object of {size} bytes, the limit is"
                f" {MAX_OBJECT_BYTES}; use a coarser scoreDimensionFormat",
                reason=Reason.TOO_LARGE,
            )
        return body

    async def _apply_exactly(
        self,
        name: str,
        body: bytes,
        *,
        scorer: str,
        count: int,
        labels: Mapping[str, str],
        needed: Callable[[], bool],
    ) -> ScoreObject:
        """Applies the status until the object holds these items and no others."""
        try:
            applied = await self._apply(name, body, labels=labels, needed=needed)
        except AgentError as error:
            # INVALID_OBJECT: without our item, a value that another program owns would remain.
            if error.reason not in {Reason.CONFLICT, Reason.INVALID_OBJECT}:
                raise
            if not await self._take_over(name, scorer=scorer):
                raise
        else:
            # Items of another program stay if their names differ from ours.
            if applied.exclusive and len(applied.status.scores) == count:
                return applied
            await self._take_over(name, scorer=scorer, leftovers=True)
        return await self._apply(name, body, labels=labels, needed=needed)

    async def _claim(self, name: str, *, scorer: str, labels: Mapping[str, str]) -> None:
        """Takes an object over from the other of agent and hub scorer, by its label."""
        # From now on the hub's admission policies refuse the other one.
        await self._label(name, labels=labels)
        self._to_claim.discard(name)
        before = "its agent" if self._hub_scorer else "the hub scorer"
        extra = {"scorer": scorer, "object": name}
        log.info("took over %s from %s", name, before, extra=extra)

    async def _get(self, name: str) -> ScoreObject | None:
        try:
            read = await self._server.call("GET", self._path(name), shape=ScoreObject)
        except AgentError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            self._exclusive.add(name)
            return None
        self._note(name, exclusive=read.exclusive)
        # The scorer moved between spokes and hub.
        if read.stored().owned_by(hub_scorer=not self._hub_scorer):
            self._to_claim.add(name)
        return read

    def _note(self, name: str, *, exclusive: bool) -> None:
        if exclusive:
            self._exclusive.add(name)
            self._seen_versions.pop(name, None)
        else:
            self._exclusive.discard(name)

    async def _create(
        self, name: str, *, labels: Mapping[str, str], needed: Callable[[], bool]
    ) -> str | None:
        """Returns the version of the new object.

        None if the object exists: another program created it in the meantime.
        """
        if not needed():
            # The scorer was removed while an earlier request was under way, and the object was
            # deleted.
            raise _NotNeeded
        # Without a status: OCM's CRD has the status as a subresource, so a create would drop it.
        body = hubobject.manifest(name=name, namespace=self._cluster, labels=labels)
        params = {"fieldManager": AGENT_MANAGER}
        try:
            created = await self._server.call(
                "POST", self._base, shape=ScoreObject, params=params, body=body
            )
        except AgentError as error:
            if error.reason is not Reason.CONFLICT:
                raise
            return None
        self._exclusive.add(name)
        return created.metadata.resource_version

    async def _take_over(self, name: str, *, scorer: str, leftovers: bool = False) -> bool:
        """Makes our agent the owner of the whole status.

        So the next apply removes other items. Returns whether there were some, with ``leftovers``
        also those without an owner. Raises CONFLICT while another program writes.
        """
        read = await self._get(name)
        if read is None or (read.exclusive and not leftovers):
            return False
        for writer in read.writers:
            self._require_silence(name, writer, version=read.metadata.resource_version)
        extra = {"scorer": scorer, "object": name}
        log.warning("taking over %s, which no other program wrote for long", name, extra=extra)
        # Only the status is taken over. Who owns the labels stays on record.
        kept = [
            entry for entry in read.metadata.managed_fields if entry.subresource != ownership.STATUS
        ]
        now_owned = hubobject.sole_owner(read.status, now=self._server.now())
        change = [
            # The hub refuses the patch if the object changed since it was read.
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": read.metadata.resource_version,
            },
            {"op": "add", "path": "/metadata/managedFields", "value": [*kept, now_owned]},
        ]
        await self._patch(self._path(name), change, JSON_PATCH)
        self._note(name, exclusive=True)
        return True

    def _require_silence(self, name: str, writer: ScoreWriter, *, version: str) -> None:
        """Raises CONFLICT unless the writer was silent for long.

        Both the hub's record and what was seen count: an upstream agent reorders its items each
        time, so the version changes while it runs.
        """
        now = self._server.now()
        seen = self._seen_versions.get(name)
        if seen is None or seen.version != version:
            seen = _SeenVersion(version=version, since=now, changed=seen is not None)
            self._seen_versions[name] = seen
        # A writer that repeats its values does not update its time in managedFields.
        last = seen.since if seen.changed or writer.at is None else 0.0
        silent = now - max(writer.at or 0.0, last)
        if silent > SILENT_SECONDS:
            return
        seconds = max(0.0, silent)
        if writer.manager:
            raise AgentError(
                f"{writer.manager} wrote the scores of {name}, perhaps {seconds:.0f} s ago; stop"
                f" that program: this agent takes over {SILENT_SECONDS:.0f} s after its last write,"
                " or as soon as you delete the object",
                reason=Reason.CONFLICT,
            )
        raise AgentError(
            "another program, which the hub does not name and which may be an upstream agent, wrote"
            f" the scores of {name}, perhaps {seconds:.0f} s ago; stop that program: this agent"
            f" takes over {SILENT_SECONDS:.0f} s after its last write, or as soon as you delete the"
            " object",
            reason=Reason.CONFLICT,
        )

    async def _apply(
        self, name: str, body: bytes, *, labels: Mapping[str, str], needed: Callable[[], bool]
    ) -> ScoreObject:
        """Applies the status. Creates the object if it does not exist."""
        try:
            return await self._apply_status(name, body)
        except AgentError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
        # The object was deleted since the last write. An apply of a subresource creates no object.
        await self._create(name, labels=labels, needed=needed)
        return await self._apply_status(name, body)

    async def _apply_status(self, name: str, body: bytes) -> ScoreObject:
        # Without force, another owner of an item is a conflict, which is reported.
        return await self._patch(f"{self._path(name)}/status", body, APPLY, force="false")

    async def _label(self, name: str, *, labels: Mapping[str, str]) -> ScoreObject:
        """Sets our labels on objects of other programs or of renamed scorers.

        So they are deleted with their scorer.
        """
        # A merge patch removes what is null (RFC 7396): an object of an agent must not keep the
        # label of the hub scorer.
        body = {"metadata": {"labels": {RUNS_ON_LABEL: None, **labels}}}
        return await self._patch(self._path(name), body, MERGE)

    async def _patch(self, path: str, body: object, kind: str, **more: str) -> ScoreObject:
        params = {"fieldManager": AGENT_MANAGER, **more}
        return await self._server.call(
            "PATCH", path, shape=ScoreObject, params=params, body=body, content_type=kind
        )

    def _path(self, name: str) -> str:
        return f"{self._base}/{quote(name, safe='')}"


def _is_refused_by_policy(error: AgentError) -> bool:
    return error.reason is Reason.FORBIDDEN and POLICY_REFUSAL in str(error)
