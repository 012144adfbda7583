"""A metrics endpoint on 127.0.0.1 whose values a test sets while a Prometheus scrapes it: load that changes at will."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.hub.controlplane.series import SeriesKey, sample_line


class LoadExporter:
    """Serves gauges in the Prometheus text format; a context manager. Values appear with the next scrape."""

    def __init__(self) -> None:
        self._values: dict[SeriesKey, float] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.exposition().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """A scrape a second is no news."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="exporter")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    @property
    def target(self) -> str:
        """host:port for a scrape configuration."""
        if self._server is None:
            raise RuntimeError("the exporter serves only inside its `with` block")
        return f"127.0.0.1:{self._server.server_port}"

    def set(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Set one series; it keeps the value until it is set again or removed."""
        with self._lock:
            self._values[SeriesKey.of(name, labels)] = value

    def remove(self, name: str, labels: Mapping[str, str]) -> None:
        """Drop one series; Prometheus marks it stale at the next scrape."""
        with self._lock:
            self._values.pop(SeriesKey.of(name, labels), None)

    def exposition(self) -> str:
        with self._lock:
            lines = [sample_line(key, value) for key, value in sorted(self._values.items())]
        return "".join(f"{line}\n" for line in lines)
