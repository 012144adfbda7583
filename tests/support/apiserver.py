"""An API server on 127.0.0.1 for readers: discovery, pages, selectors, metadata only, and refused requests.
tests/hub tests real API servers. This one is for hubs that are large, partly forbidden, or not reachable for
a moment.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.support.threadserver import Handler, ThreadServer

TOKEN = "test-token"
Object = dict[str, Any]


@dataclass
class ApiServer:
    """Objects by collection path without namespaces, such as `/apis/apps/v1/deployments`. A missing path is a
    404.
    """

    objects: dict[str, list[Object]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Status by collection path, for every request on it."""
    page: int = 500
    ahead: float = 0.0
    """How many seconds its clock is ahead."""
    away: bool = False
    expired: int = 0
    """Continue tokens that are answered with 410 Gone."""
    requests: list[str] = field(default_factory=list)
    accepted: dict[str, set[str]] = field(default_factory=dict)
    """Accept headers by collection path."""
    url: str = ""

    def answer(self, target: str, accept: str, authorization: str | None) -> tuple[int, Object]:
        self.requests.append(target)
        parts = urlsplit(target)
        query = {key: value[0] for key, value in parse_qs(parts.query).items()}
        if authorization != f"Bearer {TOKEN}":
            return 401, {"kind": "Status"}
        if parts.path == "/apis":
            return 200, self._groups()
        if len(parts.path.strip("/").split("/")) == (2 if parts.path.startswith("/api/") else 3):
            return 200, {"resources": []}  # tests.support.writablehub names what can be written
        collection, namespace, name = self._place(parts.path)
        self.accepted.setdefault(collection, set()).add(accept)
        if self.expired and "continue" in query:
            self.expired -= 1
            return 410, {"kind": "Status"}
        if collection in self.refused:
            return self.refused[collection], {"kind": "Status"}
        if collection not in self.objects:
            return 404, {"kind": "Status"}
        found = self.objects[collection]
        if namespace:
            found = [item for item in found if item["metadata"].get("namespace") == namespace]
        if name:
            one = next((item for item in found if item["metadata"]["name"] == name), None)
            return (404, {"kind": "Status"}) if one is None else (200, one)
        if query.keys() & {"labelSelector", "fieldSelector"}:
            found = [item for item in found if self._wanted(item, query)]
        return 200, self._page(found, query, "PartialObjectMetadataList" in accept)

    def change(self, method: str, target: str, body: Object) -> tuple[int, Object]:
        """The answer to a write. This server only reads."""
        return 405, {
            "kind": "Status",
            "message": f"{method} {target}: not by this server ({len(body)} fields)",
        }

    def _groups(self) -> Object:
        served: dict[str, set[str]] = {}
        for path in self.objects:
            head, *rest = path.strip("/").split("/")
            if head == "apis":
                served.setdefault(rest[0], set()).add(rest[1])
        return {
            "groups": [
                {"name": name, "versions": [{"version": one} for one in sorted(versions)]}
                for name, versions in served.items()
            ]
        }

    def _place(self, path: str) -> tuple[str, str, str]:
        """(collection, namespace, name)."""
        parts = path.strip("/").split("/")
        base, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
        namespace = rest.pop(1) if rest[0] == "namespaces" and len(rest) > 2 else ""
        if namespace:
            rest.pop(0)
        return "/" + "/".join([*base, rest[0]]), namespace, rest[1] if len(rest) > 1 else ""

    @staticmethod
    def _wanted(item: Object, query: dict[str, str]) -> bool:
        labels = item["metadata"].get("labels") or {}
        for term in filter(None, query.get("labelSelector", "").split(",")):
            key, equals, value = term.partition("=")
            if key not in labels or (equals and labels[key] != value):
                return False
        name = query.get("fieldSelector", "").removeprefix("metadata.name=")
        return not name or item["metadata"]["name"] == name

    def _page(self, items: list[Object], query: dict[str, str], metadata_only: bool) -> Object:
        start = int(query.get("continue", "0"))
        end = start + min(self.page, int(query.get("limit", self.page)))
        shown = items[start:end]
        if metadata_only:
            shown = [{"metadata": item["metadata"]} for item in shown]
        return {
            "metadata": {"resourceVersion": "1", **({"continue": str(end)} if end < len(items) else {})},
            "items": shown,
        }

    def kubeconfig(self, path: Path) -> Path:
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "hub", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": {"token": TOKEN}}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "me"}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path


@contextmanager
def serving(hub: ApiServer) -> Iterator[ApiServer]:
    """Serves until the block ends. While ``away``, it closes every connection without an answer."""

    class ApiHandler(Handler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            if self.command != "GET":
                self._send(*hub.change(self.command, self.path, json.loads(self.body())))
            elif hub.away:
                self.close_connection = True
            else:
                accept, authorization = self.headers.get("Accept", ""), self.headers.get("Authorization")
                self._send(*hub.answer(self.path, accept, authorization))

        def _send(self, status: int, content: Object) -> None:
            body = json.dumps(content).encode()
            self.send_response_only(status)
            self.send_header("Date", formatdate(time() + hub.ahead, usegmt=True))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadServer(ApiHandler)
    server.start()
    try:
        hub.url = server.url
        yield hub
    finally:
        server.stop()
