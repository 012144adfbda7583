"""Memory and time of the receiver for OpenTelemetry metrics: 50,000 gauge series pushed 30 times.

    .venv/bin/python -m benchmarks.bench_receiver [--series N] [--pushes N]

The receiver is the hub suite's Prometheus with the rendered flags and configuration. Prints a table; exits
with 1 when a figure misses its goal. It runs on Linux only, where /proc says what a process uses.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from tests.hub.controlplane.processes import Processes
from tests.hub.scenario.receiver import Running, start_receiver

PEAK_MEGABYTES = 152.0
SECONDS_OF_CPU = 0.2
SECONDS_OF_QUERY = 0.2
PODS_OF_A_NODE = 100
BATCH = 8192
"""Data points of a request: what the collector's batch processor sends by default."""
QUERY = "sum by (k8s_node_name) (k8s_pod_cpu_usage_ratio)"


def pushed(numbers: range, at: float, *, resource_each: bool) -> bytes:
    """One request with a gauge of each of these pods. A node is a resource; or each pod is one, as the
    receiver kubeletstats has it.
    """
    request = ExportMetricsServiceRequest()
    nanoseconds = int(at * 1e9)
    node, points = -1, None
    for number in numbers:
        of_pod = {"k8s.pod.name": f"pod-{number}", "k8s.namespace.name": f"team-{number % 50}"}
        if points is None or resource_each or number // PODS_OF_A_NODE != node:
            node = number // PODS_OF_A_NODE
            found = request.resource_metrics.add()
            _describe(found.resource.attributes, {"k8s.node.name": f"node-{node}"})
            if resource_each:
                _describe(found.resource.attributes, of_pod)
            metric = found.scope_metrics.add().metrics.add(name="k8s.pod.cpu.usage", unit="1")
            points = metric.gauge.data_points
        value = (number * 7919 + nanoseconds) % 1000 / 1000
        point = points.add(time_unix_nano=nanoseconds, as_double=value)
        if not resource_each:
            _describe(point.attributes, of_pod)
    return bytes(request.SerializeToString())


def _describe(attributes: Any, values: Mapping[str, str]) -> None:  # noqa: ANN401 - a protobuf list
    for key, value in values.items():
        attributes.add(key=key).value.string_value = value


def used(receiver: Running) -> tuple[float, float, float]:
    """Megabytes now and at the peak, and seconds of CPU, as the kernel counts them."""
    process = Path(f"/proc/{receiver.process.pid}")
    fields = dict(
        line.split(":", 1) for line in (process / "status").read_text(encoding="utf-8").splitlines()
    )
    words = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    now, peak = (int(fields[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))
    return now, peak, (int(words[11]) + int(words[12])) / 100


def measure(series: int, pushes: int, *, resource_each: bool) -> list[tuple[str, float, float | None, str]]:
    with tempfile.TemporaryDirectory() as name, Processes(logs=Path(name) / "logs") as processes:
        receiver = start_receiver(processes, Path(name) / "pod")
        at_start, _, before = used(receiver)
        begin = time.time() - 15 * pushes
        with httpx.Client(timeout=60) as client:
            for number in range(pushes):
                for first in range(0, series, BATCH):
                    batch = range(first, min(first + BATCH, series))
                    answer = client.post(
                        f"{receiver.url}/api/v1/otlp/v1/metrics",
                        content=pushed(batch, begin + 15 * number, resource_each=resource_each),
                        headers={"Content-Type": "application/x-protobuf"},
                    )
                    answer.raise_for_status()
        steady, _, after = used(receiver)
        clock = time.perf_counter()
        nodes = receiver.ask(QUERY)
        query = time.perf_counter() - clock
        assert len(nodes) == -(-series // PODS_OF_A_NODE), len(nodes)
        _, peak, _ = used(receiver)
    return [
        ("memory at the start", at_start, None, "MB"),
        ("memory after the last push", steady, None, "MB"),
        ("memory at the peak", peak, PEAK_MEGABYTES, "MB"),
        ("CPU of a push", (after - before) / pushes, None if resource_each else SECONDS_OF_CPU, "s"),
        ("the query", query, None if resource_each else SECONDS_OF_QUERY, "s"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=50_000)
    parser.add_argument("--pushes", type=int, default=30)
    args = parser.parse_args()
    missed = False
    for resource_each, of in ((False, "node"), (True, "pod")):
        print(
            f"| {args.series} series, {args.pushes} pushes, a resource for each {of} | figure | goal | met |"
        )
        print("|---|---|---|---|")
        for what, value, goal, unit in measure(args.series, args.pushes, resource_each=resource_each):
            late = goal is not None and value > goal
            missed = missed or late
            verdict = "" if goal is None else "NO" if late else "yes"
            wanted = "" if goal is None else f"{goal:.3g} {unit}"
            print(f"| {what} | {value:.3g} {unit} | {wanted} | {verdict} |")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
