"""The agent program as the Deployments that we render start it.

The agent of a spoke, with a directory that is written as the kubelet does, and the hub scorer. One
process each.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from demo.network import ClusterLoad, network
from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.render.hubscorer import NAME as HUB_SCORER
from tests.hub.controlplane.api import is_true
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process, answering
from tests.hub.controlplane.prometheus import LoadExporter, start_prometheus
from tests.hub.controlplane.waiting import wait_for, wait_until_there
from tests.hub.scenario.fleet import PROMETHEUS
from tests.support.agent import hasty

ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
DEPLOYMENT = "apps/v1/Deployment"
HUB_NAMESPACE = "gitops-dsf"


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A running one. ``url`` is the address of its pages."""

    pod: Pod
    url: str

    @property
    def process(self) -> Process:
        return self.pod.processes.running[self.pod.name]

    def metrics(self) -> str:
        return httpx.get(f"{self.url}/metrics", timeout=60, trust_env=False).text

    def ready(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=60, trust_env=False).json()
        return answer


def _started(pod: Pod, *arguments: str, environment: Mapping[str, str], waits: str) -> AgentProgram:
    """Starts the program with the arguments and the environment of its Deployment, and these, and
    waits until it is healthy. ``waits`` are shorter delays, see hasty.
    """
    port = free_port()
    process = pod.start(
        [sys.executable, "-P", hasty.__file__, waits]
        if waits
        else [sys.executable, "-m", "dsf_agent"],
        f"--metrics-address=127.0.0.1:{port}",
        "--splay=0",
        "--log-format=text",
        *arguments,
        environment=environment,
    )
    url = f"http://127.0.0.1:{port}"
    pod.processes.ready(process, answering(f"{url}/healthz"))
    return AgentProgram(pod=pod, url=url)


@contextmanager
def cluster_dns(services: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a process for which the service names of a cluster lead to programs on
    loopback, by the demo's forward proxy. `services` maps `host:port` as the cluster writes it to a
    URL. API servers on loopback are reached directly.
    """
    load = ClusterLoad(cluster="the spoke", percent=0, instance_type="", cores=0)
    with network(load, {name: urlsplit(url).netloc for name, url in services.items()}) as authority:
        yield {"HTTP_PROXY": f"http://{authority}", "NO_PROXY": "127.0.0.1,localhost"}


def wait_for_deployment(plane: ControlPlane, cluster: str) -> None:
    """Waits until OCM's add-on manager and work agent have created the Deployment and its
    ServiceAccount on the spoke.
    """

    def addon() -> Any:
        return plane.hub.admin.find(ADDON, ADDON_NAME, namespace=cluster)

    spoke = plane.spokes[cluster].admin
    for kind in (DEPLOYMENT, "v1/ServiceAccount"):
        wait_until_there(spoke, kind, ADDON_NAME, namespace=AGENT_NAMESPACE, seen=addon)


def make_available(plane: ControlPlane, cluster: str) -> None:
    """Says what a ready replica would make of the Deployment's status, because no kubelet runs
    here, and waits until OCM calls the add-on Available.
    """
    wait_for_deployment(plane, cluster)
    counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
    status = {**dict.fromkeys(counts, 1), "observedGeneration": 1}
    plane.spokes[cluster].admin.patch_status(
        DEPLOYMENT, ADDON_NAME, status, namespace=AGENT_NAMESPACE
    )

    def addon() -> Any:
        return plane.hub.admin.find(ADDON, ADDON_NAME, namespace=cluster)

    wait_for(
        lambda: is_true(addon(), "Available"),
        what=f"the add-on of {cluster} is Available",
        seen=addon,
    )


@contextmanager
def spoke_agent(
    plane: ControlPlane, cluster: str, *, folder: Path, environment: Mapping[str, str]
) -> Iterator[AgentProgram]:
    """Runs the agent of one cluster with the identity, arguments and environment of its
    Deployment.
    """
    wait_for_deployment(plane, cluster)
    pod = Pod(
        name=f"agent-{cluster}",
        spoke=plane.spokes[cluster],
        hub_kubeconfig=plane.hub.kubeconfig(addon_identity(cluster=cluster, addon=ADDON_NAME)),
        deployment=ADDON_NAME,
        namespace=AGENT_NAMESPACE,
        processes=plane.processes,
        folder=folder,
    )
    with pod:
        spoke = f"--spoke-kubeconfig={pod.spoke_kubeconfig}"
        yield _started(pod, spoke, environment=environment, waits="")


@contextmanager
def measuring_agent(
    plane: ControlPlane,
    cluster: str,
    exporter: LoadExporter,
    *,
    folder: Path,
    configuration: Mapping[str, Any] | None = None,
) -> Iterator[AgentProgram]:
    """Runs the agent of one cluster, and the Prometheus of the cluster, which scrapes the exporter.

    The Prometheus has the folder and this configuration, see `start_prometheus`.
    """
    name = f"prometheus-{cluster}"
    with ExitStack() as stack:
        url = start_prometheus(
            processes=plane.processes,
            folder=folder,
            name=name,
            exporter=exporter,
            configuration=configuration,
        )
        stack.callback(plane.processes.stop, name)
        services = stack.enter_context(cluster_dns({PROMETHEUS: url}))
        make_available(plane, cluster)
        agent = spoke_agent(plane, cluster, folder=folder / "agent", environment=services)
        yield stack.enter_context(agent)


@contextmanager
def hub_scorer(
    plane: ControlPlane, *, folder: Path, environment: Mapping[str, str]
) -> Iterator[AgentProgram]:
    """Runs it with the account, and so the rights and policies, that we render for it.

    The fleet must be installed.
    """
    pod = Pod(
        name="hub-scorer",
        spoke=plane.hub,
        deployment=HUB_SCORER,
        namespace=HUB_NAMESPACE,
        processes=plane.processes,
        folder=folder,
    )
    with pod:
        hub = f"--hub-kubeconfig={pod.spoke_kubeconfig}"
        yield _started(pod, hub, environment=environment, waits="prune=1")
