"""Metrics that are pushed over OTLP become a score on the hub.

The receiver is the suite's Prometheus, with the flags and the configuration file that OCM delivered
to the spoke. The metrics come from OpenTelemetry's own SDK and exporter.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.render.receiver import NAME as OTLP
from gitops_dsf.urls.defaults import RECEIVER_PORT
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.processes import answering
from tests.hub.controlplane.prometheus import ask
from tests.hub.controlplane.waiting import wait_for, wait_until_there
from tests.hub.scenario.agents import (
    DEPLOYMENT,
    AgentProgram,
    cluster_dns,
    spoke_agent,
    wait_for_deployment,
)
from tests.hub.scenario.fleet import RESOURCE, SCORING, new_fleet
from tests.hub.scenario.headroom import HeadroomApi
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import scores

pytestmark = [pytest.mark.family("kubernetes", "ocm", "prometheus")]

COLLECTED, OTHER = "cluster1", "cluster2"
IMAGE = "quay.io/prometheus/prometheus:v3.16.0"
NEVER = 3_600_000
"""Milliseconds between two exports of a test's metrics, which it sends itself."""
QUERY = (
    'label_replace(sum by (k8s_node_name) (cpu_load_ratio), "node", "$1", "k8s_node_name", "(.+)")'
)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The spoke with the receiver, and what pushes to it."""

    spoke: Client
    agent: AgentProgram
    nodes: dict[str, MeterProvider]
    receiver: str
    """Its URL."""


@pytest.fixture(scope="module")
def collected(
    control_plane: ControlPlane, git_server: GitServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("otlp")
    source = {"type": "OpenTelemetry", "params": {"query": QUERY, "range": 60, "step": 5}}
    selector = {"matchLabels": {"collector": "yes"}}
    fleet = new_fleet(
        git_server,
        "otlp",
        guestbook=False,
        source=source,
        clusterSelector=selector,
        scoreDimensionFormat="${node}",
    )
    fleet.configure(
        agent={"openTelemetry": {"image": IMAGE, "collectorNamespaces": ["observability"]}}
    )
    fleet.join(COLLECTED, collector="yes")
    with ExitStack() as stack:
        api = stack.enter_context(HeadroomApi())
        stack.enter_context(installed(fleet, control_plane))
        wait_for_deployment(control_plane, OTHER)
        spoke = control_plane.spokes[COLLECTED].admin
        wait_for_deployment(control_plane, COLLECTED)
        wait_for(lambda: sidecar(spoke), what="the Deployment has the receiver")
        # The work agent creates the objects of a work one after another.
        for kind in ("v1/ConfigMap", "v1/Service"):
            wait_until_there(spoke, kind, OTLP, namespace=AGENT_NAMESPACE)
        # The agent and the receiver share the network of their pod, and no proxy is asked for a
        # loopback address. So the receiver needs the very port of its pod: no other test may take
        # it.
        address = f"127.0.0.1:{RECEIVER_PORT}"
        receiver = f"http://{address}"
        environment = stack.enter_context(cluster_dns({SCORING: api.url}))
        agent = stack.enter_context(
            spoke_agent(control_plane, COLLECTED, folder=folder, environment=environment)
        )
        # The container as a process, with its rendered flags; only the address is this machine's.
        process = agent.pod.start(
            [obtain("prometheus").path("prometheus")],
            container="otlp-receiver",
            name="otlp-receiver",
            instead={f"--web.listen-address=:{RECEIVER_PORT}": f"--web.listen-address={address}"},
        )
        stack.callback(control_plane.processes.stop, "otlp-receiver")
        control_plane.processes.ready(process, answering(f"{receiver}/-/ready"))
        nodes = {node: exporting(receiver, node) for node in ("n1", "n2")}
        for provider in nodes.values():
            stack.callback(provider.shutdown)
        yield Cluster(spoke=spoke, agent=agent, nodes=nodes, receiver=receiver)


def sidecar(spoke: Client) -> Object | None:
    """The receiver's container in the Deployment that OCM delivered."""
    found = spoke.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)["spec"]["template"]["spec"]
    return next(
        (one for one in found.get("initContainers", []) if one["name"] == "otlp-receiver"), None
    )


