"""Serves the metrics of one cluster over HTTP: as a page for a real Prometheus, and as the query API if there
is no Prometheus.

The query API is that of prometheus.io/docs/prometheus/latest/querying/api: /api/v1/query_range and
/api/v1/query, by GET or POST.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import promql_parser

from demo import promql
from demo.load import ClusterLoad
from demo.loopback import Handler, Loopback

MAX_POINTS: Final = 11_000
"""Prometheus' own limit of points per series."""


def metric_source(load: ClusterLoad) -> Loopback:
    """A server for the metrics of one cluster."""

    class Source(Handler):
        def serve(self) -> None:
            _, _, path, query, _ = urlsplit(self.path)
            form = self.body().decode("utf-8", "replace")
            if path == "/metrics":
                self.answer(
                    200, exposition(load, time.time()).encode(), "text/plain; version=0.0.4; charset=utf-8"
                )
                return
            status, content = answer(load, path, dict(parse_qsl(f"{query}&{form}")), now=time.time())
            self.answer(status, json.dumps(content).encode(), "application/json")

    return Loopback(Source, name=f"metrics-{load.cluster}")


def exposition(load: ClusterLoad, now: float) -> str:
    """The current values in the text format."""
    lines = []
    for sample in load.samples(now):
        labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
        lines.append(f"{sample.name}{{{labels}}} {sample.value:.6f}\n")
    return "".join(lines)


def answer(
    load: ClusterLoad, path: str, parameters: Mapping[str, str], *, now: float
) -> tuple[int, dict[str, Any]]:
    """Status and content of a response of the query API."""
    try:
        tree = promql.parse(parameters.get("query", ""))
        if path == "/api/v1/query":
            when = float(parameters.get("time", now))
            vector = promql.evaluate(tree, list(load.samples(when)))
            rows = [{"metric": dict(labels), "value": [when, str(value)]} for labels, value in vector.items()]
            return 200, {"status": "success", "data": {"resultType": "vector", "result": rows}}
        if path == "/api/v1/query_range":
            return 200, {
                "status": "success",
                "data": {"resultType": "matrix", "result": _matrix(load, tree, parameters, now=now)},
            }
    except (promql.QueryError, ValueError, KeyError) as error:
        return 400, {"status": "error", "errorType": "bad_data", "error": str(error)}
    return 404, {"status": "error", "errorType": "not_found", "error": f"there is no {path} here"}


def _matrix(
    load: ClusterLoad, tree: promql_parser.Expr, parameters: Mapping[str, str], *, now: float
) -> list[dict[str, Any]]:
    start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
    if step <= 0 or end < start or (end - start) / step > MAX_POINTS:
        msg = (
            f"start {start:g}, end {end:g} and step {step:g} are no range, or one of more than {MAX_POINTS}"
            " points"
        )
        raise ValueError(msg)
    series: dict[promql.Labels, list[list[object]]] = {}
    when = start
    while when <= min(end, now):
        for labels, value in promql.evaluate(tree, list(load.samples(when))).items():
            series.setdefault(labels, []).append([when, str(value)])
        when += step
    return [{"metric": dict(labels), "values": values} for labels, values in sorted(series.items())]
