"""The receiver for OpenTelemetry metrics without a cluster: the suite's Prometheus with rendered flags and
configuration.
"""

from typing import Any

import httpx
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from gitops_dsf.hub.urls import RECEIVER_PORT
from tests.hub.controlplane.processes import Process, Processes

IMAGE = "quay.io/prometheus/prometheus:v3.16.0"
NEVER = 3_600_000
"""Milliseconds between two exports of a test's metrics, which it sends itself."""


def ask(url: str, query: str) -> list[dict[str, Any]]:
    """The vector of an instant query."""
    answer = httpx.get(f"{url}/api/v1/query", params={"query": query}, timeout=60).json()
    assert answer["status"] == "success", answer
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def listen_on(url: str) -> dict[str, str]:
    """The rendered flag that a process on this machine cannot have, and what it gets instead."""
    return {f"--web.listen-address=:{RECEIVER_PORT}": f"--web.listen-address={url.removeprefix('http://')}"}


def wait_until_ready(processes: Processes, process: Process, url: str) -> None:
    def probe() -> str | None:
        try:
            answer = httpx.get(f"{url}/-/ready", timeout=2)
        except httpx.HTTPError as error:
            return repr(error)
        return None if answer.status_code == httpx.codes.OK else answer.text

    processes.ready(process, probe)


def exporting(receiver: str, **attributes: str) -> MeterProvider:
    """Meters of one OpenTelemetry resource; `force_flush` pushes their values."""
    exporter = OTLPMetricExporter(endpoint=f"{receiver}/api/v1/otlp/v1/metrics")
    return MeterProvider(
        metric_readers=[PeriodicExportingMetricReader(exporter, export_interval_millis=NEVER)],
        resource=Resource({name.replace("__", "."): value for name, value in attributes.items()}),
        shutdown_on_exit=False,
    )