def exporting(receiver: str, node: str) -> MeterProvider:
    """Meters of one node; `force_flush` pushes their values."""
    exporter = OTLPMetricExporter(endpoint=f"{receiver}/api/v1/otlp/v1/metrics")
    return MeterProvider(
        metric_readers=[PeriodicExportingMetricReader(exporter, export_interval_millis=NEVER)],
        resource=Resource({"k8s.node.name": node}),
        shutdown_on_exit=False,
    )


def test_the_cluster_with_the_scorer_has_the_receiver_without_credentials_and_the_other_has_none(
    collected: Cluster, control_plane: ControlPlane
) -> None:
    other = control_plane.spokes[OTHER].admin
    assert sidecar(other) is None
    assert other.find("v1/Service", OTLP, namespace=AGENT_NAMESPACE) is None
    assert collected.spoke.find("v1/Service", OTLP, namespace=AGENT_NAMESPACE) is not None
    found = sidecar(collected.spoke)
    assert found is not None
    assert found["restartPolicy"] == "Always"
    assert [entry["name"] for entry in found["env"]] == ["GOMEMLIMIT"]
    assert {mount["name"] for mount in found["volumeMounts"]} == {"otlp-config", "otlp-data"}
    pod = collected.spoke.get(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)["spec"][
        "template"
    ]["spec"]
    (agent,) = pod["containers"]
    assert "HUB_KUBECONFIG" in {entry["name"] for entry in agent["env"]}


def test_pushed_metrics_become_a_score_on_the_hub(collected: Cluster, hub: Client) -> None:
    def published() -> list[int]:
        for node, load in (("n1", 0.2), ("n2", 0.75)):
            collected.nodes[node].get_meter("test").create_gauge("cpu.load", unit="1").set(load)
            assert collected.nodes[node].force_flush()
        return sorted(scores(hub, COLLECTED, RESOURCE).values())

    wait_for(
        lambda: len(published()) == 2,
        what="the agent publishes both nodes",
        seen=lambda: (published(), collected.agent.ready()),
    )
    assert all(
        abs(value - wanted) <= 1 for value, wanted in zip(published(), (25, 80), strict=True)
    )


def test_gauges_get_the_suffix_of_their_unit_and_sums_get_total(collected: Cluster) -> None:
    """As docs/scores/sources.md says."""
    node = collected.nodes["n1"]
    units = {
        "k8s.pod.cpu.usage": ("{cpu}", "k8s_pod_cpu_usage"),
        "k8s.node.filesystem.available": ("By", "k8s_node_filesystem_available_bytes"),
        "k8s.pod.uptime": ("s", "k8s_pod_uptime_seconds"),
        "system.cpu.utilization": ("1", "system_cpu_utilization_ratio"),
    }
    for name, (unit, _) in units.items():
        node.get_meter("test").create_gauge(name, unit=unit).set(1.5)
    node.get_meter("test").create_counter("http.requests").add(3)
    assert node.force_flush()
    for translated in (*(name for _, name in units.values()), "http_requests_total"):
        assert len(ask(collected.receiver, translated)) == 1, translated


@pytest.mark.parametrize(
    "path", ["/-/quit", "/api/v1/admin/tsdb/delete_series?match[]=a", "/api/v1/write"]
)
def test_whoever_may_push_can_neither_stop_it_nor_delete_nor_write_otherwise(
    collected: Cluster, path: str
) -> None:
    answer = httpx.post(f"{collected.receiver}{path}", timeout=60, trust_env=False)
    assert answer.status_code >= 400
    assert re.search("not enabled|disabled|needs to be enabled", answer.text)
