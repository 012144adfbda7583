"""The API server of a managed cluster on 127.0.0.1, as far as nodes, pods and metrics.k8s.io go: lists in
pages, watches that last, field selectors and refused requests.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.support.agent.clusterobjects import Object
from tests.support.agent.hub import TOKEN

PAGE = 2
COMPLETED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class _Watch:
    resource: str
    writer: asyncio.StreamWriter


class ClusterFake:
    """``put`` and ``delete`` change objects and tell the watches."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Object]] = {"nodes": {}, "pods": {}}
        self.usage: dict[str, dict[str, str]] | None = None
        """Usage by node; None if metrics.k8s.io is not served."""
        self.refused: dict[str, int] = {}
        """Status by resource, for lists and new watches; ``usage`` is a resource, too."""
        self.list_seconds = 0.0
        self.asked: list[str] = []
        """``list pods``, ``watch nodes`` and so on, in order."""
        self.selectors: set[str] = set()
        self.url = ""
        self._version = 100
        self._watches: list[_Watch] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def put(self, *items: Object) -> None:
        """Adds or replaces objects."""
        for item in items:
            self._change(item, gone=False)

    def delete(self, item: Object) -> None:
        self._change(item, gone=True)

    def end_watches(self, *, code: int = 410) -> None:
        """Ends all watches with an ERROR event, as when the server has forgotten the version."""
        status = {"kind": "Status", "code": code, "message": "too old resource version"}
        for watch in self._watches:
            self._send(watch, {"type": "ERROR", "object": status})
            watch.writer.write(b"0\r\n\r\n")
        self._watches.clear()

    def go_away(self) -> None:
        """Closes all connections, and accepts no new ones."""
        self._server.close()
        for task in self._tasks:
            task.cancel()

    async def come_back(self) -> None:
        """Serves at the same address again."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", int(self.url.rpartition(":")[2]))

    @property
    def watching(self) -> list[str]:
        """The resources with an open watch."""
        return sorted(watch.resource for watch in self._watches if not watch.writer.is_closing())

    def _change(self, item: Object, *, gone: bool) -> None:
        self._version += 1
        metadata = item["metadata"]
        metadata["resourceVersion"] = str(self._version)
        resource = f"{item['kind'].lower()}s"
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        before = self.items[resource].get(key)
        if gone:
            self.items[resource].pop(key)
        else:
            self.items[resource][key] = item
        shown_before = before is not None and _running(before)
        shown = not gone and _running(item)
        if shown or shown_before:
            kind = "DELETED" if not shown else "MODIFIED" if shown_before else "ADDED"
            for watch in self._watches:
                if watch.resource == resource:
                    self._send(watch, {"type": kind, "object": item})

    def _send(self, watch: _Watch, event: Object) -> None:
        line = json.dumps(event).encode() + b"\n"
        with suppress(ConnectionError):
            watch.writer.write(b"%x\r\n%b\r\n" % (len(line), line))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            self._watches = [watch for watch in self._watches if watch.writer is not writer]
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = urlsplit(head.split(" ", 2)[1])
        query = {name: values[-1] for name, values in parse_qs(target.query).items()}
        resource = "usage" if "metrics.k8s.io" in target.path else target.path.rpartition("/")[2]
        verb = "watch" if "watch" in query else "list"
        self.asked.append(f"{verb} {resource}")
        self.selectors.add(query.get("fieldSelector", ""))
        if f"authorization: bearer {TOKEN}" not in head.lower():
            return _say(writer, 401, {"message": "Unauthorized"})
        if resource in self.refused:
            message = f'{resource} is forbidden: User "agent" cannot {verb} resource "{resource}"'
            return _say(writer, self.refused[resource], {"message": message})
        if verb == "watch":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            self._watches.append(_Watch(resource, writer))
            await reader.read()
            return False
        await asyncio.sleep(self.list_seconds)
        if resource == "usage":
            if self.usage is None:
                return _say(writer, 404, {"message": "the server could not find the requested resource"})
            items = [{"metadata": {"name": name}, "usage": found} for name, found in self.usage.items()]
            return _say(writer, 200, {"kind": "NodeMetricsList", "metadata": {}, "items": items})
        found = [item for _, item in sorted(self.items[resource].items()) if _running(item)]
        start = int(query.get("continue", "0"))
        more = {"continue": str(start + PAGE)} if start + PAGE < len(found) else {}
        metadata = {"resourceVersion": str(self._version), **more}
        return _say(writer, 200, {"metadata": metadata, "items": found[start : start + PAGE]})


def _running(item: Object) -> bool:
    return item["kind"] != "Pod" or item["status"].get("phase") not in COMPLETED


def _say(writer: asyncio.StreamWriter, status: int, content: Object) -> bool:
    body = json.dumps(content).encode()
    writer.write(b"HTTP/1.1 %d Whatever\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
    return True
