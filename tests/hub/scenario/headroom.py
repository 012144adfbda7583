"""A scoring API over real HTTP: the headroom that a cluster has left, from its load between 0 and 1."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class HeadroomApi:
    """Answers each series with 1 - its last value; a context manager. ``token`` makes it want that bearer token.

    ``fixed`` is an answer for requests without series, as a scorer with source type None sends them.
    """

    def __init__(self, *, token: str | None = None, fixed: float | None = None) -> None:
        self.token = token
        self.fixed = fixed
        self.requests: list[dict[str, Any]] = []
        self.refused = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="headroom")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def url(self) -> str:
        assert self._server is not None, "serves only inside its `with` block"
        return f"http://127.0.0.1:{self._server.server_port}"


def headroom(request: dict[str, Any]) -> dict[str, Any]:
    return {"results": [{"metric": series["metric"], "score": 1 - float(series["values"][-1][1])} for series in request["data"]]}


def _handler(api: HeadroomApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(200, {"status": "ok"})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if api.token is not None and self.headers.get("Authorization") != f"Bearer {api.token}":
                api.refused += 1
                self._answer(401, {"detail": "wrong token"})
                return
            api.requests.append(request)
            self._answer(200, headroom(request) if api.fixed is None else {"results": [{"metric": {}, "score": api.fixed}]})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """The agent's log says what it asked."""

    return Handler
