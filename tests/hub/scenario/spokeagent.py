"""Our agent as the Deployment of the add-on starts it: one process per spoke, with a directory that is
written as the kubelet does.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process
from tests.hub.controlplane.waiting import wait_for

ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
DEPLOYMENT = "apps/v1/Deployment"


@dataclass(frozen=True, kw_only=True)
class SpokeAgent:
    """A running agent. ``url`` is the address of its pages."""

    cluster: str
    pod: Pod
    url: str

    @property
    def process(self) -> Process:
        """The current process. A test may have killed one and started another."""
        return self.pod.processes.running[self.pod.name]

    @property
    def summaries(self) -> Path:
        """The file that the agent watches."""
        return self.pod.volumes["config"] / "summaries"

    def metrics(self) -> str:
        return httpx.get(f"{self.url}/metrics", timeout=5, trust_env=False).text

    def ready(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).json()
        return answer


def wait_for_deployment(plane: ControlPlane, cluster: str) -> None:
    """Waits until OCM's add-on manager and work agent have created the Deployment and its ServiceAccount
    on the spoke.
    """
    spoke = plane.spokes[cluster]
    for kind in (DEPLOYMENT, "v1/ServiceAccount"):
        wait_for(
            lambda kind=kind: spoke.admin.find(kind, ADDON_NAME, namespace=AGENT_NAMESPACE),  # type: ignore[misc]
            what=f"the agent's {kind} is on {cluster}",
            timeout=60,
            seen=lambda: plane.hub.admin.find(ADDON, ADDON_NAME, namespace=cluster),
        )


@contextmanager
def spoke_agent(
    plane: ControlPlane, cluster: str, *, folder: Path, environment: dict[str, str]
) -> Iterator[SpokeAgent]:
    """Starts the agent of one cluster with the identity, arguments and environment of its Deployment."""
    wait_for_deployment(plane, cluster)
    pod = Pod(
        name=f"agent-{cluster}",
        spoke=plane.spokes[cluster],
        hub=plane.hub,
        hub_identity=addon_identity(cluster=cluster, addon=ADDON_NAME),
        deployment=ADDON_NAME,
        namespace=AGENT_NAMESPACE,
        processes=plane.processes,
        folder=folder,
    )
    with pod:
        port = free_port()
        process = pod.start(
            [sys.executable, "-m", "dsf_agent"],
            f"--metrics-address=127.0.0.1:{port}",
            f"--spoke-kubeconfig={pod.spoke_kubeconfig}",
            "--splay=0",
            "--log-format=text",
            environment=environment,
        )
        url = f"http://127.0.0.1:{port}"
        plane.processes.ready(process, lambda: _healthy(url))
        yield SpokeAgent(cluster=cluster, pod=pod, url=url)


def _healthy(url: str) -> str | None:
    try:
        answer = httpx.get(f"{url}/healthz", timeout=2, trust_env=False)
    except httpx.HTTPError as error:
        return repr(error)
    return None if answer.status_code == httpx.codes.OK else answer.text
