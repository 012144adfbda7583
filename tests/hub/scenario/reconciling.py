"""The reconciler as its Deployment runs it: one process with the account, and so the rights and policies,
that we render for it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from gitops_dsf.render.reconciler.names import NAME
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process
from tests.hub.controlplane.waiting import wait_for

HUB_NAMESPACE = "open-cluster-management"
DYNAMIC_SCORER = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"
EVENT = "v1/Event"
PREFIX = "gitops_dsf_reconciler"


@dataclass(frozen=True, kw_only=True)
class Reconciler:
    """A running one."""

    process: Process
    url: str

    def get(self, path: str) -> str:
        return httpx.get(f"{self.url}{path}", timeout=5, trust_env=False).text

    def metric(self, name: str, **labels: str) -> float | None:
        """A series by its name without the prefix."""
        shown = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        wanted = f"{PREFIX}_{name}{{{shown}}} " if shown else f"{PREFIX}_{name} "
        return next(
            (
                float(line.split()[-1])
                for line in self.get("/metrics").splitlines()
                if line.startswith(wanted)
            ),
            None,
        )


@contextmanager
def reconciling(plane: ControlPlane, *arguments: str) -> Iterator[Reconciler]:
    """Starts it with probes every second, and waits until it leads and has read the hub. The fleet must be
    installed.
    """
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gitops_dsf",
        "reconcile",
        f"--kubeconfig={plane.hub.service_account_kubeconfig(HUB_NAMESPACE, NAME)}",
        f"--metrics-address=127.0.0.1:{port}",
        "--probe-interval=1",
        "--probe-timeout=2",
        *arguments,
    ]
    process = plane.processes.start("reconciler", command)
    running = Reconciler(process=process, url=f"http://127.0.0.1:{port}")
    try:
        # One that was killed left a lease behind, and its 15 s count from the first look at it.
        wait_for(
            lambda: running.metric("leader") == 1 and running.get("/readyz") == "ok\n",
            what="it works",
            seen=process.tail,
        )
        yield running
    finally:
        plane.processes.stop("reconciler")


def events(hub: Client, name: str, reason: str) -> list[str]:
    """What Events say about a DynamicScorer as it is now; every fleet has one of this name, and Events
    outlive them.
    """
    uid = hub.get(DYNAMIC_SCORER, name, namespace=HUB_NAMESPACE)["metadata"]["uid"]
    found = hub.list(EVENT, namespace=HUB_NAMESPACE)
    return [
        item["message"]
        for item in found
        if item["reason"] == reason and item["involvedObject"].get("uid") == uid
    ]


def forget_events(hub: Client) -> None:
    """Deletes the Events of the hub namespace: what is said again would otherwise be what a test before has
    heard.
    """
    hub.request("DELETE", hub.path(EVENT, namespace=HUB_NAMESPACE))
