"""The real Prometheus of the test control plane: its past can be queried, and its present follows
the load.
"""

import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.family import HUB, load_family
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import Prometheus, PrometheusError, start_prometheus
from tests.hub.controlplane.series import past

pytestmark = pytest.mark.hub

STEP = 15.0
WEST = [0.2 + 0.1 * math.sin(index / 5) for index in range(240)]
EAST = [0.9] * 240


@dataclass(frozen=True, kw_only=True)
class Running:
    prometheus: Prometheus
    exporter: LoadExporter
    processes: Processes
    end: float


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("prometheus")
    end = float(int(time.time()) - 30)
    history = [
        past("cpu_load", {"cluster": "cluster1", "node": 'a"b\\c'}, WEST, end=end, step=STEP),
        past("cpu_load", {"cluster": "cluster2", "node": "n1"}, EAST, end=end, step=STEP),
    ]
    with Processes(logs=folder / "logs") as processes, LoadExporter() as exporter:
        prometheus = start_prometheus(
            binaries=obtain("prometheus"),
            processes=processes,
            folder=folder / "prometheus",
            history=history,
            exporter=exporter,
        )
        print(f"\nprometheus: ready after {prometheus.startup_seconds:.2f} s")
        yield Running(prometheus=prometheus, exporter=exporter, processes=processes, end=end)


def test_a_range_query_returns_the_past_exactly(running: Running) -> None:
    start = running.end - STEP * (len(WEST) - 1)
    matrix = running.prometheus.query_range("cpu_load", start=start, end=running.end, step=STEP)
    by_cluster = {one["metric"]["cluster"]: one for one in matrix}
    assert by_cluster["cluster1"]["metric"] == {
        "__name__": "cpu_load",
        "cluster": "cluster1",
        "node": 'a"b\\c',
    }
    assert [float(value) for _, value in by_cluster["cluster1"]["values"]] == WEST
    assert [float(at) for at, _ in by_cluster["cluster2"]["values"]] == [
        start + STEP * index for index in range(len(EAST))
    ]


def test_a_changed_load_shows_within_seconds_in_the_same_series(running: Running) -> None:
    labels = {"cluster": "cluster2", "node": "n1"}
    running.exporter.set("cpu_load", labels, 0.05)
    changed = time.monotonic()
    while [one["value"][1] for one in running.prometheus.query('cpu_load{cluster="cluster2"}')] != ["0.05"]:
        assert time.monotonic() - changed < 60, "the new load did not show within a minute"
        time.sleep(0.1)
    print(f"\nprometheus: a changed load shows after {time.monotonic() - changed:.2f} s")
    now = time.time()
    matrix = running.prometheus.query_range(
        'cpu_load{cluster="cluster2"}', start=now - 600, end=now, step=STEP
    )
    assert [one["metric"] for one in matrix] == [{"__name__": "cpu_load", **labels}]
    values = {value for _, value in matrix[0]["values"]}
    assert "0.9" in values


def test_a_wrong_query_carries_the_reason(running: Running) -> None:
    with pytest.raises(PrometheusError, match=r"sum\(cpu_load: bad_data: .*parse error"):
        running.prometheus.query("sum(cpu_load")


def test_it_listens_on_loopback_only(running: Running) -> None:
    assert running.processes.check_listeners() == 1


def test_the_version_it_reports_is_that_of_its_module(running: Running) -> None:
    family = load_family("prometheus")
    match = re.search(
        r"prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)\n", (HUB / "go.mod").read_text(encoding="utf-8")
    )
    assert match is not None
    pinned = f"{int(match[1])}.{int(match[2])}.{int(match[3])}"
    assert any(flag.endswith(f".Version={pinned}") for flag in family.ldflags), (
        "family.toml names another release than go.mod pins"
    )
    program = obtain("prometheus").programs["prometheus"]
    if program.origin.startswith("built"):
        assert running.prometheus.version() == pinned
