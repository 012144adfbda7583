"""A scoring API on loopback whose answers the test sets."""

import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.support.threadserver import Handler, ThreadServer


@dataclass(kw_only=True)
class StandInRequest:
    """A request that the stand-in received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(kw_only=True)
class StandInAnswer:
    """An answer of the stand-in."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


Behaviour = Callable[[StandInRequest], StandInAnswer]


class StandIn:
    """A scoring API whose answers the test sets. It records the requests."""

    def __init__(self, behaviour: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[StandInRequest] = []
        stand_in = self

        class StandInHandler(Handler):
            def serve(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = StandInRequest(
                    method=self.command, path=self.path, headers=headers, body=self.body()
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

        self._server = ThreadServer(StandInHandler)
        if tls is not None:
            self._server.serve_tls(tls)
        self._server.start()
        self.url = (
            self._server.url if tls is None else self._server.url.replace("127.0.0.1", "localhost")
        )

    def close(self) -> None:
        self._server.stop()
