"""The hub scorer as its Deployment on the hub runs it: one process with the account, and so the rights and
policies, that we render for it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from gitops_dsf.render.hubscorer.names import NAME
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.pod import Pod
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process

HUB_NAMESPACE = "open-cluster-management"


@dataclass(frozen=True, kw_only=True)
class HubScorer:
    """A running one."""

    process: Process
    url: str

    def metrics(self) -> str:
        return httpx.get(f"{self.url}/metrics", timeout=5, trust_env=False).text

    def ready(self) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).json()
        return answer


@contextmanager
def hub_scorer(
    plane: ControlPlane, *, folder: Path, environment: dict[str, str] | None = None
) -> Iterator[HubScorer]:
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
        port = free_port()
        process = pod.start(
            [sys.executable, "-m", "dsf_agent"],
            f"--metrics-address=127.0.0.1:{port}",
            f"--hub-kubeconfig={pod.spoke_kubeconfig}",
            "--splay=0",
            "--prune-delay=1",
            "--log-format=text",
            environment=environment or {},
        )
        url = f"http://127.0.0.1:{port}"
        plane.processes.ready(process, lambda: _healthy(url))
        yield HubScorer(process=process, url=url)


def _healthy(url: str) -> str | None:
    try:
        answer = httpx.get(f"{url}/healthz", timeout=2, trust_env=False)
    except httpx.HTTPError as error:
        return repr(error)
    return None if answer.status_code == httpx.codes.OK else answer.text
