"""An API server on 127.0.0.1 as far as lists are concerned: paged answers, and a status for what it refuses."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

TOKEN = "test-token"
GROUP = "/apis/cluster.open-cluster-management.io"


class Hub:
    """Objects by path below the group; `refused` maps a path to a status. `requests` are the paths with their queries."""

    def __init__(self, objects: Mapping[str, list[dict[str, Any]]], *, page: int = 2, refused: Mapping[str, int] | None = None) -> None:
        self.objects = objects
        self.page = page
        self.refused = dict(refused or {})
        self.requests: list[str] = []
        self.url = ""

    def answer(self, target: str, authorization: str | None) -> tuple[int, dict[str, Any]]:
        self.requests.append(target)
        parts = urlsplit(target)
        path, query = parts.path.removeprefix(f"{GROUP}/"), parse_qs(parts.query)
        if authorization != f"Bearer {TOKEN}":
            return 401, {"kind": "Status"}
        if path in self.refused or not parts.path.startswith(GROUP):
            return self.refused.get(path, 404), {"kind": "Status"}
        items, start = self.objects.get(path, []), int(query.get("continue", ["0"])[0])
        end = start + min(self.page, int(query["limit"][0]))
        metadata = {"resourceVersion": "1", **({"continue": str(end)} if end < len(items) else {})}
        return 200, {"kind": "List", "metadata": metadata, "items": items[start:end]}

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
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, content = hub.answer(self.path, self.headers.get("Authorization"))
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        hub.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
