"""Service names of a cluster on 127.0.0.1: a forward proxy per spoke, as a process's stand-in for cluster DNS.

Every cluster runs the same scorer with the same URL, such as http://prometheus.monitoring.svc:9090, and reaches its own Prometheus
by it. A pod has its cluster's DNS for that; a process on one machine has HTTP_PROXY.
"""

import threading
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "host"})


class ClusterDns:
    """Forwards plain HTTP for the names it was given, and refuses all others with 502; a context manager."""

    def __init__(self, services: dict[str, str]) -> None:
        """``services`` maps ``host:port`` as the cluster writes it to the URL of a program on loopback."""
        self.services = dict(services)
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="cluster-dns")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment; its API servers on loopback are reached directly."""
        assert self._server is not None, "serves only inside its `with` block"
        return {"HTTP_PROXY": f"http://127.0.0.1:{self._server.server_port}", "NO_PROXY": "127.0.0.1,localhost"}


def _handler(dns: ClusterDns) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._forward()

        def do_POST(self) -> None:
            self._forward()

        def _forward(self) -> None:
            wanted = urlsplit(self.path)
            target = dns.services.get(wanted.netloc)
            if target is None:
                self._answer(502, f"no service {wanted.netloc} in this cluster".encode(), {})
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = HTTPConnection(urlsplit(target).netloc, timeout=30)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
                query = f"?{wanted.query}" if wanted.query else ""
                connection.request(self.command, (wanted.path or "/") + query, body=body or None, headers=headers)
                answer = connection.getresponse()
                self._answer(answer.status, answer.read(), dict(answer.getheaders()))
            except (OSError, HTTPException) as error:
                self._answer(502, f"{wanted.netloc}: {error}".encode(), {})
            finally:
                connection.close()

        def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in HOP_BY_HOP | {"content-length", "date", "server"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """The agent's log says what it asked."""

    return Handler
