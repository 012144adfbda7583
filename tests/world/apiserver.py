"""The hub's API server in the world.

It is the server of all tests, with a log of events that watches continue from, finalizers, older
states that a second server may still answer with, and a backup that may be restored.

What is modelled of finalizers and watches is that of Kubernetes 1.37: an object that a finalizer
keeps takes no other finalizer, a deletion answers with it, and it goes with the write that takes
the last one away. A watch from a version that is no longer known is answered with 200 and an ERROR
event (410, Expired), and one from a version that nobody has written yet with silence. In a
namespace that is terminating nothing can be created, by an apply neither; what is there can be
changed.

`tests/hub/test_api_server.py` compares the server of the tests with a real one;
`tests/hub/test_world_apiserver.py` does so for what is added here.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from functools import partial
from typing import Any, Final

import msgspec

from gitops_dsf.hub.names import PLACEMENT_LABEL
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.agent.scorewrites import RefusedError
from tests.support.apiserver import (
    APPLY,
    ApiTarget,
    FakeApiServer,
    Key,
    Object,
    _labelled,
    _selected,
    at_version,
    event_of,
    failure,
)
from tests.world.loop import EPOCH, later, world_loop
from tests.world.network import Answer, OpenWatch

EVENTS: Final = 4000
"""Changes that a watch can continue from. Older ones are compacted."""
BOOKMARK_SECONDS: Final = 60.0
TOKEN: Final = "world"
JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class StoredChange:
    """One write. `after` is None for a deletion."""

    version: int
    key: Key
    before: Object | None
    after: Object | None
    encoded: bytes = b"null"
    """`after` as JSON."""


Admit = Callable[[ApiTarget, Object | None, Object | None, Object], str]
"""Admission of a write of the `writer`: the object before and after it, None where there is none,
and what was sent.
"""


class _Last(list[Any]):
    """A list of the last item: what the tests' server writes down would fill the memory here."""

    def append(self, item: Any) -> None:
        self[:] = [item]


@dataclass(kw_only=True, eq=False)
class _Open:
    """An open watch.

    Changes wait in `pending` until its client has it and the older ones were sent.
    """

    target: ApiTarget
    selector: str
    watch: OpenWatch
    since: int
    """Changes up to this version are not sent, even if it is one that nobody has written yet."""
    pending: list[StoredChange] | None = field(default_factory=list)

    def tell(self, change: StoredChange) -> None:
        if self.pending is not None:
            self.pending.append(change)
            return
        plural, namespace, _ = change.key
        if plural != self.target.plural or self.target.namespace not in {"", namespace}:
            return
        if change.version <= self.since:
            return
        event = event_of(change.before, change.after, self.selector)
        if not event:
            return
        encoded = change.encoded
        if change.after is None and change.before is not None:
            encoded = msgspec.json.encode(at_version(change.before, change.version))
        self.watch.send(b'{"type":"%b","object":%b}\n' % (event.encode(), encoded))


