"""One scorer ranks clusters with different monitoring through a MetricSource: one that has only its nodes,
one with a Prometheus, and the same one after it moved to OpenTelemetry.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from gitops_dsf.hub.urls import RECEIVER_PORT
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.exporter import LoadExporter
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.manifests import namespace as namespace_object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.prometheus import start_prometheus
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.clusterdns import ClusterDns
from tests.hub.scenario.fleet import PROMETHEUS, Fleet, cluster_set, settings
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import SCORE, Installation, installed
from tests.hub.scenario.placements import decided
from tests.hub.scenario.receiver import IMAGE, exporting, start_receiver
from tests.hub.scenario.spokeagent import SpokeAgent, spoke_agent
from tests.support.rendering import metric_source

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus"), pytest.mark.timeout(300)]

FLEET = "sources"
BARE, MONITORED = "cluster1", "cluster2"
CLUSTERS = (BARE, MONITORED)
RESOURCE = "free-cpu"
CONSUMERS = "consumers"
METRIC = "cpu_available_ratio"
"""A measure of source type Kubernetes. The Prometheus has a series of this name, and OpenTelemetry's gauge
cpu.available with the unit 1 gets it.
"""

SOURCE = metric_source(
    "platform",
    {"clusterSelector": {"matchLabels": {"monitoring": "prometheus"}}, "host": f"http://{PROMETHEUS}"},
    {"clusterSelector": {"matchLabels": {"monitoring": "opentelemetry"}}, "type": "OpenTelemetry"},
    {"type": "Kubernetes"},
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
PLACEMENT: Object = {
    "apiVersion": "gitops-dsf.io/v1alpha1",
    "kind": "ScoredPlacement",
    "metadata": {"name": "batch", "namespace": CONSUMERS},
    "spec": {
        "placement": {"numberOfClusters": 1, "clusterSets": [FLEET]},
        "scores": [{"scorer": RESOURCE}],
        "stickiness": 10,
    },
}
NODE: Object = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "half", "namespace": "default"},
    "spec": {
        "nodeName": "n1",
        "automountServiceAccountToken": False,
        "containers": [{"name": "a", "image": "registry.invalid/x", "resources": {"requests": {"cpu": "2"}}}],
    },
}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The fleet, its two agents, and what a test changes."""

    installation: Installation
    agents: dict[str, SpokeAgent]
    load: LoadExporter
    collector: MeterProvider

    @property
    def hub(self) -> Client:
        return self.installation.hub

    def wait_for_score(self, cluster: str, value: int) -> None:
        def score() -> list[int]:
            found = self.hub.find(SCORE, RESOURCE, namespace=cluster) or {}
            return [item["value"] for item in found.get("status", {}).get("scores", [])]

        wait_for(
            lambda: score() == [value],
            what=f"the score of {cluster} is {value}",
            timeout=60,
            seen=lambda: (score(), self.agents[cluster].process.tail()),
        )

    def wait_for_decision(self, cluster: str) -> None:
        wait_for(
            lambda: decided(self.hub, "batch", namespace=CONSUMERS) == [cluster],
            what=f"OCM decides for {cluster}",
            timeout=60,
            seen=lambda: decided(self.hub, "batch", namespace=CONSUMERS),
        )


def write_inventory(fleet: Fleet, *, monitoring: str) -> None:
    for name in CLUSTERS:
        item = cluster_document(name, fleet=FLEET)
        if name == MONITORED:
            item["metadata"]["labels"]["monitoring"] = monitoring
        fleet.write(f"clusters/{name}.yaml", item)


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, git_server: GitServer, hub: Client, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("sources")
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    configured = settings(fleet)
    configured["spec"]["agent"] = {
        "openTelemetry": {"image": IMAGE, "collectorNamespaces": ["observability"]}
    }
    fleet.write("gitops-dsf.yaml", configured)
    fleet.write("config/sources.yaml", SOURCE)
    fleet.write(f"scorers/{RESOURCE}.yaml", SCORER)
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    fleet.write("apps/batch.yaml", PLACEMENT)
    write_inventory(fleet, monitoring="prometheus")
    fleet.render()
    hub.apply(namespace_object(CONSUMERS))
    spoke = control_plane.spokes[BARE].admin
    with ExitStack() as stack:
        wait_for(
            lambda: spoke.find("v1/ServiceAccount", "default", namespace="default"),
            what="the namespace has a ServiceAccount for pods",
        )
        spoke.create(NODE)
        stack.callback(spoke.delete, "v1/Node", "n1")
        spoke.create(POD)
        stack.callback(remove_pod, spoke)
        spoke.patch_status("v1/Pod", "half", {"phase": "Running"}, namespace="default")
        load = stack.enter_context(LoadExporter())
        prometheus = start_prometheus(
            binaries=obtain("prometheus"),
            processes=control_plane.processes,
            folder=folder / "prometheus",
            exporter=load,
            name="prometheus-sources",
        )
        stack.callback(control_plane.processes.stop, "prometheus-sources")
        receiver = start_receiver(control_plane.processes, folder / "receiver")
        stack.callback(control_plane.processes.stop, "otlp-receiver")
        collector = exporting(receiver.url, service__name="collector")
        stack.callback(collector.shutdown)
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        # The agent and the receiver share the network of their pod, in which this is port 9090.
        services = {PROMETHEUS: prometheus.url, f"127.0.0.1:{RECEIVER_PORT}": receiver.url}
        names = stack.enter_context(ClusterDns(services))
        environment = names.environment | {"NO_PROXY": "none"}
        agents = {
            name: stack.enter_context(
                spoke_agent(control_plane, name, folder=folder / name, environment=environment)
            )
            for name in CLUSTERS
        }
        yield Scene(installation=installation, agents=agents, load=load, collector=collector)


def remove_pod(spoke: Client) -> None:
    """No kubelet confirms the end, so there is no grace period."""
    path = spoke.path("v1/Pod", POD["metadata"]["name"], namespace="default")
    spoke.request("DELETE", path, body={"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})


def test_clusters_with_different_monitoring_are_ranked_by_one_scorer(scene: Scene) -> None:
    """Half of the CPU of the bare cluster is requested. The Prometheus says what the other one has."""
    scene.load.set(METRIC, {}, 0.25)
    scene.wait_for_score(BARE, 50)
    scene.wait_for_score(MONITORED, 25)
    scene.wait_for_decision(BARE)
    scene.load.set(METRIC, {}, 0.75)
    scene.wait_for_score(MONITORED, 75)
    scene.wait_for_decision(MONITORED)


def test_a_cluster_with_another_label_asks_another_source(scene: Scene) -> None:
    """Its Prometheus still has the old value, and nobody asks it."""
    fleet = scene.installation.fleet
    scene.collector.get_meter("test").create_gauge("cpu.available", unit="1").set(0.1)
    assert scene.collector.force_flush()
    scene.load.set(METRIC, {}, 0.75)
    write_inventory(fleet, monitoring="opentelemetry")
    fleet.render()
    scene.installation.apply()
    scene.wait_for_score(MONITORED, 10)
    scene.wait_for_score(BARE, 50)
    scene.wait_for_decision(BARE)
