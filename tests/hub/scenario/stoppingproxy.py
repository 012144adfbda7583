"""A proxy before an API server. A test sees every request and every answer, and may hold them up.

Plain HTTP on 127.0.0.1 on the side of the client, TLS on the side of the server.
"""

import http.client
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from tests.support.threadserver import Handler, ThreadServer

PATIENCE: Final = 400
"""Longer than any watch."""
DROPPED: Final = frozenset(
    {"transfer-encoding", "connection", "keep-alive", "content-length", "date", "server"}
)
"""Headers of answers that are not forwarded."""

Told = Callable[[str], None]
"""With `METHOD /path?query`."""


class StoppingProxy(ThreadServer):
    """A context manager. `asked` and `answered` may be replaced while it serves."""

    def __init__(self, *, upstream: str, trust: ssl.SSLContext) -> None:
        self.asked: Told = lambda _: None
        self.answered: Told = lambda _: None
        self.statuses: list[tuple[str, int]] = []
        """`METHOD /path?query` and status of all answers."""
        self._upstream, self._trust = urlsplit(upstream).netloc, trust
        proxy = self

        class ProxyHandler(Handler):
            protocol_version = "HTTP/1.1"
            timeout = PATIENCE

            def serve(self) -> None:
                proxy._forward(self)

        super().__init__(ProxyHandler)

    def forget(self) -> None:
        """Forgets the answers, and holds up nothing more."""
        self.asked = self.answered = lambda _: None
        self.statuses.clear()

    def _forward(self, handler: Handler) -> None:
        body, word = handler.body(), f"{handler.command} {handler.path}"
        self.asked(word)
        connection = http.client.HTTPSConnection(
            self._upstream, context=self._trust, timeout=PATIENCE
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
                if key.lower() not in DROPPED:
                    handler.send_header(key, value)
            length = (
                ("Transfer-Encoding", "chunked")
                if watches
                else ("Content-Length", str(len(content)))
            )
            handler.send_header(*length)
            handler.end_headers()
            handler.wfile.write(content)
            if watches:
                while line := answer.readline():
                    handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            handler.close_connection = True
        finally:
            connection.close()
