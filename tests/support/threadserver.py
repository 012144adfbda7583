"""An HTTP server on loopback in a thread.

The servers of tests whose clients block or are processes build on it.
"""

import json
import socket
import ssl
import sys
import threading
from abc import abstractmethod
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    """Base of the handlers, for all methods. Writes no log."""

    timeout = 60
    disable_nagle_algorithm = True
    """Sends a body at once after its headers. Otherwise it may wait 40 ms for an
    acknowledgement.
    """

    @abstractmethod
    def serve(self) -> None:
        """Answers a request."""

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class asks for these names

    def send(
        self, status: int, body: bytes, *, media: str = "application/json", **headers: str
    ) -> None:
        """Sends a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Type": media, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        """What the client sent."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Tests read nothing of it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnect, because tests do that on purpose."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class ThreadServer:
    """Serves from `start` to `stop`, or in a `with` block, on a free port."""

    def __init__(self, handler: type[Handler]) -> None:
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._scheme = "http"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self._server.server_port}"

    def serve_tls(self, context: ssl.SSLContext) -> None:
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._scheme = "https"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            # Wakes the thread, which looks twice a second whether it must end. macOS refuses it.
            with suppress(OSError):
                self._server.socket.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class JsonServer(ThreadServer):
    """Answers with JSON, as `reply` says."""

    def __init__(self) -> None:
        server = self

        class JsonHandler(Handler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                body = self.body()
                status, answer, *headers = server.reply(self, json.loads(body) if body else None)
                self.send(status, json.dumps(answer).encode(), **(headers[0] if headers else {}))

        super().__init__(JsonHandler)

    @abstractmethod
    def reply(
        self, request: Handler, data: Any
    ) -> tuple[int, Any] | tuple[int, Any, dict[str, str]]:
        """Status and content for what was sent, and further headers."""
