"""An HTTP server with objects and the rules of an API server that matter to writers: versions, preconditions,
refusals.
"""

import asyncio
import contextlib
import copy
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from dsf_runtime.access import Access
from gitops_dsf.reconciler.hub.api import HubApi
from tests.support import virtual_time

Object = dict[str, Any]
Key = tuple[str, str, str]
"""Plural, namespace, name."""


@dataclass(kw_only=True)
class FixedClaim:
    """The remaining time of a lease, which the test sets."""

    seconds: float = 1000.0

    def left(self) -> float:
        return self.seconds


class ObjectHub:
    """`refusals["PUT configmaps"]` (or with a name, as in `asked`) has the statuses of the next such
    requests; 0 means no answer.
    """

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.version = 100
        self.asked: list[str] = []
        """`METHOD plural/name` of every request."""
        self.refusals: dict[str, list[int]] = {}
        self.between: Callable[[str], None] = lambda _: None
        """Called with the same key before a request is answered, to simulate another writer."""
        self.arrives: Callable[[str], Awaitable[None]] | None = None
        """Awaited with the same key when a request has arrived. While it waits, the request has had no
        effect.
        """
        self.gate: asyncio.Event | None = None
        """Every answer waits for this event."""
        self.clock: Callable[[], float] | None = virtual_time.wall
        """The Date header; None means no header."""
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    def api(self, *, claim: FixedClaim | None = None) -> HubApi:
        """A client of this server. By default its replica has led for a long time."""
        return HubApi(load=self.access, left=(claim or FixedClaim()).left, timeout_seconds=20)

    def access(self) -> Access:
        """The way to this server, with any token."""
        return Access(
            host=self.url, trust=ssl.create_default_context(), authorization="Bearer any", proxy=None
        )

    def put(self, plural: str, name: str, *, namespace: str = "", **fields: Any) -> Object:
        """Writes an object as another client. Labels and similar arguments go into metadata."""
        self.version += 1
        metadata = {
            "name": name,
            "resourceVersion": str(self.version),
            "uid": f"{plural}-{name}-{namespace}-{self.version}",
        }
        metadata |= {"namespace": namespace} if namespace else {}
        metadata |= fields.pop("metadata", {})
        item = {"metadata": metadata, **fields}
        self.objects[plural, namespace, name] = item
        return item

    def get(self, plural: str, name: str, *, namespace: str = "") -> Object | None:
        return self.objects.get((plural, namespace, name))

    def events(self, reason: str) -> list[str]:
        """Messages in the order of writing."""
        return [
            item["message"]
            for (plural, _, _), item in self.objects.items()
            if plural == "events" and item["reason"] == reason
        ]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request. Returns whether it was answered."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n")[0].split(" ")
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        if self.arrives is not None:
            await self.arrives(f"{method} {_split(urlsplit(target).path)[0]}")
        status, answer = self._answer(method, target, json.loads(body) if body else {})
        if self.gate is not None:
            await self.gate.wait()
        if status:
            content = json.dumps(answer).encode()
            date = f"Date: {formatdate(self.clock(), usegmt=True)}\r\n" if self.clock else ""
            writer.write(
                f"HTTP/1.1 {status} X\r\n{date}Content-Length: {len(content)}\r\n\r\n".encode() + content
            )
            await writer.drain()
        return bool(status)

    def _answer(self, method: str, target: str, body: Object) -> tuple[int, Object]:
        parts = urlsplit(target)
        method = "WATCH" if "watch=1" in parts.query else method
        plural, namespace, name = _split(parts.path)
        word = f"{method} {plural}"
        self.asked.append(f"{word}/{name}" if name else word)
        self.between(word)
        for refused in (word, self.asked[-1]):
            if self.refusals.get(refused):
                return self.refusals[refused].pop(0), {"message": "refused by the test"}
        if method == "WATCH":
            return 200, {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.version)}}}
        if method == "GET" and not name:
            return 200, self._list(plural, namespace, parse_qs(parts.query))
        key = (plural, namespace, name or body.get("metadata", {}).get("name", ""))
        before = self.objects.get(key)
        if method == "POST":
            return (409, {"message": "exists"}) if before else (201, self._store(key, body))
        if before is None:
            return 404, {"message": "not found"}
        if method == "GET":
            return 200, before
        wanted = body.get("preconditions", {}) if method == "DELETE" else body.get("metadata", {})
        if any(
            wanted[field] != before["metadata"][field]
            for field in ("uid", "resourceVersion")
            if field in wanted
        ):
            if (
                method == "PATCH"
                and wanted.get("uid", before["metadata"]["uid"]) != before["metadata"]["uid"]
            ):
                return 422, {"message": "metadata.uid: Invalid value: field is immutable"}
            return 409, {"message": "changed"}
        if method == "DELETE":
            del self.objects[key]
            return 200, {}
        after = body if method == "PUT" else merged(before, body)
        return 200, before if method == "PATCH" and after == before else self._store(key, after)

    def _store(self, key: Key, item: Object) -> Object:
        self.version += 1
        stored = copy.deepcopy(item)
        stored["metadata"] = {
            "uid": f"{'-'.join(key)}-{self.version}",
            **item["metadata"],
            "resourceVersion": str(self.version),
        }
        self.objects[key] = stored
        return stored

    def _list(self, plural: str, namespace: str, query: dict[str, list[str]]) -> Object:
        only = query.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
        items = [
            item
            for (kind, place, name), item in self.objects.items()
            if kind == plural and namespace in {"", place} and only in {"", name}
        ]
        return {"metadata": {"resourceVersion": str(self.version)}, "items": items}


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


def _split(path: str) -> Key:
    words = path.strip("/").split("/")
    words = words[2:] if words[0] == "api" else words[3:]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    return words[0], namespace, words[1] if len(words) > 1 else ""
