"""The network of one cluster, as an HTTP proxy of its agent: a name that is the same on every cluster, such
as http://prometheus-operated.monitoring.svc:9090, leads to each cluster's own Service. A pod has its
cluster's DNS for that; a process on a laptop has HTTP_PROXY.

The proxy is the cluster's Prometheus, too: it answers the queries of the demo's scorers and no others.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx

from demo.load import ClusterLoad

HOST: Final = "127.0.0.1"
_OF_THE_CONNECTION: Final = frozenset(
    {"connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"}
)
PROMETHEUS: Final = "prometheus-operated.monitoring.svc:9090"
CPU: Final = "100 * avg(instance:node_cpu_utilisation:rate5m)"
"""Of a recording rule of the node mixin of kube-prometheus."""
CORES: Final = "sum by (label_node_kubernetes_io_instance_type) (cluster:capacity_cpu_cores:sum)"
"""Of a recording rule that many distributions ship: vCPUs by instance type."""
Answer = Callable[[ClusterLoad, float], tuple[dict[str, str], float]]
"""The labels and the value of the only series at a time."""
QUERIES: Final[Mapping[str, Answer]] = {
    CPU: lambda load, when: ({}, load.at(when)),
    f"100 - {CPU}": lambda load, when: ({}, 100 - load.at(when)),
    CORES: lambda load, _: (
        {"label_node_kubernetes_io_instance_type": load.instance_type},
        float(load.cores),
    ),
}
"""The queries that the Prometheus knows."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the base class's signature
        """Ignores clients that disconnected, such as an agent that got a new configuration
        during a request.
        """
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def network(load: ClusterLoad, services: Mapping[str, str]) -> Iterator[str]:
    """Serves on a free port in threads, and yields its `host:port`. ``services`` maps `host:port` in the
    cluster to `host:port` on this machine. Other names are answered with 502.
    """

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            url = urlsplit(self.path)
            if target := services.get(url.netloc):
                asked = url._replace(netloc=target).geturl()
                kept = [item for item in self.headers.items() if item[0].lower() not in _OF_THE_CONNECTION]
                try:
                    found = client.request(self.command, asked, content=body, headers=kept)
                except httpx.HTTPError as error:
                    self._answer(502, f"{url.netloc} of {load.cluster}: {error}".encode())
                else:
                    self._answer(found.status_code, found.content)
            elif url.netloc == PROMETHEUS:
                parameters = dict(parse_qsl(f"{url.query}&{body.decode('utf-8', 'replace')}"))
                status, content = answer(load, url.path, parameters, now=time.time())
                self._answer(status, json.dumps(content).encode())
            else:
                self._answer(502, f"{load.cluster} has no service {url.netloc}".encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
            """Writes nothing, because the calling programs have their own logs."""

    with httpx.Client(trust_env=False, timeout=30) as client, _Server((HOST, 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        try:
            yield f"{HOST}:{server.server_port}"
        finally:
            server.shutdown()


def answer(
    load: ClusterLoad, path: str, parameters: Mapping[str, str], *, now: float
) -> tuple[int, dict[str, Any]]:
    """Status and content of a response of the query API of a Prometheus."""
    text = " ".join(parameters.get("query", "").split())
    if text not in QUERIES:
        error = f"the demo does not know {text!r}; it answers {'; '.join(QUERIES)}"
        return 400, {"status": "error", "errorType": "bad_data", "error": error}
    if path == "/api/v1/query":
        moments, kind, key = [now], "vector", "value"
    else:
        start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
        moments = [start + index * step for index in range(int((min(end, now) - start) // step) + 1)]
        kind, key = "matrix", "values"
    found = [QUERIES[text](load, when) for when in moments]
    points = [[when, str(value)] for when, (_, value) in zip(moments, found, strict=True)]
    series = [{"metric": found[0][0], key: points[0] if kind == "vector" else points}] if found else []
    return 200, {"status": "success", "data": {"resultType": kind, "result": series}}
