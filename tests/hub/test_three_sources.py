"""One scorer ranks three kinds of clusters through a MetricSource: one has Prometheus, one an OpenTelemetry
collector and no Prometheus, and one no monitoring at all.

It needs a third cluster, so it starts a control plane of its own.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.hub.urls import RECEIVER_PORT
from gitops_dsf.render.receiver import CONTAINER
from gitops_dsf.render.receiver import NAME as OTLP
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import Kubernetes
from tests.hub.controlplane.manifests import namespace as namespace_object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.series import past
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import PROMETHEUS, Fleet, cluster, cluster_set, settings
from tests.hub.scenario.installation import SCORE, installed
from tests.hub.scenario.placements import DECISION, PLACEMENT_LABEL
from tests.hub.scenario.receiver import IMAGE, exporting, listen_on, wait_until_ready
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus"), pytest.mark.timeout(400)]

SCRAPED, COLLECTED, UNMONITORED = CLUSTERS = ("cluster1", "cluster2", "cluster3")
SOURCES = {SCRAPED: "prometheus", COLLECTED: "otel", UNMONITORED: "none"}
MEASURE = "cpu_available_ratio"
"""The name of a measure of source type Kubernetes. The other clusters have a series of that name."""
FLEET = "threesources"
NAMESPACE = "ranked"


@dataclass(frozen=True, kw_only=True)
class Fleet3:
    """The fleet while it runs."""

    hub: Client
    exporter: LoadExporter
    collector: MeterProvider
    agents: dict[str, SpokeAgent]

    def push(self, value: float) -> None:
        """What the collector of the second cluster sees."""
        self.collector.get_meter("test").create_gauge("cpu.available", unit="1").set(value)
        assert self.collector.force_flush()

    def scores(self) -> dict[str, int]:
        """The published score of each cluster."""
        found = {}
        for name in CLUSTERS:
            item = self.hub.find(SCORE, "cpu-available", namespace=name) or {}
            for one in item.get("status", {}).get("scores", []):
                found[name] = one["value"]
        return found

    def decision(self) -> list[str]:
        pages = self.hub.list(DECISION, namespace=NAMESPACE, labels=f"{PLACEMENT_LABEL}=best")
        return [one["clusterName"] for page in pages for one in page.get("status", {}).get("decisions", [])]


@pytest.fixture(scope="module")
def plane(
    kubernetes_binaries: Binaries, ocm_binaries: Binaries | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("three-sources")
    processes = Processes(logs=folder / "logs")
    kubernetes = Kubernetes(binaries=kubernetes_binaries, processes=processes, folder=folder)
    with ControlPlane(kubernetes=kubernetes, ocm_binaries=ocm_binaries, spoke_names=CLUSTERS) as found:
        yield found
    assert not processes.left_behind()


def documents() -> tuple[Object, Object, Object]:
    """The MetricSource, the only scorer, and the Placement by its score."""
    metric_source = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "MetricSource",
        "metadata": {"name": "platform"},
        "spec": {
            "variants": [
                {"clusterSelector": {"matchLabels": {"source": "otel"}}, "type": "OpenTelemetry"},
                {"clusterSelector": {"matchLabels": {"source": "none"}}, "type": "Kubernetes"},
                {"host": f"http://{PROMETHEUS}"},
            ]
        },
    }
    scorer = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScorer",
        "metadata": {"name": "cpu-available"},
        "spec": {
            "description": "CPU that pods have not requested",
            "source": {"ref": "platform", "params": {"query": MEASURE}},
            "scoring": {"type": "Query", "params": {"name": "cpu-available", "interval": 1}},
            "scoreRange": {"min": 0, "max": 1},
            "publish": {"deadband": 1, "minIntervalSeconds": 1},
        },
    }
    placement = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": "best", "namespace": NAMESPACE},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": [FLEET]},
            "scores": [{"scorer": "cpu-available"}],
            "stickiness": 0,
        },
    }
    return metric_source, scorer, placement


def write(fleet: Fleet) -> None:
    configured = settings(fleet)
    configured["spec"]["agent"] = {
        "openTelemetry": {"image": IMAGE, "collectorNamespaces": ["observability"]}
    }
    metric_source, scorer, placement = documents()
    fleet.write("gitops-dsf.yaml", configured)
    fleet.write("config/sources.yaml", metric_source)
    fleet.write("scorers/cpu.yaml", scorer)
    fleet.write("apps/best.yaml", placement)
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    for name, source in SOURCES.items():
        item = cluster(name, fleet=FLEET)
        item["metadata"]["labels"]["source"] = source
        fleet.write(f"clusters/{name}.yaml", item)
    ran = fleet.run("render", "--allow-shrink")
    assert ran.code == 0, ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def fleet(
    plane: ControlPlane, git_server: GitServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet3]:
    folder = tmp_path_factory.mktemp("three")
    repository = Fleet(repository=git_server.create(FLEET), name=FLEET)
    write(repository)
    hub = plane.hub.admin
    hub.apply(namespace_object(NAMESPACE))
    with ExitStack() as stack:
        exporter = stack.enter_context(LoadExporter())
        exporter.set(MEASURE, {}, 0.3)
        prometheus = start_prometheus(
            binaries=obtain("prometheus"),
            processes=plane.processes,
            folder=folder / "prometheus",
            history=[past(MEASURE, {}, [0.3] * 20, end=float(int(time.time()) - 5))],
            exporter=exporter,
        )
        node(plane.spokes[UNMONITORED].admin)
        stack.enter_context(installed(repository, plane, clusters=CLUSTERS))
        receiver = f"http://127.0.0.1:{free_port()}"
        # The agent and the receiver share the network of their pod, in which this is port 9090.
        services = {
            SCRAPED: {PROMETHEUS: prometheus.url},
            COLLECTED: {f"127.0.0.1:{RECEIVER_PORT}": receiver},
            UNMONITORED: {},
        }
        spoke = plane.spokes[COLLECTED].admin
        wait_for(
            lambda: spoke.find("v1/ConfigMap", OTLP, namespace=AGENT_NAMESPACE),
            what="the receiver's configuration is on the spoke",
        )
        agents = {}
        for name, found in services.items():
            names = stack.enter_context(ClusterDns(found))
            environment = names.environment | ({"NO_PROXY": "none"} if name == COLLECTED else {})
            agents[name] = stack.enter_context(
                spoke_agent(plane, name, folder=folder, environment=environment)
            )
        process = agents[COLLECTED].pod.start(
            [obtain("prometheus").path("prometheus")],
            container=CONTAINER,
            name="otlp-receiver",
            instead=listen_on(receiver),
        )
        wait_until_ready(plane.processes, process, receiver)
        collector = exporting(receiver, k8s__node__name="n1")
        stack.callback(collector.shutdown)
        yield Fleet3(hub=hub, exporter=exporter, collector=collector, agents=agents)


def node(spoke: Client) -> None:
    """A node of ten cores, of which a pod requests one."""
    offers = {"cpu": "10", "memory": "32Gi", "pods": "20"}
    spoke.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1"},
            "status": {
                "allocatable": offers,
                "capacity": offers,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )
    wait_for(
        lambda: spoke.find("v1/ServiceAccount", "default", namespace="default"),
        what="the namespace has a ServiceAccount for pods",
    )
    container = {"name": "a", "image": "registry.invalid/x", "resources": {"requests": {"cpu": "1"}}}
    spoke.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "busy", "namespace": "default"},
            "spec": {"nodeName": "n1", "automountServiceAccountToken": False, "containers": [container]},
        }
    )


def test_one_scorer_ranks_clusters_with_three_kinds_of_sources(
    fleet: Fleet3, note: Callable[[str], None]
) -> None:
    began = time.monotonic()

    def near(expected: dict[str, float]) -> bool:
        fleet.push(expected[COLLECTED])
        found = fleet.scores()
        return found.keys() == expected.keys() and all(
            abs(found[name] - (1 + 99 * value)) <= 1 for name, value in expected.items()
        )

    wait_for(
        lambda: near({SCRAPED: 0.3, COLLECTED: 0.6, UNMONITORED: 0.9}),
        what="each cluster publishes its score",
        timeout=90,
        seen=lambda: (fleet.scores(), {name: agent.ready() for name, agent in fleet.agents.items()}),
    )
    note(f"three sources: scores after {time.monotonic() - began:.1f} s")
    wait_for(
        lambda: fleet.decision() == [UNMONITORED],
        what="OCM decides for the cluster without monitoring",
        seen=fleet.decision,
    )
    wait_for(
        lambda: near({SCRAPED: 0.3, COLLECTED: 0.95, UNMONITORED: 0.9}),
        what="the collector's value is scored",
    )
    wait_for(
        lambda: fleet.decision() == [COLLECTED], what="OCM decides for the collector's", seen=fleet.decision
    )
    fleet.exporter.set(MEASURE, {}, 1.0)
    wait_for(lambda: fleet.decision() == [SCRAPED], what="OCM decides for Prometheus'", seen=fleet.decision)
