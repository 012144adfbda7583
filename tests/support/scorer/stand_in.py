"""A scoring API on loopback whose answers the test sets."""

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(kw_only=True)
class Asked:
    """A request that the stand-in received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(kw_only=True)
class Given:
    """An answer of the stand-in."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


Behaviour = Callable[[Asked], Given]


class StandIn:
    """A scoring API whose answers the test sets. It records the requests."""

    def __init__(self, behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(
                    method=self.command, path=self.path, headers=headers, body=self.rfile.read(length)
                )
                stand_in.asked.append(asked)
                given = behaviour(asked)
                self.send_response(given.status)
                for name, value in given.headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in given.headers:
                    self.send_header("Content-Length", str(len(given.body)))
                # Some tests use clients that give up early.
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.end_headers()
                    self.wfile.write(given.body)

            do_GET = do_POST = answer  # noqa: N815 - the base class asks for these names

            def log_message(self, *args: Any) -> None:
                """Writes no log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=lambda: self._server.serve_forever(poll_interval=0.02))
        self._thread.start()
        self.url = (
            f"http://127.0.0.1:{self._server.server_port}"
            if tls is None
            else f"https://localhost:{self._server.server_port}"
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