class WorldApiServer(FakeApiServer):
    """Answers without a connection (`answered`). `changed` is called after each write."""

    def __init__(self) -> None:
        super().__init__(token=TOKEN, live=True)
        self.asked = _Last()
        self.seen = _Last()
        self.writes = _Last()
        self.log: deque[StoredChange] = deque(maxlen=EVENTS)
        self.compacted = self.version
        """Watches from before this version are told that it is too old."""
        self.opened: list[_Open] = []
        self.by_plural: dict[str, dict[Key, Object]] = {}
        self.changed: list[Callable[[StoredChange], None]] = []
        self.requester: Callable[[], str] = lambda: "?"
        self.writer = ""
        """Who writes now: the program whose request is carried out, or a model."""
        self.admit: Admit = lambda *_: ""
        """Why a write of an object is refused; empty if it is not."""
        self._sorted: dict[str, dict[str, list[Key]]] = {}
        """The keys of the objects in order, by plural and namespace, while none is added or
        removed.
        """
        self._encoded: dict[Key, tuple[Object, bytes]] = {}
        """Objects as JSON, of those that were asked for."""
        self._pages: dict[tuple[str, str], list[Object]] | None = None
        """PlacementDecisions by namespace and Placement."""
        self._owned: dict[str, dict[str, list[Object]]] = {}
        """Objects by plural and UID of an owner, of the kinds that were asked for."""
        self._named: dict[tuple[str, str], list[Object]] = {}
        """Objects by plural and name, of those that were asked for."""
        self._minute = (0, "")
        """A minute since 1970, and the Date header of an answer in it up to its seconds."""
        self._authorization = f"Bearer {TOKEN}"
        self.behind: tuple[int, dict[Key, Object]] | None = None
        """What another API server, which is behind, would answer: its version and objects."""
        self.terminating: set[str] = set()
        """Namespaces in which nothing can be created."""

    def now(self) -> float:
        return EPOCH + world_loop().time() + self.ahead

    # What requests see.

    def answered(self, seen: RecordedRequest) -> Answer:  # type: ignore[override]
        """As the server of the tests, without what only tests of one program need, such as
        refusals.
        """
        self.writer = self.requester()
        path = seen.path
        if path.count("/") < (4 if path.startswith("/apis/") else 3):
            # Discovery.
            answer = super().answered(seen)
            assert isinstance(answer, SentReply)
            return self.dated(answer)
        if seen.headers.get("authorization") != self._authorization:
            return self.dated(failure(401, "Unauthorized"))
        target = ApiTarget.of(path)
        if "watch" in seen.query:
            watch: OpenWatch = self._watch(target, seen)
            watch.headers = self._date
            return watch
        if seen.method == "GET" and not target.name:
            return self.dated(self._list(target, seen))
        return self.dated(self._object(target, seen))

    def dated(self, answer: SentReply) -> SentReply:
        """The answer with a Date header: a real server dates every answer, also a refusal."""
        return SentReply(
            status=answer.status, body=answer.body, headers={**self._date, **answer.headers}
        )

    @property
    def _date(self) -> dict[str, str]:
        minute, second = divmod(int(self.now()), 60)
        if self._minute[0] != minute:
            self._minute = minute, formatdate(minute * 60, usegmt=True).removesuffix("00 GMT")
        return {"Date": f"{self._minute[1]}{second:02} GMT"}

    def elsewhere(self, seen: RecordedRequest) -> Answer:
        """The answer of an API server that is behind, to a list or watch."""
        if self.behind is None:
            return self.answered(seen)
        version, objects = self.behind
        target = ApiTarget.of(seen.path)
        if "watch" in seen.query:
            # It continues from its own cache, and catches up at once, which is enough: what a
            # client sees is an older list followed by every change.
            return self.answered(seen)
        here, self.by_plural[target.plural] = (
            self.by_plural.get(target.plural, {}),
            {key: item for key, item in objects.items() if key[0] == target.plural},
        )
        now, self.version = self.version, version
        self._sorted.pop(target.plural, None)
        try:
            return self.answered(seen)
        finally:
            self.by_plural[target.plural], self.version = here, now
            self._sorted.pop(target.plural, None)

    def _list(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        query = seen.query
        label, field = query.get("labelSelector", ""), query.get("fieldSelector", "")
        kept = self.by_plural.get(target.plural, {})
        shown = [
            (key, kept[key])
            for key in self._keys(target.plural, target.namespace)
            if (not label or _labelled(kept[key], label))
            and (not field or _selected(kept[key], field))
        ]
        if "as=Table" in seen.headers.get("accept", ""):
            rows = [
                {"cells": [item["metadata"]["name"], "2026-01-01T00:00:00Z"]} for _, item in shown
            ]
            return SentReply.of({"kind": "Table", "rows": rows})
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(shown)
        end = start + limit
        metadata = {"resourceVersion": str(self.version)}
        if end < len(shown):
            metadata["continue"] = str(end)
        head = msgspec.json.encode({"kind": f"{target.kind}List", "metadata": metadata})
        items = b",".join(self._json(key, item) for key, item in shown[start:end])
        return SentReply(body=b'%b,"items":[%b]}' % (head[:-1], items), headers=JSON)

    def _keys(self, plural: str, namespace: str) -> list[Key]:
        """Of the objects of a namespace, or of all, in order. The list is not to be changed."""
        by_namespace = self._sorted.setdefault(plural, {})
        if namespace not in by_namespace:
            kept = self.by_plural.get(plural, {})
            by_namespace[namespace] = sorted(key for key in kept if namespace in {"", key[1]})
        return by_namespace[namespace]

    def _json(self, key: Key, item: Object) -> bytes:
        """An object that is stored, or was. It is encoded once."""
        known = self._encoded.get(key)
        if known is None or known[0] is not item:
            known = self._encoded[key] = item, msgspec.json.encode(item)
        return known[1]

    def owned(self, plural: str, uid: str) -> list[Object]:
        """The stored objects of a kind that have this owner. The list is not to be changed."""
        by_owner = self._owned.get(plural)
        if by_owner is None:
            by_owner = self._owned[plural] = {}
            for item in self.of(plural):
                owners = item["metadata"].get("ownerReferences") or []
                for owner in {each["uid"]: None for each in owners}:
                    by_owner.setdefault(owner, []).append(item)
        return by_owner.get(uid, [])

    def named(self, plural: str, name: str) -> list[Object]:
        """Those of a kind with this name, by namespace. The list is not to be changed."""
        found = self._named.get((plural, name))
        if found is None:
            found = [item for item in self.of(plural) if item["metadata"]["name"] == name]
            self._named[plural, name] = found
        return found

    def pages(self, placement: str, namespace: str) -> list[Object]:
        """The PlacementDecisions of a Placement, by name. The list is not to be changed."""
        if self._pages is None:
            self._pages = {}
            for item in self.of("placementdecisions"):
                meta = item["metadata"]
                name = (meta.get("labels") or {}).get(PLACEMENT_LABEL, "")
                self._pages.setdefault((meta["namespace"], name), []).append(item)
        return self._pages.get((namespace, placement), [])

    def _watch(self, target: ApiTarget, seen: RecordedRequest) -> Any:
        since = int(seen.query.get("resourceVersion") or self.version)
        opened = _Open(
            target=target,
            selector=seen.query.get("fieldSelector", ""),
            watch=OpenWatch(),
            since=since,
        )
        watch = opened.watch
        if since < self.compacted:
            status = {
                "kind": "Status",
                "status": "Failure",
                "code": 410,
                "reason": "Expired",
                "message": f"too old resource version: {since} ({self.compacted})",
            }
            watch.when_read(partial(_end_with, watch, _line("ERROR", status)))
            return watch
        self.opened.append(opened)
        watch.on_end = lambda: self.opened.remove(opened)

        opened.pending = [change for change in self.log if change.version > since]
        watch.when_read(partial(self._begin, opened))
        later(float(seen.query.get("timeoutSeconds", "240")), watch.end)
        return watch

    def _begin(self, opened: _Open) -> None:
        """Sends what the client missed, as soon as its end of the watch exists."""
        missed, opened.pending = opened.pending or [], None
        for change in missed:
            opened.tell(change)
        self._bookmarks(opened)

    def _bookmarks(self, opened: _Open) -> None:
        def bookmark() -> None:
            if opened.watch.ended:
                return
            metadata = {"resourceVersion": str(self.version)}
            opened.watch.send(_line("BOOKMARK", {"metadata": metadata}))
            later(BOOKMARK_SECONDS, bookmark)

        later(BOOKMARK_SECONDS, bookmark)

    def _object(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        if seen.method == "GET":
            key = target.plural, target.namespace, target.name
            stored = self.objects.get(key)
            if stored is not None:
                return SentReply(body=self._json(key, stored), headers=JSON)
        else:
            body = self._body(seen)
            name = target.name or body.get("metadata", {}).get("name", "")
            before = self.objects.get((target.plural, target.namespace, name))
            # An apply of what is not there creates, too.
            applies = before is None and seen.headers.get("content-type") == APPLY
            if (seen.method == "POST" or applies) and target.namespace in self.terminating:
                message = f'namespace "{target.namespace}" is being terminated'
                return failure(
                    403, f"{target.plural} {name!r} is forbidden: unable to create: {message}"
                )
            if seen.method == "DELETE" and before is not None:
                refused = self.admit(target, before, None, body)
                if refused:
                    return failure(403, f'{target.plural} "{name}" is forbidden: {refused}')
            problem = _while_deleted(before, body, seen)
            if problem:
                return failure(422, f'{target.plural} "{name}" is invalid: {problem}')
        answer = super()._object(target, seen)
        if seen.method == "DELETE" and answer.status == 200:
            kept = self.objects.get((target.plural, target.namespace, target.name))
            if kept is not None:
                # A finalizer keeps it: the server answers with the object.
                return SentReply.of({"kind": target.kind, **kept})
        return answer

    def _after(
        self, target: ApiTarget, seen: RecordedRequest, body: Object, before: Object
    ) -> Object:
        after = super()._after(target, seen, body, before)
        refused = self.admit(target, before or None, after, body)
        if refused:
            name = after.get("metadata", {}).get("name", target.name)
            raise RefusedError(403, f'{target.plural} "{name}" is forbidden: {refused}')
        return after

    def _body(self, seen: RecordedRequest) -> Any:
        """Read once: a request whose content is kept for its whole way has it in `decoded`."""
        kept = seen.__dict__
        if "decoded" not in kept:
            kept["decoded"] = msgspec.json.decode(seen.body) if seen.body else {}
        return kept["decoded"]

    def _stored_reply(self, key: Key, item: Object, *, status: int) -> SentReply:
        return SentReply(status=status, body=self._json(key, item), headers=JSON)

    # What is stored.

    def _forget(self, key: Key) -> None:
        item = self.objects[key]
        if item["metadata"].get("finalizers"):
            if "deletionTimestamp" not in item["metadata"]:
                metadata = {**item["metadata"], "deletionTimestamp": stamp(self.now())}
                self._keep(key, {**item, "metadata": metadata})
            return
        self._drop(key)

    def _drop(self, key: Key) -> None:
        self.version += 1
        before = self.objects.pop(key)
        del self.by_plural[key[0]][key]
        self._encoded.pop(key, None)
        self._sorted.pop(key[0], None)
        self._tell_all(StoredChange(self.version, key, before, None))

    def _keep(self, key: Key, item: Object) -> None:
        before = self.objects.get(key)
        self.version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self.version)}
        if before is not None and "deletionTimestamp" in before["metadata"]:
            metadata.setdefault("deletionTimestamp", before["metadata"]["deletionTimestamp"])
            if not metadata.get("finalizers"):
                self._drop(key)
                return
        item["metadata"] = metadata
        self.objects[key] = item
        self.by_plural.setdefault(key[0], {})[key] = item
        if before is None:
            self._sorted.pop(key[0], None)
        self._tell_all(StoredChange(self.version, key, before, item, self._json(key, item)))

    def _tell_all(self, change: StoredChange) -> None:
        if change.key[0] == "placementdecisions":
            self._pages = None
        self._owned.pop(change.key[0], None)
        self._named.pop((change.key[0], change.key[2]), None)
        if len(self.log) == self.log.maxlen:
            self.compacted = self.log[0].version
        self.log.append(change)
        for opened in list(self.opened):
            if opened.target.plural == change.key[0]:
                opened.tell(change)
        for listener in self.changed:
            listener(change)

    # What models and faults do.

    def of(self, plural: str, namespace: str = "") -> list[Object]:
        """The stored objects, by namespace and name."""
        kept = self.by_plural.get(plural, {})
        return [kept[key] for key in self._keys(plural, namespace)]

    def write(
        self, writer: str, plural: str, name: str, item: Object, *, namespace: str = ""
    ) -> Object:
        """Writes an object as a model or a person does.

        An object that is the same is not written.
        """
        self.writer = writer
        key = (plural, namespace, name)
        before = self.objects.get(key)
        identity = {"name": name, **({"namespace": namespace} if namespace else {})}
        identity["uid"] = (
            before["metadata"]["uid"] if before else f"{plural}-{namespace}-{name}-{self.version}"
        )
        kept = {
            k: v for k, v in item.get("metadata", {}).items() if k not in {"uid", "resourceVersion"}
        }
        fresh = {**item, "metadata": {**kept, **identity}}
        if before is not None:
            if {**before["metadata"], "resourceVersion": ""} == {
                **fresh["metadata"],
                "resourceVersion": "",
            }:
                same = {k: v for k, v in before.items() if k != "metadata"}
                if same == {k: v for k, v in fresh.items() if k != "metadata"}:
                    return before
        else:
            fresh["metadata"].setdefault("creationTimestamp", stamp(self.now()))
        self._keep(key, fresh)
        return fresh

    def erase(self, writer: str, plural: str, name: str, *, namespace: str = "") -> None:
        """Deletes an object as a model or a person does."""
        self.writer = writer
        if (plural, namespace, name) in self.objects:
            self._forget((plural, namespace, name))

    def backup(self) -> dict[Key, Object]:
        return dict(self.objects)

    def restore(self, objects: Mapping[Key, Object]) -> None:
        """etcd is restored from a backup, with versions that go on (`--bump-revision
        --mark-compacted`).
        """
        self.writer = "etcd"
        self.version += 1_000_000
        self.log.clear()
        self.compacted = self.version
        gone = self.objects
        self.objects = dict(objects)
        self.by_plural = {}
        self._sorted.clear()
        self._encoded.clear()
        self._pages = None
        self._owned.clear()
        self._named.clear()
        for key, item in self.objects.items():
            self.by_plural.setdefault(key[0], {})[key] = item
        for opened in list(self.opened):
            opened.watch.end(broken=True)
        for key in sorted(gone.keys() | self.objects.keys()):
            if gone.get(key) is not self.objects.get(key):
                after = self.objects.get(key)
                encoded = b"null" if after is None else self._json(key, after)
                change = StoredChange(self.version, key, gone.get(key), after, encoded)
                for listener in self.changed:
                    listener(change)


def _while_deleted(before: Object | None, body: Object, seen: RecordedRequest) -> str:
    """Why an object that is being deleted cannot be changed so; empty if it can."""
    if before is None or "deletionTimestamp" not in before["metadata"] or seen.method == "DELETE":
        return ""
    added = set((body.get("metadata") or {}).get("finalizers") or ()) - set(
        before["metadata"].get("finalizers") or ()
    )
    if not added:
        return ""
    return (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is"
        " being deleted"
    )


def _line(kind: str, item: Object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"


def _end_with(watch: OpenWatch, line: bytes) -> None:
    watch.send(line)
    watch.end()


def stamp(moment: float) -> str:
    """A time as objects have it."""
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
