"""A web server on loopback whose pages are any bytes that a test sets."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.threadserver import Handler, ThreadServer

Writer = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int = 200
    body: bytes = b""
    media: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        for name, value in {
            "Content-Type": self.media,
            "Content-Length": str(len(self.body)),
            **self.headers,
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.body)


def says(**config: Any) -> Answer:
    return Answer(body=json.dumps(config).encode())


class ConfigPageServer(ThreadServer):
    """`pages` may change while it runs. `headers` records what callers sent."""

    def __init__(self) -> None:
        self.pages: dict[str, Writer] = {}
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        server = self

        class PageHandler(Handler):
            def serve(self) -> None:
                path = self.path.partition("?")[0]
                server.asked[path] += 1
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                # An unread body would make the kernel reset the connection while the answer is on
                # its way.
                self.rfile.read(int(self.headers.get("content-length", 0)))
                server.pages.get(path, Answer(status=404, body=b"not here"))(self)

        super().__init__(PageHandler)

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Reads the request and does not answer until the test ends."""
        self.released.wait(60)
        handler.close_connection = True

    def stop(self) -> None:
        self.released.set()
        super().stop()
