"""The API server of tests, on 127.0.0.1.

Lists in pages, watches, writes with preconditions, server-side apply, discovery, and faults that a
test injects.

tests/hub/test_api_server.py checks it against a real API server.
"""

import asyncio
import copy
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import msgspec
import yaml

from tests.support import virtual_time
from tests.support.agent import scorewrites
from tests.support.agent.http import (
    Answer,
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    Stream,
    chunk,
)

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Plural, namespace, name."""
TOKEN: Final = "good"
HANG: Final[Object] = {"type": "HANG"}
"""Of a watch: nothing more is said."""
SCORES: Final = "addonplacementscores"
LOGGED: Final = 1000
"""Changes that a watch can begin with."""
BOOKMARK_SECONDS: Final = 60.0
"""As kube-apiserver, about (staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go, v0.37.2)."""
SET_BY_SERVER: Final = ("uid", "resourceVersion")
APPLY: Final = "application/apply-patch+yaml"
QUALIFIED: Final = {"metrics.k8s.io"}
"""Groups whose plurals are also those of another group: `nodes.metrics.k8s.io`."""
KINDS: Final = {
    "/api/v1/configmaps": "ConfigMap",
    "/api/v1/pods": "Pod",
    "/api/v1/services": "Service",
    "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons": "ClusterManagementAddOn",  # noqa: E501
    "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons": "ManagedClusterAddOn",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": "ValidatingAdmissionPolicy",  # noqa: E501
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": (
        "ValidatingAdmissionPolicyBinding"
    ),
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": "CustomResourceDefinition",
    "/apis/apps/v1/deployments": "Deployment",
    "/apis/apps/v1/statefulsets": "StatefulSet",
    "/apis/argoproj.io/v1alpha1/applications": "Application",
    "/apis/argoproj.io/v1alpha1/applicationsets": "ApplicationSet",
    "/apis/argoproj.io/v1alpha1/appprojects": "AppProject",
    "/apis/cluster.open-cluster-management.io/v1alpha1/addonplacementscores": "AddOnPlacementScore",
    "/apis/cluster.open-cluster-management.io/v1/managedclusters": "ManagedCluster",
    "/apis/cluster.open-cluster-management.io/v1beta1/placements": "Placement",
    "/apis/coordination.k8s.io/v1/leases": "Lease",
    "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs": "MultiKueueConfig",
    "/apis/work.open-cluster-management.io/v1/manifestworks": "ManifestWork",
}
CLUSTER_SCOPED: Final = {
    "ClusterManagementAddOn",
    "CustomResourceDefinition",
    "ManagedCluster",
    "MultiKueueConfig",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


@dataclass(frozen=True, kw_only=True)
class ApiTarget:
    """What a path names."""

    collection: str
    """Without a namespace, such as `/apis/apps/v1/deployments`."""
    plural: str
    namespace: str
    name: str
    sub: str

    @classmethod
    @lru_cache(maxsize=10_000)
    def of(cls, path: str) -> Self:
        words = path.strip("/").split("/")
        base, rest = (words[:2], words[2:]) if words[0] == "api" else (words[:3], words[3:])
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        # The path of a group, which discovery asks for, names no collection.
        plural, name, sub = [*rest, "", "", ""][:3]
        return cls(
            collection="/" + "/".join([*base, plural]),
            plural=f"{plural}.{base[1]}" if base[1] in QUALIFIED else plural,
            namespace=namespace,
            name=name,
            sub=sub,
        )

    @property
    def kind(self) -> str:
        return KINDS.get(self.collection, self.plural)


class _Change(NamedTuple):
    """One write. `after` is None for a deletion."""

    version: int
    plural: str
    before: Object | None
    after: Object | None


@dataclass(frozen=True, kw_only=True)
class _Watch:
    plural: str
    selector: str
    pieces: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)

    def tell(self, event: Object) -> None:
        self.pieces.put_nowait(chunk(_line(event)))

    def tell_change(self, change: _Change) -> None:
        """Tells of a change of its resource, if its selector has the object before or after it."""
        if change.plural != self.plural:
            return
        event = event_of(change.before, change.after, self.selector)
        if event:
            item = change.after
            if item is None and change.before is not None:
                item = at_version(change.before, change.version)
            self.tell({"type": event, "object": item})


class FakeApiServer(HttpFake):
    """`async with FakeApiServer() as server: server.url`; `served` is for commands, which block.

    Without ``serves`` it has every API. With it, it serves these collections, such as
    `/apis/apps/v1/deployments`, with their objects, and tells so in its discovery.
    """

    def __init__(
        self,
        *,
        serves: Mapping[str, list[Object]] | None = None,
        token: str = TOKEN,
        namespaces: tuple[str, ...] | None = None,
        page: int = 0,
        live: bool = False,
        **transport: Any,
    ) -> None:
        super().__init__(self.answer, **transport)
        self.objects: dict[Key, Object] = {}
        self.version = 100
        self.address = ""
        """Its URL while it is in memory for commands."""
        self.served: set[str] = set()
        self.limited = serves is not None
        """To the collections in `served`."""
        self.namespaces = None if namespaces is None else set(namespaces)
        """Those in which objects can be created; None means any."""
        self.token = token
        """The only one that is accepted; empty means any."""
        self.page = page
        """Objects of one answer to a list; 0 means all."""
        self.live = live
        """Watches tell changes and last. Otherwise they tell what is in `watches`."""
        self.watches: list[list[Object | None]] | None = None
        """Events of the next watches; the later ones hang. None instead of an event breaks the
        connection in the middle of a line. Without a list, a watch ends after a bookmark.
        """
        self.clock: Callable[[], float] | None = virtual_time.wall
        """The Date header; None means no header."""
        self.ahead = 0.0
        """How many seconds the clock is ahead."""

        self.asked: list[str] = []
        """`METHOD plural/name` of every request that was let in."""
        self.writes: list[str] = []
        """`METHOD Kind name` of every write that changed something, with `/status` where it was of
        that.
        """
        self.bodies: dict[str, Object] = {}
        """The body of the last write by its key in `writes`."""

        self.before: Callable[[RecordedRequest], SentReply | PeerFault | None] = lambda _seen: None
        """May answer or fail any request first."""
        self.arrives: Callable[[str], Awaitable[None]] | None = None
        """Awaited with `METHOD plural` when a request has arrived, before it has had an effect."""
        self.between: Callable[[str], None] = lambda _: None
        """Called with the same key before a request is answered, to simulate another writer."""
        self.gate: asyncio.Event | None = None
        """Every answer waits for this event."""
        self.refusals: dict[str, list[int]] = {}
        """`refusals["PUT configmaps"]` (or with a name, as in `asked`) has the statuses of the next
        such requests; 0 means no answer.
        """
        self.refused: dict[str, int] = {}
        """The status of every request by collection, plural, or as in `writes`."""
        self.expired = 0
        """Continue tokens that are answered with 410 Gone."""
        self.stuck: set[str] = set()
        """Kinds whose objects stay after their deletion, as with a finalizer."""
        self.instead_of_lists = b""
        """What somebody between us and the hub says."""
        self.instead_of_objects = b""
        """The same, for each object that is read by name."""
        self._watching: list[_Watch] = []
        self._log = deque[_Change](maxlen=LOGGED)
        for collection, items in (serves or {}).items():
            self.serve(collection, *items)

    @property
    def url(self) -> str:
        return self.address or super().url

    def serve(self, collection: str, *items: Object) -> None:
        """From now on this collection, with these objects."""
        self.limited = True
        self.served.add(collection)
        plural = ApiTarget.of(collection).plural
        self.objects = {key: item for key, item in self.objects.items() if key[0] != plural}
        for item in items:
            meta = item["metadata"]
            self.objects[plural, meta.get("namespace", ""), meta["name"]] = item

    def items(self, collection: str) -> list[Object]:
        """The objects of a collection."""
        plural = ApiTarget.of(collection).plural
        return [item for key, item in self.objects.items() if key[0] == plural]

    def put(self, plural: str, name: str, *, namespace: str = "", **fields: Any) -> Object:
        """Writes an object as another client. Labels and similar arguments go into metadata."""
        metadata = {"name": name, "uid": f"{plural}-{name}-{namespace}-{self.version + 1}"}
        metadata |= {"namespace": namespace} if namespace else {}
        metadata |= fields.pop("metadata", {})
        item = {"metadata": metadata, **fields}
        self._keep((plural, namespace, name), item)
        return item

    def add(self, *items: Object) -> None:
        """Writes objects with a kind as another client."""
        for item in items:
            self._keep(_key(item), item)

    def get(self, plural: str, name: str, *, namespace: str = "") -> Object | None:
        return self.objects.get((plural, namespace, name))

    def remove(self, item: Object) -> None:
        """Deletes an object with a kind as another client."""
        self._forget(_key(item))

    @property
    def watching(self) -> list[str]:
        """The resources with an open watch."""
        return sorted(watch.plural for watch in self._watching)

    @property
    def requests(self) -> list[str]:
        """The target of every request."""
        return [seen.target for seen in self.seen]

    def tell_watches(self, plural: str, event: Object) -> None:
        """Ends open watches of a resource with this event."""
        for watch in [watch for watch in self._watching if watch.plural == plural]:
            watch.tell(event)
            watch.pieces.put_nowait(b"")

    def now(self) -> float:
        return virtual_time.wall() + self.ahead

    def kubeconfig(self, path: Path) -> Path:
        return kubeconfig(path, server=self.url, token=self.token)

    def answer(self, seen: RecordedRequest) -> Answer | Awaitable[Answer]:
        """Answers at once, unless the test makes it wait."""
        if self.arrives is not None:
            return self._answer_late(seen, self.arrives)
        answer = self.answered(seen)
        return self._dated(answer) if self.gate is None else self._after_gate(answer, self.gate)

    async def _answer_late(
        self, seen: RecordedRequest, arrives: Callable[[str], Awaitable[None]]
    ) -> Answer:
        await arrives(f"{seen.method} {ApiTarget.of(seen.path).plural}")
        answer = self.answered(seen)
        return (
            self._dated(answer) if self.gate is None else await self._after_gate(answer, self.gate)
        )

    async def _after_gate(self, answer: Answer, gate: asyncio.Event) -> Answer:
        await gate.wait()
        return self._dated(answer)

    def _dated(self, answer: Answer) -> Answer:
        """The answer with a Date header, unless the test wants none."""
        if self.clock is None:
            return answer
        date = _http_date(int(self.clock() + self.ahead))
        if isinstance(answer, SentReply):
            headers = {"Date": date, **answer.headers}
            return SentReply(status=answer.status, body=answer.body, headers=headers)
        if isinstance(answer, Stream):
            status, _, rest = answer.head.partition(b"\r\n")
            return replace(answer, head=b"%b\r\nDate: %b\r\n%b" % (status, date.encode(), rest))
        return answer

    def answered(self, seen: RecordedRequest) -> SentReply | PeerFault | Stream:
        """The answer at once, for callers without a connection."""
        first = self.before(seen)
        if first is not None:
            return first
        if self.token and seen.headers.get("authorization") != f"Bearer {self.token}":
            return failure(401, "Unauthorized")
        words = seen.path.strip("/").split("/")
        if len(words) <= (2 if words[0] == "api" else 3):
            return self._discovery(words)
        target = ApiTarget.of(seen.path)
        method = "WATCH" if "watch" in seen.query else seen.method
        word = f"{method} {target.plural}"
        self.asked.append(f"{word}/{target.name}" if target.name else word)
        self.between(word)
        refused = self._refusal(method, target, self.asked[-1])
        if refused is not None:
            return refused
        if self.limited and target.collection not in self.served:
            return failure(404, f"the server could not find {seen.path}")
        match method:
            case "WATCH":
                return self._watch(target, seen)
            case "GET" if not target.name:
                return self._list(target, seen)
            case "GET" if self.instead_of_objects:
                return SentReply(body=self.instead_of_objects)
        return self._object(target, seen)

    def _refusal(self, method: str, target: ApiTarget, asked: str) -> SentReply | PeerFault | None:
        for key in (f"{method} {target.plural}", asked):
            if self.refusals.get(key):
                status = self.refusals[key].pop(0)
                return failure(status, "refused by the test") if status else PeerFault()
        for key in (target.collection, target.plural, f"{method} {target.kind} {target.name}"):
            if key in self.refused:
                verb = {"GET": "list", "WATCH": "watch"}.get(method, "patch")
                message = (
                    f'{key} is forbidden: User "agent" cannot {verb} resource "{target.plural}"'
                )
                return failure(self.refused[key], message)
        return None

    def _discovery(self, words: list[str]) -> SentReply:
        base = "/" + "/".join(words)
        served = sorted(self.served)
        if base != "/apis":
            found = [path for path in served if path.rpartition("/")[0] == base and path in KINDS]
            resources = [
                {
                    "name": path.rpartition("/")[2],
                    "kind": KINDS[path],
                    "namespaced": KINDS[path] not in CLUSTER_SCOPED,
                }
                for path in found
            ]
            return SentReply.of({"kind": "APIResourceList", "resources": resources})
        groups: dict[str, set[str]] = {}
        for path in served:
            head, *rest = path.strip("/").split("/")
            if head == "apis":
                groups.setdefault(rest[0], set()).add(rest[1])
        return SentReply.of(
            {
                "groups": [
                    {"name": name, "versions": [{"version": one} for one in sorted(versions)]}
                    for name, versions in groups.items()
                ]
            }
        )

    def _list(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        if self.instead_of_lists:
            return SentReply(body=self.instead_of_lists)
        query = seen.query
        if self.expired and "continue" in query:
            self.expired -= 1
            return failure(410, "the continue token is too old")
        listed = {
            key: item
            for key, item in self.objects.items()
            if key[0] == target.plural and target.namespace in {"", key[1]}
        }
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        found = [
            item
            for _, item in sorted(listed.items(), key=lambda pair: pair[0])
            if _labelled(item, labels) and _selected(item, fields)
        ]
        accept = seen.headers.get("accept", "")
        if "as=Table" in accept:
            rows = [{"cells": [item["metadata"]["name"], "2026-01-01T00:00:00Z"]} for item in found]
            return SentReply.of({"kind": "Table", "rows": rows})
        sizes = [size for size in (self.page, int(query.get("limit", "0"))) if size]
        start = int(query.get("continue", "0"))
        end = start + min(sizes, default=len(found))
        more = {"continue": str(end)} if end < len(found) else {}
        shown = found[start:end]
        if "as=PartialObjectMetadataList" in accept:
            shown = [{"metadata": item["metadata"]} for item in shown]
        metadata = {"resourceVersion": str(self.version), **more}
        return SentReply.of({"kind": f"{target.kind}List", "metadata": metadata, "items": shown})

    def _watch(self, target: ApiTarget, seen: RecordedRequest) -> SentReply | Stream:
        if self.live:
            watch = _Watch(plural=target.plural, selector=seen.query.get("fieldSelector", ""))
            # What changed between the list and the watch comes first.
            since = int(seen.query.get("resourceVersion") or self.version)
            for change in self._log:
                if change.version > since:
                    watch.tell_change(change)
            self._watching.append(watch)
            return Stream(pieces=self._changes(watch))
        if self.watches is not None:
            return Stream(pieces=_told(self.watches.pop(0) if self.watches else [HANG]))
        return SentReply.of(
            {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}}
        )

    async def _changes(self, watch: _Watch) -> AsyncIterator[bytes]:
        try:
            while (piece := await self._next_piece(watch)) != b"":
                yield piece
            yield chunk(b"")
        finally:
            self._watching.remove(watch)

    async def _next_piece(self, watch: _Watch) -> bytes:
        """The next event, or a bookmark after a minute without one.

        A client takes a longer silence for a broken connection.
        """
        try:
            async with asyncio.timeout(BOOKMARK_SECONDS):
                return await watch.pieces.get()
        except TimeoutError:
            metadata = {"resourceVersion": str(self.version)}
            return chunk(_line({"type": "BOOKMARK", "object": {"metadata": metadata}}))

    def _object(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        """Reads or writes one object."""
        body = self._body(seen)
        key = (
            target.plural,
            target.namespace,
            target.name or body.get("metadata", {}).get("name", ""),
        )
        before = self.objects.get(key)
        if seen.method == "GET":
            return _missing(target) if before is None else SentReply.of(before)
        applies = seen.headers.get("content-type") == APPLY and not target.sub
        if seen.method == "POST":
            if self.namespaces is not None and target.namespace not in self.namespaces:
                return failure(404, f'namespaces "{target.namespace}" not found')
            if before is not None:
                return failure(409, f'{target.plural} "{key[2]}" already exists')
        elif before is None and not applies:
            return _missing(target)
        elif before is not None:
            changed = _precondition(seen.method, body, before)
            if changed is not None:
                return changed
        dry = "dryRun" in seen.query or "dryRun" in body
        word = f"{seen.method} {target.kind} {key[2]}{'/' if target.sub else ''}{target.sub}"
        if seen.method == "DELETE":
            if not dry:
                self._note(word, body)
                if target.kind not in self.stuck:
                    self._forget(key)
            return SentReply.of({"kind": "Status", "status": "Success"})
        try:
            after = self._after(target, seen, body, before or {})
        except scorewrites.RefusedError as error:
            return failure(error.status, str(error))
        if dry or (before is not None and after == before):
            return SentReply.of(after)
        self._note(word, body)
        stored = self._store(key, after)
        return self._stored_reply(key, stored, status=200 if before is not None else 201)

    def _body(self, seen: RecordedRequest) -> Any:
        """The content of a request."""
        return msgspec.json.decode(seen.body) if seen.body else {}

    def _stored_reply(self, key: Key, item: Object, *, status: int) -> SentReply:  # noqa: ARG002 - see the world
        """The answer to a write: the object as it is stored now."""
        return SentReply.of(item, status=status)

    def _after(
        self, target: ApiTarget, seen: RecordedRequest, body: Object, before: Object
    ) -> Object:
        """What is stored after a write."""
        merges = seen.headers.get("content-type") == "application/merge-patch+json"
        if target.plural == SCORES and not merges:
            return scorewrites.written(seen, before, sub=target.sub, now=self.now())
        if seen.method == "PATCH":
            whole: Object = merged(copy.deepcopy(before), body)
            return whole
        given = {
            key: value for key, value in before.get("metadata", {}).items() if key in SET_BY_SERVER
        }
        return {**body, "metadata": given | body.get("metadata", {})}

    def _note(self, word: str, body: Object) -> None:
        self.writes.append(word)
        self.bodies[word] = body

    def _store(self, key: Key, item: Object) -> Object:
        before = self.objects.get(key, {"metadata": {}})["metadata"]
        fresh = {"uid": before.get("uid", f"{'-'.join(key)}-{self.version + 1}")}
        item["metadata"] = fresh | item.get("metadata", {})
        self._keep(key, item)
        return item

    def _keep(self, key: Key, item: Object) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        before = self.objects.get(key)
        self.objects[key] = item
        self._tell(key[0], before, item)

    def _forget(self, key: Key) -> None:
        self.version += 1
        self._tell(key[0], self.objects.pop(key), None)

    def _tell(self, plural: str, before: Object | None, after: Object | None) -> None:
        change = _Change(self.version, plural, before, after)
        self._log.append(change)
        for watch in self._watching:
            watch.tell_change(change)


def event_of(before: Object | None, after: Object | None, selector: str) -> str:
    """What a watch with this field selector calls a change; empty if it is not told."""
    was = before is not None and _selected(before, selector)
    shown = after is not None and _selected(after, selector)
    if not shown:
        return "DELETED" if was else ""
    return "MODIFIED" if was else "ADDED"


def at_version(item: Object, version: int) -> Object:
    """The object of the event that it was deleted: with the version of the deletion."""
    return {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}


@lru_cache(maxsize=16)
def _http_date(seconds: int) -> str:
    """Of Unix time. Most answers of a test are of the same few seconds."""
    return formatdate(seconds, usegmt=True)


def failure(status: int, message: str) -> SentReply:
    return SentReply.of(
        {"kind": "Status", "status": "Failure", "message": message, "code": status}, status=status
    )


def merged(value: Any, change: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(change, dict):
        return change
    result = dict(value) if isinstance(value, dict) else {}
    for key, item in change.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), item)
    return result


def kubeconfig(path: Path, *, server: str, token: str = TOKEN, **cluster: Any) -> Path:
    """A kubeconfig file with a token."""
    plain = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "agent", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(plain))
    return path


def _precondition(method: str, body: Object, before: Object) -> SentReply | None:
    """The answer where the writer means another object or version."""
    wanted = body.get("preconditions", {}) if method == "DELETE" else {}
    if method != "DELETE" and isinstance(body, dict):
        wanted = body.get("metadata", {})
    stored = before["metadata"]
    if not any(wanted[key] != stored.get(key) for key in SET_BY_SERVER if key in wanted):
        return None
    if method == "PATCH" and wanted.get("uid", stored.get("uid")) != stored.get("uid"):
        return failure(422, "metadata.uid: Invalid value: field is immutable")
    return failure(409, "the object has been modified")


def _key(item: Object) -> Key:
    metadata = item["metadata"]
    return f"{item['kind'].lower()}s", metadata.get("namespace", ""), metadata["name"]


def _missing(target: ApiTarget) -> SentReply:
    group = target.collection.split("/")[2] if target.collection.startswith("/apis/") else ""
    return failure(404, f'{target.plural}{"." if group else ""}{group} "{target.name}" not found')


def _labelled(item: Object, selector: str) -> bool:
    """Whether labels fulfil requirements such as ``a``, ``a=b`` and ``a!=b``."""
    labels = item["metadata"].get("labels") or {}
    for requirement in filter(None, selector.split(",")):
        name, equals, value = requirement.partition("=")
        if name.endswith("!"):
            if labels.get(name[:-1]) == value:
                return False
        elif name not in labels or (equals and labels[name] != value):
            return False
    return True


def _selected(item: Object, selector: str) -> bool:
    """Whether fields fulfil requirements such as ``metadata.name=a`` and
    ``status.phase!=Failed``.
    """
    for requirement in filter(None, selector.split(",")):
        path, _, value = requirement.partition("=")
        found: Any = item
        for part in path.removesuffix("!").split("."):
            found = (found or {}).get(part)
        if (found == value) is path.endswith("!"):
            return False
    return True


async def _told(events: list[Object | None]) -> AsyncIterator[bytes]:
    """The events of a watch that a test wrote, each in two chunks."""
    for event in events:
        if event is None:
            yield b'5\r\n{"typ\r\n'
            return
        if event is HANG:
            await asyncio.sleep(30)
            return
        line = _line(event)
        yield chunk(line[:7]) + chunk(line[7:])
    yield chunk(b"")


def _line(event: Object) -> bytes:
    return msgspec.json.encode(event) + b"\n"
