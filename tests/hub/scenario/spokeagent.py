"""Our agent as the Deployment of the add-on starts it: one process per spoke, with a directory that is
written as the kubelet does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from tests.hub.controlplane.plane import ControlPlane, addon_identity
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.agentprogram import AgentProgram, start

ADDON = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
DEPLOYMENT = "apps/v1/Deployment"


@dataclass(frozen=True, kw_only=True)
class SpokeAgent(AgentProgram):
    """The agent of one cluster."""

    cluster: str

    @property
    def summaries(self) -> Path:
        """The file that the agent watches."""
        return self.pod.volumes["config"] / "summaries"


def wait_for_deployment(plane: ControlPlane, cluster: str) -> None:
    """Waits until OCM's add-on manager and work agent have created the Deployment and its ServiceAccount
    on the spoke.
    """
    spoke = plane.spokes[cluster]
    for kind in (DEPLOYMENT, "v1/ServiceAccount"):
        wait_for(
            lambda kind=kind: spoke.admin.find(kind, ADDON_NAME, namespace=AGENT_NAMESPACE),  # type: ignore[misc]
            what=f"the agent's {kind} is on {cluster}",
            seen=lambda: plane.hub.admin.find(ADDON, ADDON_NAME, namespace=cluster),
        )


@contextmanager
def spoke_agent(
    plane: ControlPlane, cluster: str, *, folder: Path, environment: dict[str, str], waits: str = ""
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
        url = start(pod, f"--spoke-kubeconfig={pod.spoke_kubeconfig}", environment=environment, waits=waits)
        yield SpokeAgent(cluster=cluster, pod=pod, url=url)
