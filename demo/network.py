"""The network of one cluster, as an HTTP proxy of its agent.

A name that is the same on every cluster, such as http://prometheus-operated.monitoring.svc:9090,
leads to each cluster's own Service. A pod has its cluster's DNS for that; a process on a laptop has
HTTP_PROXY.

The proxy is the cluster's Prometheus, too: it answers the queries of the demo's scorers and no
others.
"""

import json
import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx
import numpy as np

from tests.support.threadserver import Handler, ThreadServer

HOST: Final = "127.0.0.1"
NOISE_PERCENT: Final = 0.8
# Headers that belong to the connection between agent and proxy. The client writes its own.
_OF_THE_CONNECTION: Final = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    }
)
PROMETHEUS: Final = "prometheus-operated.monitoring.svc:9090"

# This is a recording rule of the node mixin of kube-prometheus.
CPU: Final = "100 * avg(instance:node_cpu_utilisation:rate5m)"

# vCPUs by instance type, of a recording rule that many distributions ship.
CORES: Final = "sum by (label_node_kubernetes_io_instance_type) (cluster:capacity_cpu_cores:sum)"


@dataclass(kw_only=True)
class ClusterLoad:
    """CPU use of one cluster as a function of time. A given time always has the same value."""

    cluster: str
    percent: float
    """The percentage before the first change."""
    instance_type: str
    cores: int
    points: list[tuple[float, float]] = field(default_factory=list)
    """Unix seconds and percentages, between which the load changes evenly."""

    def turn(self, to: float, *, seconds: float, now: float) -> None:
        """Starts a change of the load to ``to`` percent within ``seconds``."""
        past = [point for point in self.points if point[0] < now]
        # The past stays, because agents ask for ranges. A change that is under way ends here, at
        # the value that it has reached.
        self.points = [*past, (now, self.mean(now)), (now + seconds, to)]

    def mean(self, when: float) -> float:
        """The percentage without noise."""
        if not self.points:
            return self.percent
        times, percents = zip(*self.points, strict=True)
        return float(np.interp(when, times, percents))

    def at(self, when: float) -> float:
        """The percentage with a little noise, 0 to 100."""
        # No random numbers: ranges that overlap must agree on a sample, as those of a metric store
        # do. And no `hash`, which differs in each run of Python. The sum of two waves whose periods
        # do not fit looks irregular.
        phase = zlib.crc32(self.cluster.encode()) % 7
        noise = (
            NOISE_PERCENT * (math.sin(when / 1.9 + phase) + math.sin(when / 0.7 + 2 * phase)) / 2
        )
        return min(max(self.mean(when) + noise, 0.0), 100.0)


LoadSample = Callable[[ClusterLoad, float], tuple[dict[str, str], float]]
"""The labels and the value of the only series at a time."""


def _cpu(load: ClusterLoad, when: float) -> tuple[dict[str, str], float]:
    return {}, load.at(when)


def _free_cpu(load: ClusterLoad, when: float) -> tuple[dict[str, str], float]:
    return {}, 100 - load.at(when)


def _cores(load: ClusterLoad, _when: float) -> tuple[dict[str, str], float]:
    return {"label_node_kubernetes_io_instance_type": load.instance_type}, float(load.cores)


QUERIES: Final[Mapping[str, LoadSample]] = {CPU: _cpu, f"100 - {CPU}": _free_cpu, CORES: _cores}
"""The queries that the Prometheus knows."""


@contextmanager
def network(load: ClusterLoad, services: Mapping[str, str]) -> Iterator[str]:
    """Serves on a free port in threads, and yields its `host:port`.

    ``services`` maps `host:port` in the cluster to `host:port` on this machine. Other names are
    answered with 502.
    """

    class ServiceProxy(Handler):
        # With HTTP/1.0 the agent would open a connection for each of its requests.
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            body = self.body()
            # A client of a proxy asks for the whole URL, and not only for its path.
            url = urlsplit(self.path)
            service = services.get(url.netloc)
            if service is not None:
                self._forward(url._replace(netloc=service).geturl(), body)
            elif url.netloc == PROMETHEUS:
                # A long query is posted as a form, as Prometheus permits.
                parameters = dict(parse_qsl(f"{url.query}&{body.decode('utf-8', 'replace')}"))
                status, content = answer(load, url.path, parameters, now=time.time())
                self.send(status, json.dumps(content).encode())
            else:
                self.send(502, f"{load.cluster} has no service {url.netloc}".encode())

        def _forward(self, target: str, body: bytes) -> None:
            headers: list[tuple[str, str]] = []
            for name, value in self.headers.items():
                if name.lower() not in _OF_THE_CONNECTION:
                    headers.append((name, value))
            try:
                response = client.request(self.command, target, content=body, headers=headers)
            except httpx.HTTPError as error:
                host = urlsplit(self.path).netloc
                self.send(502, f"{host} of {load.cluster}: {error}".encode())
            else:
                self.send(response.status_code, response.content)

    with client_of_this_machine(timeout=30) as client, ThreadServer(ServiceProxy) as server:
        yield server.authority


def client_of_this_machine(*, timeout: float) -> httpx.Client:
    """A client of the demo's own servers, which have no TLS.

    It has no HTTP_PROXY of the user, which could not reach them, and reads no authorities, which
    takes a tenth of a second.
    """
    return httpx.Client(trust_env=False, verify=SSLContext(PROTOCOL_TLS_CLIENT), timeout=timeout)


def answer(
    load: ClusterLoad, path: str, parameters: Mapping[str, str], *, now: float
) -> tuple[int, dict[str, Any]]:
    """Status and content of a response of the query API of a Prometheus."""
    # YAML may fold a query into several lines.
    text = " ".join(parameters.get("query", "").split())
    if text not in QUERIES:
        error = f"the demo does not know {text!r}; it answers {'; '.join(QUERIES)}"
        return 400, {"status": "error", "errorType": "bad_data", "error": error}
    sample = QUERIES[text]
    if path == "/api/v1/query":
        labels, value = sample(load, now)
        vector = [{"metric": labels, "value": [now, str(value)]}]
        return 200, {"status": "success", "data": {"resultType": "vector", "result": vector}}
    start = float(parameters["start"])
    # Nothing is known of the future, so a range ends now.
    end = min(float(parameters["end"]), now)
    step = float(parameters["step"])
    labels = {}
    values: list[list[float | str]] = []
    for index in range(int((end - start) // step) + 1):
        when = start + index * step
        labels, value = sample(load, when)
        values.append([when, str(value)])
    matrix: list[dict[str, Any]] = []
    # A Prometheus leaves out a series without a sample.
    if values:
        matrix.append({"metric": labels, "values": values})
    return 200, {"status": "success", "data": {"resultType": "matrix", "result": matrix}}
