"""What docs/scores/sources.md says of the receiver: names, labels, late samples, and what a pod that may push
cannot do. OpenTelemetry's own SDK pushes into the real Prometheus.
"""

import time
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader

from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.receiver import NEVER, SETTINGS, Running, configured, exporting, start_receiver

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

BOTH = "rate(served_requests_total[5m]) / served_queue_ratio"


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("receiver")
    with Processes(logs=folder / "logs") as processes:
        yield start_receiver(processes, folder / "pod")


@pytest.fixture
def node(receiver: Running) -> Iterator[MeterProvider]:
    found = exporting(
        receiver.url,
        k8s__node__name="n1",
        k8s__cluster__uid="u",
        service__name="kubelet",
        service__namespace="infra",
        service__instance__id="i-1",
    )
    yield found
    found.shutdown()


@pytest.mark.parametrize(
    ("name", "unit", "translated"),
    [
        ("k8s.pod.cpu.usage", "{cpu}", "k8s_pod_cpu_usage"),
        ("k8s.node.filesystem.available", "By", "k8s_node_filesystem_available_bytes"),
        ("k8s.pod.uptime", "s", "k8s_pod_uptime_seconds"),
        ("hw.temperature", "Cel", "hw_temperature_celsius"),
        ("system.cpu.utilization", "1", "system_cpu_utilization_ratio"),
    ],
)
def test_gauges_get_the_suffix_of_their_unit(
    receiver: Running, node: MeterProvider, name: str, unit: str, translated: str
) -> None:
    node.get_meter("test").create_gauge(name, unit=unit).set(1.5)
    assert node.force_flush()
    assert [one["value"][1] for one in receiver.ask(translated)] == ["1.5"]


def test_cumulative_sums_get_total(receiver: Running, node: MeterProvider) -> None:
    node.get_meter("test").create_counter("http.requests").add(3, {"http.route": "/"})
    assert node.force_flush()
    (found,) = receiver.ask("http_requests_total")
    assert (found["metric"]["http_route"], found["value"][1]) == ("/", "3")


def test_listed_attributes_become_labels_and_all_are_in_target_info(
    receiver: Running, node: MeterProvider
) -> None:
    node.get_meter("test").create_gauge("one", unit="").set(1)
    assert node.force_flush()
    (found,) = receiver.ask("one")
    assert found["metric"] == {
        "__name__": "one",
        "job": "infra/kubelet",
        "instance": "i-1",
        "k8s_node_name": "n1",
        "service_name": "kubelet",
        "service_namespace": "infra",
    }
    (target,) = receiver.ask('target_info{instance="i-1"}')
    assert target["metric"]["k8s_cluster_uid"] == "u"


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("POST", "/-/quit", "Lifecycle API is not enabled"),
        ("POST", "/-/reload", "Lifecycle API is not enabled"),
        ("POST", "/api/v1/admin/tsdb/delete_series?match[]=a", "admin APIs disabled"),
        ("POST", "/api/v1/admin/tsdb/snapshot", "admin APIs disabled"),
        ("POST", "/api/v1/write", "needs to be enabled"),
    ],
)
def test_whoever_may_push_can_neither_stop_it_nor_delete_nor_write_otherwise(
    receiver: Running, method: str, path: str, words: str
) -> None:
    answer = httpx.request(method, f"{receiver.url}{path}", timeout=10)
    assert answer.status_code >= 400
    assert words in answer.text


def gauge(name: str, at: float) -> bytes:
    """A request with one data point."""
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name=name)
    metric.gauge.data_points.add(time_unix_nano=int(at * 1e9), as_double=1)
    body: bytes = request.SerializeToString()
    return body


def test_samples_may_be_five_minutes_late(receiver: Running) -> None:
    def push(age: float) -> httpx.Response:
        return httpx.post(
            f"{receiver.url}/api/v1/otlp/v1/metrics",
            content=gauge("late", now - age),
            headers={"Content-Type": "application/x-protobuf"},
            timeout=10,
        )

    now = time.time()
    assert [push(age).status_code for age in (0, 240, 120)] == [200, 200, 200]
    too_late = push(360)
    assert (too_late.status_code, "too old" in too_late.text) == (400, True)
    (found,) = receiver.ask("count_over_time(late[10m])")
    assert found["value"][1] == "3"


def test_deltas_are_refused(receiver: Running) -> None:
    exporter = OTLPMetricExporter(
        endpoint=f"{receiver.url}/api/v1/otlp/v1/metrics",
        preferred_temporality={Counter: AggregationTemporality.DELTA},
    )
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=NEVER)
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    provider.get_meter("test").create_counter("deltas").add(3)
    provider.force_flush()
    provider.shutdown()
    assert receiver.ask("deltas_total") == []


def test_a_longer_history_needs_no_restart(receiver: Running) -> None:
    def hours() -> float:
        page = httpx.get(f"{receiver.url}/metrics", timeout=10).text
        (line,) = [
            line for line in page.splitlines() if line.startswith("prometheus_tsdb_retention_limit_seconds ")
        ]
        return float(line.split()[1]) / 3600

    assert hours() == 2
    receiver.file.write_text(configured(SETTINGS, 86_400), encoding="utf-8")
    before = time.monotonic()
    wait_for(lambda: hours() == 26, what="Prometheus reads the new file", timeout=60)
    print(f"\nread after {time.monotonic() - before:.0f} s")
    assert receiver.process.running
