"""The receiver for OpenTelemetry metrics without a cluster: the suite's Prometheus with rendered flags and
configuration.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from gitops_dsf.hub.urls import RECEIVER_PORT
from gitops_dsf.plan.types import Receiver
from gitops_dsf.render.receiver import CONFIG_FILE, configuration, pod_values
from gitops_dsf.repository.model.repository import Agent, OpenTelemetry
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process, Processes

IMAGE = "quay.io/prometheus/prometheus:v3.13.5"
SETTINGS = OpenTelemetry(image=IMAGE, collector_namespaces=["observability"])
NEVER = 3_600_000
"""Milliseconds between two exports of a test's metrics, which it sends itself."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A receiver. `url` is its origin, and `file` its configuration."""

    url: str
    file: Path
    process: Process

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The vector of an instant query."""
        return ask(self.url, query)


def ask(url: str, query: str) -> list[dict[str, Any]]:
    """The vector of an instant query."""
    answer = httpx.get(f"{url}/api/v1/query", params={"query": query}, timeout=10).json()
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


def start_receiver(
    processes: Processes, folder: Path, *, settings: OpenTelemetry = SETTINGS, history: int = 0
) -> Running:
    """Starts it as its container would."""
    (folder / "data").mkdir(parents=True)
    [rendered] = pod_values(settings, Agent())["receiver_containers"]
    mounts = dict(
        zip(
            (mount["mountPath"] for mount in rendered["volumeMounts"]), (folder, folder / "data"), strict=True
        )
    )
    file = folder / CONFIG_FILE
    file.write_text(configured(settings, history), encoding="utf-8")
    url = f"http://127.0.0.1:{free_port()}"
    arguments = [listen_on(url).get(argument, argument) for argument in rendered["args"]]
    for path, own in mounts.items():
        arguments = [argument.replace(f"={path}", f"={own}", 1) for argument in arguments]
    process = processes.start(
        "otlp-receiver",
        [obtain("prometheus").path("prometheus"), *arguments],
        environment={entry["name"]: entry["value"] for entry in rendered["env"]},
    )
    wait_until_ready(processes, process, url)
    return Running(url=url, file=file, process=process)


def configured(settings: OpenTelemetry, history: int) -> str:
    """The rendered configuration file."""
    found = configuration(Receiver(settings=settings, history_seconds=history))["data"][CONFIG_FILE]
    assert isinstance(found, str)
    return found


def exporting(receiver: str, **attributes: str) -> MeterProvider:
    """Meters of one OpenTelemetry resource; `force_flush` pushes their values."""
    exporter = OTLPMetricExporter(endpoint=f"{receiver}/api/v1/otlp/v1/metrics")
    return MeterProvider(
        metric_readers=[PeriodicExportingMetricReader(exporter, export_interval_millis=NEVER)],
        resource=Resource({name.replace("__", "."): value for name, value in attributes.items()}),
        shutdown_on_exit=False,
    )
