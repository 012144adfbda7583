"""A web server on loopback whose pages are any bytes that a test sets."""

import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

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


class _Quiet(ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores callers that disconnect, because tests do that on purpose."""


class PageServer:
    """`pages` may change while it runs. `headers` records what callers sent."""

    def __init__(self) -> None:
        self.pages: dict[str, Writer] = {}
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                server.asked[path] += 1
                server.headers.append({name.lower(): value for name, value in self.headers.items()})
                server.pages.get(path, Answer(status=404, body=b"not here"))(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                pass

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._scheme = "http"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    def serve_tls(self, context: ssl.SSLContext) -> None:
        self._http.socket = context.wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )
        self._scheme = "https"

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Reads the request and does not answer until the test ends."""
        self.released.wait(60)
        handler.close_connection = True

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
