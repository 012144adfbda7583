"""HTTP servers on 127.0.0.1, each on a free port, in a thread, during a `with` block."""

import sys
import threading
from abc import abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

HOST = "127.0.0.1"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that disconnected, such as an agent that got a new configuration
        during a request.
        """
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Loopback:
    """Serves one handler class; a context manager."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], *, name: str) -> None:
        self._handler = handler
        self._name = name
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = _Server((HOST, 0), self._handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name=self._name, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def authority(self) -> str:
        """`host:port`. Only valid inside the `with` block."""
        if self._server is None:
            msg = f"{self._name} serves only inside its `with` block"
            raise RuntimeError(msg)
        return f"{HOST}:{self._server.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Base of all handlers: persistent connections, responses with a length, and no log on the terminal."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True
    """A body leaves at once after its headers. Otherwise it may wait 40 ms for an acknowledgement."""

    @abstractmethod
    def serve(self) -> None:
        """Answers a request of any method. Subclasses implement it."""

    def do_GET(self) -> None:
        """Handles a GET request."""
        self.serve()

    def do_POST(self) -> None:
        """Handles a POST request."""
        self.serve()

    def answer(self, status: int, body: bytes, content_type: str) -> None:
        """Sends a complete response."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        """The request's body."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
        """Writes nothing, because the calling programs have their own logs."""
