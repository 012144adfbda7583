"""The reconciler as its Deployment runs it.

One process with the account, and so the rights and policies, that we render for it.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import httpx
import yaml

from gitops_dsf.hub.names import MOVES_CONFIGMAP
from gitops_dsf.hub.names import RECONCILER as NAME
from gitops_dsf.pacing.stored import StoredMoves, read_moves
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.ports import free_port
from tests.hub.controlplane.processes import Process
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario import program

HUB_NAMESPACE = "gitops-dsf"
PREFIX = "gitops_dsf_reconciler"
FAST: Final = 5.0
"""The speed at which a reconciler still answers in time on a busy machine: of 4 s for a deletion
0.8 s are left.
"""


@dataclass(frozen=True, kw_only=True)
class Reconciler:
    """A running one."""

    process: Process
    url: str
    speed: float = 1.0
    """How many times as fast its clock runs."""

    def get(self, path: str) -> str:
        return httpx.get(f"{self.url}{path}", timeout=60, trust_env=False).text

    def series(self, name: str) -> dict[str, float]:
        """Labels as they are written, to value, of a metric by its name without the prefix."""
        found = {}
        for line in self.get("/metrics").splitlines():
            if line.startswith((f"{PREFIX}_{name}{{", f"{PREFIX}_{name} ")):
                labels, value = line.removeprefix(f"{PREFIX}_{name}").rsplit(" ", 1)
                found[labels] = float(value)
        return found

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of one series; None where there is none."""
        shown = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        return self.series(name).get(f"{{{shown}}}" if shown else "")

    @property
    def ready(self) -> bool:
        return self.get("/readyz") == "ok\n"

    @property
    def leads(self) -> bool:
        try:
            return self.metric("leader") == 1
        except httpx.TransportError:
            return False  # it ends when it loses the Lease

    def waits_for(self, application_set: str) -> set[str]:
        """The reasons for which copies of an ApplicationSet wait."""
        return {
            labels.split('reason="')[1].split('"')[0]
            for labels in self.series("moves_waiting")
            if f'applicationset="{application_set}"' in labels
        }

    @property
    def frozen(self) -> bool:
        """Whether the kernel has stopped it (SIGSTOP)."""
        status = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] == "T"

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def reconciling(
    plane: ControlPlane,
    *arguments: str,
    spec: Mapping[str, Any] | None = None,
    name: str = "reconciler",
    speed: float = 1.0,
    changes: str = "",
    proxy: str = "",
    until: Literal["leads", "ready", "answers"] = "leads",
) -> Iterator[Reconciler]:
    """Starts it with probes every second. The fleet must be installed.

    `spec` is that of its gitops-dsf.yaml. Waits until it leads and has read the hub, until it is
    ready (also as a replica that does not lead), or until its pages answer. `speed` and `changes`:
    see `scenario.program`. Through `proxy` when one is given.
    """
    port = free_port()
    probe = {"intervalSeconds": round(speed), "timeoutSeconds": round(2 * speed)}
    said = {"git": {"url": "https://git.example.com/fleet.git"}, **(spec or {})}
    said["reconciler"] = {"probe": probe, **said.get("reconciler", {})}
    config = Path(tempfile.mkdtemp(prefix="reconciler-")) / "gitops-dsf.yaml"
    document = manifest("gitops-dsf.io/v1alpha1/FleetRepository", "fleet", spec=said)
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    changed = speed != 1 or bool(changes)
    command = [
        sys.executable,
        *([program.__file__, str(speed), changes] if changed else ["-m", "gitops_dsf"]),
        "reconcile",
        f"--kubeconfig={plane.hub.service_account_kubeconfig(HUB_NAMESPACE, NAME, proxy=proxy)}",
        f"--metrics-address=127.0.0.1:{port}",
        f"--config={config}",
        *arguments,
    ]
    process = plane.processes.start(name, command)
    running = Reconciler(process=process, url=f"http://127.0.0.1:{port}", speed=speed)
    looks = {
        # One that was killed left a lease behind, and its 15 s count from the first look at it.
        "leads": lambda: running.leads and running.ready,
        "ready": lambda: running.ready,
        "answers": lambda: running.metric("leader") is not None,
    }
    try:
        wait_for(looks[until], what=f"{name} {until}", seen=process.tail)
        yield running
    finally:
        if process.running:
            running.thaw()
        plane.processes.stop(name)


def events(hub: Client, item: Object, reason: str) -> list[str]:
    """What Events say about an object as it is now: they outlive those of its name."""
    meta = item["metadata"]
    found = hub.list("v1/Event", namespace=meta["namespace"])
    return [
        each["message"]
        for each in found
        if each["reason"] == reason and each["involvedObject"].get("uid") == meta["uid"]
    ]


def stored_moves(hub: Client) -> StoredMoves:
    """What the reconciler keeps of moves; empty before it wrote any."""
    found = hub.find("v1/ConfigMap", MOVES_CONFIGMAP, namespace=HUB_NAMESPACE) or {}
    return read_moves(found.get("data"))
