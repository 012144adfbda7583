"""The hub scorer as its Deployment on the hub runs it: one process with the account, and so the rights and
policies, that we render for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitops_dsf.render.hubscorer import NAME
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.pod import Pod
from tests.hub.scenario.agentprogram import AgentProgram, start

HUB_NAMESPACE = "open-cluster-management"


@contextmanager
def hub_scorer(
    plane: ControlPlane, *, folder: Path, environment: dict[str, str] | None = None
) -> Iterator[AgentProgram]:
    """Starts it with the arguments and volumes of its Deployment. The fleet must be installed."""
    pod = Pod(
        name="hub-scorer",
        spoke=plane.hub,
        hub=plane.hub,
        hub_identity=ADMIN,
        deployment=NAME,
        namespace=HUB_NAMESPACE,
        processes=plane.processes,
        folder=folder,
    )
    with pod:
        hub = f"--hub-kubeconfig={pod.spoke_kubeconfig}"
        yield AgentProgram(pod=pod, url=start(pod, hub, environment=environment or {}, waits="prune=1"))
