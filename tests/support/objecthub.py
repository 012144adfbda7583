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
HANG: Object = {"type": "HANG"}
"""Of a watch: nothing more is said."""


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
        self.token = ""
        """The only one that is accepted; empty means any."""
        self.page = 0
        """Objects of one answer to a list; 0 means all."""
        self.instead_of_lists = b""
        """What somebody between us and the hub says."""
        self.watches: list[list[Object | None]] | None = None
        """Events of the next watches; the later ones hang. None instead of an event breaks the connection in
        the middle of a line. Without a list, a watch ends after a bookmark.
        """
        self.writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self.writers:
            writer.close()

    def api(self, *, claim: FixedClaim | None = None, token: Callable[[], str] = lambda: "any") -> HubApi:
        """A client of this server. By default its replica has led for a long time."""
        return HubApi(
            load=lambda: self.access(token()), left=(claim or FixedClaim()).left, timeout_seconds=20
        )

    def access(self, token: str = "any") -> Access:  # noqa: S107 - of nobody
        """The way to this server."""
        trust = ssl.create_default_context()
        return Access(host=self.url, trust=trust, authorization=f"Bearer {token}", proxy=None)

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
        self.writers.append(writer)
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
        answer: Object | bytes
        if self.token and fields.get("authorization") != f"bearer {self.token}":
            status, answer = 401, {"message": "Unauthorized"}
        else:
            status, answer = self._answer(method, target, json.loads(body) if body else {})
        if self.gate is not None:
            await self.gate.wait()
        if status == 200 and self.watches is not None and "watch=1" in target:
            await self._watch(writer, self.watches.pop(0) if self.watches else [HANG])
            return False
        if status:
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            date = f"Date: {formatdate(self.clock(), usegmt=True)}\r\n" if self.clock else ""
            writer.write(
                f"HTTP/1.1 {status} X\r\n{date}Content-Length: {len(content)}\r\n\r\n".encode() + content
            )
            await writer.drain()
        return bool(status)

    @staticmethod
    async def _watch(writer: asyncio.StreamWriter, events: list[Object | None]) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in events:
            if event is None:
                writer.write(b'5\r\n{"typ\r\n')
                return
            if event is HANG:
                await writer.drain()
                await asyncio.sleep(30)
                return
            line = json.dumps(event, ensure_ascii=False).encode() + b"\n"
            for piece in (line[:7], line[7:]):
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        writer.write(b"0\r\n\r\n")

    def _answer(self, method: str, target: str, body: Object) -> tuple[int, Object | bytes]:
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
            return 200, self.instead_of_lists or self._list(plural, namespace, parse_qs(parts.query))
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
        metadata = {"resourceVersion": str(self.version)}
        if self.page:
            start = int(query.get("continue", ["0"])[0])
            metadata |= {"continue": str(start + self.page)} if len(items) > start + self.page else {}
            items = items[start : start + self.page]
        return {"metadata": metadata, "items": items}


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
