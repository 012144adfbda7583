"""Serves the metrics of one cluster by the query API of a Prometheus: /api/v1/query_range and /api/v1/query,
by GET or POST. It answers the queries of the demo's scorers and no others.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from demo.load import ClusterLoad
from demo.loopback import Handler, Loopback

MAX_POINTS: Final = 11_000
"""Prometheus' own limit of points per series."""
Answer = Callable[[ClusterLoad, float], tuple[dict[str, str], float]]
"""The labels and the value of the only series at a time."""


CPU: Final = "100 * avg(instance:node_cpu_utilisation:rate5m)"
"""Of a recording rule of the node mixin of kube-prometheus."""
CORES: Final = "sum by (label_node_kubernetes_io_instance_type) (cluster:capacity_cpu_cores:sum)"
"""Of a recording rule that many distributions ship: vCPUs by instance type."""
QUERIES: Final[Mapping[str, Answer]] = {
    CPU: lambda load, when: ({}, load.at(when)),
    f"100 - {CPU}": lambda load, when: ({}, 100 - load.at(when)),
    CORES: lambda load, _: (
        {"label_node_kubernetes_io_instance_type": load.instance_type},
        float(load.cores),
    ),
}
"""The queries that the source knows."""


def metric_source(load: ClusterLoad) -> Loopback:
    """A server for the metrics of one cluster."""

    class Source(Handler):
        def serve(self) -> None:
            _, _, path, query, _ = urlsplit(self.path)
            form = self.body().decode("utf-8", "replace")
            status, content = answer(load, path, dict(parse_qsl(f"{query}&{form}")), now=time.time())
            self.answer(status, json.dumps(content).encode(), "application/json")

    return Loopback(Source, name=f"metrics-{load.cluster}")


def answer(
    load: ClusterLoad, path: str, parameters: Mapping[str, str], *, now: float
) -> tuple[int, dict[str, Any]]:
    """Status and content of a response of the query API."""
    try:
        if path == "/api/v1/query":
            moments = [float(parameters.get("time", now))]
            kind, key = "vector", "value"
        elif path == "/api/v1/query_range":
            moments = _moments(parameters, now=now)
            kind, key = "matrix", "values"
        else:
            return 404, {"status": "error", "errorType": "not_found", "error": f"there is no {path} here"}
        found = [_query(parameters)(load, when) for when in moments]
    except (ValueError, KeyError) as error:
        return 400, {"status": "error", "errorType": "bad_data", "error": str(error)}
    points = [[when, str(value)] for when, (_, value) in zip(moments, found, strict=True)]
    series = [{"metric": found[0][0], key: points[0] if kind == "vector" else points}] if found else []
    return 200, {"status": "success", "data": {"resultType": kind, "result": series}}


def _query(parameters: Mapping[str, str]) -> Answer:
    text = " ".join(parameters.get("query", "").split())
    if text not in QUERIES:
        raise ValueError(f"the demo does not know {text!r}; it answers {'; '.join(QUERIES)}")
    return QUERIES[text]


def _moments(parameters: Mapping[str, str], *, now: float) -> list[float]:
    start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
    if step <= 0 or end < start or (end - start) / step > MAX_POINTS:
        msg = (
            f"start {start:g}, end {end:g} and step {step:g} are no range, or one of more than {MAX_POINTS}"
            " points"
        )
        raise ValueError(msg)
    moments = []
    while start <= min(end, now):
        moments.append(start)
        start += step
    return moments
