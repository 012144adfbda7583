"""A proxy before an API server. A test sees every request and every answer, and may hold them up.

Plain HTTP on 127.0.0.1 on the side of the client, TLS on the side of the server.
"""

import http.client
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

PATIENCE: Final = 400.0
"""Longer than any watch."""
DROPPED: Final = frozenset({"transfer-encoding", "connection", "keep-alive", "content-length"})

Told = Callable[[str], None]
"""With `METHOD /path?query`."""


class StoppingProxy:
    """`asked` and `answered` may be replaced while it serves."""

    def __init__(self, *, upstream: str, authority: Path) -> None:
        self.asked: Told = lambda _: None
        self.answered: Told = lambda _: None
        self.statuses: list[tuple[str, int]] = []
        """`METHOD /path?query` and status of all answers."""
        self._upstream, self._trust = urlsplit(upstream), ssl.create_default_context(cafile=str(authority))

    def forget(self) -> None:
        """Forgets the answers, and holds up nothing more."""
        self.asked = self.answered = lambda _: None
        self.statuses.clear()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serves for as long as the block runs; yields the URL."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy._forward(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - names of http.server

            def log_message(self, *_: object) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def _forward(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        word = f"{handler.command} {handler.path}"
        self.asked(word)
        host = self._upstream.hostname or ""
        connection = http.client.HTTPSConnection(
            host, self._upstream.port, context=self._trust, timeout=PATIENCE
        )
        try:
            headers = {
                key: value
                for key, value in handler.headers.items()
                if key.lower() not in {"host", "connection", "accept-encoding"}
            }
            connection.request(handler.command, handler.path, body=body or None, headers=headers)
            answer = connection.getresponse()
            watches = "watch=1" in handler.path
            content = b"" if watches else answer.read()
            self.statuses.append((word, answer.status))
            self.answered(word)
            handler.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in DROPPED | {"date", "server"}:
                    handler.send_header(key, value)
            if watches:
                handler.send_header("Transfer-Encoding", "chunked")
                handler.end_headers()
                while line := answer.readline():
                    handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                handler.wfile.write(b"0\r\n\r\n")
            else:
                handler.send_header("Content-Length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)
        except OSError:
            handler.close_connection = True
        finally:
            connection.close()
