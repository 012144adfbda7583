"""The recipe of docs/operate/monitoring.md: the Prometheus of a cluster writes dynamic_score to that of the
hub.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import Prometheus, start_prometheus
from tests.hub.controlplane.waiting import wait_for

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

PAGE = Path(__file__).parents[2] / "docs/operate/monitoring.md"
QUERY = 'max by (cluster) (dynamic_score{ds_score_name="cpu_headroom"})'
LABELS = {"ds_score_name": "cpu_headroom", "ds_node": "n1"}


@dataclass(frozen=True, kw_only=True)
class Central:
    hub: Prometheus
    spoke: LoadExporter

    def scores(self) -> dict[str, float]:
        """What the query of the page gives, by cluster."""
        return {one["metric"].get("cluster", ""): float(one["value"][1]) for one in self.hub.query(QUERY)}


def recipe() -> dict[str, Any]:
    """The configuration that the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    assert QUERY in text
    (block,) = re.findall(r"```yaml\n(# prometheus.yml of a managed cluster\n.*?)```", text, re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(block)
    return found


@pytest.fixture(scope="module")
def central(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Central]:
    folder = tmp_path_factory.mktemp("remotewrite")
    with Processes(logs=folder / "logs") as processes, LoadExporter() as exporter:
        hub = start_prometheus(
            binaries=obtain("prometheus"),
            processes=processes,
            folder=folder / "hub",
            name="hub",
            flags=("--web.enable-remote-write-receiver",),
        )
        configuration = recipe()
        (write,) = configuration["remote_write"]
        write["url"] = f"{hub.url}/api/v1/write"
        token = folder / "token"
        token.write_text("t", encoding="utf-8")
        write["authorization"]["credentials_file"] = str(token)
        exporter.set("node_load1", {"node": "n1"}, 3.0)
        start_prometheus(
            binaries=obtain("prometheus"),
            processes=processes,
            folder=folder / "spoke",
            name="spoke",
            exporter=exporter,
            configuration=configuration,
        )
        yield Central(hub=hub, spoke=exporter)


def test_the_hub_has_the_raw_scores_by_cluster_and_nothing_else(central: Central) -> None:
    central.spoke.set("dynamic_score", LABELS, 41.5)
    wait_for(lambda: central.scores() == {"cluster1": 41.5}, what="the score is on the hub")
    assert [
        one["metric"]["__name__"] for one in central.hub.query('{__name__=~".+",cluster="cluster1"}')
    ] == ["dynamic_score"]


def test_a_score_that_the_agent_no_longer_has_goes_from_the_hub(central: Central) -> None:
    central.spoke.set("dynamic_score", LABELS, 12.0)
    wait_for(lambda: central.scores() == {"cluster1": 12.0}, what="the hub follows")
    central.spoke.remove("dynamic_score", LABELS)
    wait_for(lambda: central.scores() == {}, what="the score is stale on the hub", timeout=60)
