"""A scorer whose query is the score, with a real Prometheus and a real hub: what is published, also without
series, and what the CRD refuses.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import APPLICATION, PROMETHEUS, RESOURCE, SCORE, SCORER, Fleet, write_fleet
from tests.hub.scenario.installation import SCORE as SCORES
from tests.hub.scenario.installation import installed
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent

pytestmark = pytest.mark.family("kubernetes", "ocm", "prometheus")

CLUSTER = "cluster1"
NODES = ({"node": "n1"}, {"node": "n2"})
DEFAULT = -7
DYNAMIC_SCORER = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"


def query_scorer() -> Object:
    return {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": SCORER},
        "spec": {
            "description": "CPU that is free",
            "source": {"host": f"http://{PROMETHEUS}", "params": {"query": "1 - avg(cpu_load)"}},
            "scoring": {"type": "Query", "params": {"name": SCORE, "interval": 1}},
            "scoreRange": {"min": 0, "max": 1},
            "defaultScore": DEFAULT,
            "publish": {"deadband": 0, "minIntervalSeconds": 0},
        },
    }


@dataclass(frozen=True, kw_only=True)
class Running:
    """One cluster with a Prometheus and an agent."""

    hub: Client
    load: LoadExporter
    agent: SpokeAgent

    def score(self) -> int | None:
        status = (self.hub.find(SCORES, RESOURCE, namespace=CLUSTER) or {}).get("status", {})
        return next((item["value"] for item in status.get("scores", []) if item["name"] == SCORE), None)

    def set_load(self, *values: float) -> None:
        for labels, value in zip(NODES, values, strict=True):
            self.load.set("cpu_load", labels, value)

    def wait_for_score(self, value: int) -> None:
        wait_for(
            lambda: self.score() == value,
            what=f"the score is {value}",
            timeout=60,
            seen=lambda: (self.score(), self.agent.process.tail()),
        )


@pytest.fixture(scope="module")
def running(
    control_plane: ControlPlane, git_server: GitServer, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("queryscorers")
    fleet = Fleet(repository=git_server.create("queryscorers"), name="queryscorers")
    write_fleet(fleet, clusters=[CLUSTER])
    (fleet.root / f"apps/{APPLICATION}.yaml").unlink()
    fleet.write(f"scorers/{SCORER}.yaml", query_scorer())
    fleet.render()
    with ExitStack() as stack:
        load = stack.enter_context(LoadExporter())
        prometheus = start_prometheus(
            binaries=obtain("prometheus"),
            processes=control_plane.processes,
            folder=folder / "prometheus",
            exporter=load,
            name="prometheus-queryscorers",
        )
        stack.callback(control_plane.processes.stop, "prometheus-queryscorers")
        stack.enter_context(installed(fleet, control_plane, clusters=(CLUSTER,)))
        names = stack.enter_context(ClusterDns({PROMETHEUS: prometheus.url}))
        agent = stack.enter_context(
            spoke_agent(control_plane, CLUSTER, folder=folder, environment=names.environment)
        )
        yield Running(hub=hub, load=load, agent=agent)


def test_the_value_of_the_query_is_the_score(running: Running) -> None:
    """1 - avg of two nodes, from 0..1 to 1..100. No scoring API runs."""
    running.set_load(0.25, 0.75)
    running.wait_for_score(50)
    running.set_load(0.0, 0.0)
    running.wait_for_score(100)
    (line,) = [one for one in running.agent.metrics().splitlines() if one.startswith("dynamic_score{")]
    assert line.endswith("} 1.0")


def test_without_series_the_default_score_is_published(running: Running) -> None:
    """Series that a target no longer has are stale at once, so that the query gives nothing."""
    running.set_load(0.5, 0.5)
    running.wait_for_score(50)
    for labels in NODES:
        running.load.remove("cpu_load", labels)
    running.wait_for_score(DEFAULT)
    assert "\ndynamic_score{" not in running.agent.metrics()
    running.set_load(0.5, 0.5)
    running.wait_for_score(50)


def test_the_hub_requires_a_page_of_scorers_with_an_api_alone(running: Running) -> None:
    """The CRD has what `validate` says, for those who apply without it."""
    found = running.hub.get(DYNAMIC_SCORER, SCORER, namespace="open-cluster-management")
    assert "configURL" not in found["spec"]
    assert "configSyncMode" not in found["spec"]
    api = {
        **query_scorer(),
        "metadata": {"name": "api", "namespace": "open-cluster-management"},
        "spec": {"description": "no page", "scoring": {"params": {"name": "api", "interval": 60}}},
    }
    with pytest.raises(ApiError, match=r"configURL and configSyncMode, or scoring\.type: Query"):
        running.hub.create(api)
