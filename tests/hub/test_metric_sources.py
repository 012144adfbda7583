"""A cluster whose label changes asks another variant of its MetricSource, with the Secrets that this variant
names and with the right to read them and no others.
"""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import httpx
import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import PROMETHEUS, Fleet, cluster_set, settings
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import SCORE, Installation, installed
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent
from tests.support.rendering import metric_source
from tests.support.threadserver import Handler, ThreadServer

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus")]

FLEET = "sources"
CLUSTER = "cluster1"
RESOURCE = "free-cpu"
METRIC = "cpu_free"
MIMIR = "mimir.monitoring.svc:8080"
SECRET = "v1/Secret"

SOURCE = metric_source(
    "platform",
    {
        "clusterSelector": {"matchLabels": {"monitoring": "mimir"}},
        "host": f"http://{MIMIR}",
        "basicAuth": {"secretRef": {"name": "mimir-login"}},
        "headers": [
            {"name": "X-Scope-OrgID", "value": "platform"},
            {"name": "X-Api-Key", "secretRef": {"name": "mimir-api", "key": "key"}},
        ],
    },
    {"host": f"http://{PROMETHEUS}"},
)
SCORER: Object = {
    "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
    "kind": "DynamicScorer",
    "metadata": {"name": RESOURCE},
    "spec": {
        "description": "The share of CPU that is free",
        "source": {"ref": "platform", "params": {"query": METRIC}},
        "scoring": {"type": "Query", "params": {"name": RESOURCE, "interval": 1}},
        "scoreRange": {"min": 0, "max": 1},
        "publish": {"deadband": 0, "minIntervalSeconds": 0},
    },
}


@dataclass
class Doorman(ThreadServer):
    """Lets those through to a Prometheus who show the right headers; a context manager."""

    upstream: str
    wanted: dict[str, str] = field(default_factory=dict)
    let_in: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        super().__init__(_handler(self))


def _handler(doorman: Doorman) -> type[Handler]:
    class DoormanHandler(Handler):
        def serve(self) -> None:
            if any(self.headers.get(name) != value for name, value in doorman.wanted.items()):
                doorman.refused += 1
                self.send(401, b"who are you?", media="text/plain")
                return
            doorman.let_in += 1
            found = httpx.get(f"{doorman.upstream}{self.path}", timeout=60, trust_env=False)
            self.send(found.status_code, found.content)

    return DoormanHandler


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A cluster with a Prometheus, to which a second way leads past a doorman."""

    installation: Installation
    agent: SpokeAgent
    load: LoadExporter
    doorman: Doorman
    spoke: Client
    account: Client
    """The agent's ServiceAccount on the spoke."""

    def wait_for_score(self, value: int) -> None:
        hub = self.installation.hub

        def score() -> list[int]:
            found = hub.find(SCORE, RESOURCE, namespace=CLUSTER) or {}
            return [item["value"] for item in found.get("status", {}).get("scores", [])]

        wait_for(
            lambda: score() == [value],
            what=f"the score is {value}",
            seen=lambda: (score(), self.agent.process.tail()),
        )

    def write_secrets(self, *, password: str, key: str) -> None:
        for name, data in (
            ("mimir-login", {"username": "scorer", "password": password}),
            ("mimir-api", {"key": key}),
            ("somebody-elses", {"key": "x"}),
        ):
            self.spoke.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": name, "namespace": AGENT_NAMESPACE},
                    "stringData": data,
                }
            )
        login = base64.b64encode(f"scorer:{password}".encode()).decode()
        self.doorman.wanted = {
            "Authorization": f"Basic {login}",
            "X-Scope-OrgID": "platform",
            "X-Api-Key": key,
        }


def write_cluster(fleet: Fleet, **labels: str) -> None:
    item = cluster_document(CLUSTER, fleet=FLEET)
    item["metadata"]["labels"].update(labels)
    fleet.write(f"clusters/{CLUSTER}.yaml", item)


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, git_server: GitServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("sources")
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    fleet.write("gitops-dsf.yaml", settings(fleet))
    fleet.write("config/sources.yaml", SOURCE)
    fleet.write(f"scorers/{RESOURCE}.yaml", SCORER)
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    write_cluster(fleet)
    fleet.render()
    spoke = control_plane.spokes[CLUSTER]
    with ExitStack() as stack:
        load = stack.enter_context(LoadExporter())
        prometheus = start_prometheus(
            binaries=obtain("prometheus"),
            processes=control_plane.processes,
            folder=folder / "prometheus",
            exporter=load,
            name="prometheus-sources",
        )
        stack.callback(control_plane.processes.stop, "prometheus-sources")
        doorman = stack.enter_context(Doorman(upstream=prometheus.url))
        installation = stack.enter_context(installed(fleet, control_plane, clusters=(CLUSTER,)))
        names = stack.enter_context(ClusterDns({PROMETHEUS: prometheus.url, MIMIR: doorman.url}))
        agent = stack.enter_context(
            spoke_agent(control_plane, CLUSTER, folder=folder, environment=names.environment)
        )
        account = stack.enter_context(Client(spoke.service_account_kubeconfig(AGENT_NAMESPACE, ADDON_NAME)))
        for name in ("mimir-login", "mimir-api", "somebody-elses"):
            stack.callback(spoke.admin.delete, SECRET, name, namespace=AGENT_NAMESPACE)
        yield Scene(
            installation=installation,
            agent=agent,
            load=load,
            doorman=doorman,
            spoke=spoke.admin,
            account=account,
        )


def test_a_cluster_uses_the_secrets_of_its_variant_and_may_read_no_others(scene: Scene) -> None:
    scene.write_secrets(password="first-s3cret", key="key-s3cret-1")
    scene.load.set(METRIC, {}, 0.25)
    scene.wait_for_score(25)
    assert (scene.doorman.let_in, scene.doorman.refused) == (0, 0)
    with pytest.raises(ApiError, match="403 Forbidden"):
        scene.account.get(SECRET, "mimir-login", namespace=AGENT_NAMESPACE)

    fleet = scene.installation.fleet
    write_cluster(fleet, monitoring="mimir")
    fleet.render()
    scene.installation.apply()
    wait_for(
        lambda: scene.doorman.let_in,
        what="the agent asks the other source",
        seen=scene.agent.process.tail,
    )
    scene.load.set(METRIC, {}, 0.75)
    scene.wait_for_score(75)
    assert scene.account.get(SECRET, "mimir-login", namespace=AGENT_NAMESPACE)["data"]
    with pytest.raises(ApiError, match="403 Forbidden"):
        scene.account.get(SECRET, "somebody-elses", namespace=AGENT_NAMESPACE)

    scene.write_secrets(password="second-s3cret", key="key-s3cret-2")
    before = scene.doorman.let_in
    wait_for(
        lambda: scene.doorman.let_in >= before + 3,
        what="the new password and key are used",
        seen=scene.agent.process.tail,
    )
    assert "s3cret" not in scene.agent.process.written()
    assert "s3cret" not in scene.agent.metrics()
