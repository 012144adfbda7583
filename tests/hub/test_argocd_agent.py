"""Clusters that argocd-agents reach, on the real Argo CD.

What the principal finds on the hub, and what becomes of moves by what it writes there.

The modules of argocd-agent cannot be had here, so neither principal nor agents run. The cluster
Secrets are those that `argocd-agentctl agent create` of v0.7.0 writes (cmd/ctl/agent.go), and
`Principal` does what the principal does to an Application of the hub (principal/event.go and
internal/manager/application/application.go of v0.7.0).
"""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.times import timestamp_of
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET, copies, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import Fleet, new_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import prefer
from tests.hub.scenario.reconciling import FAST, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

SECRET, CONFIGMAP = "v1/Secret", "v1/ConfigMap"
PARAMETERS = "argocd-agent-params"
PRUNES = "resources-finalizer.argocd.argoproj.io"
SKIP = "argocd.argoproj.io/skip-reconcile"


def agent_secret(name: str) -> Object:
    """As `argocd-agentctl agent create NAME` writes it."""
    data = {
        "name": name,
        "server": f"https://argocd-agent-resource-proxy:9090?agentName={name}",
        "config": json.dumps(
            {"tlsClientConfig": {"insecure": False, "certData": "", "keyData": ""}}
        ),
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    labels = {
        "argocd.argoproj.io/secret-type": "cluster",
        "argocd-agent.argoproj-labs.io/agent-name": name,
    }
    annotations = {"managed-by": "argocd-agent", SKIP: "true"}
    meta = {"labels": labels, "annotations": annotations}
    return manifest(SECRET, f"cluster-{name}", namespace="argocd", meta=meta, data=encoded)


@dataclass(frozen=True, kw_only=True)
class Principal:
    """What the principal of argocd-agents writes on the hub, for an agent that is connected."""

    hub: Client

    def report(self, cluster: str, *, health: str, ago: float = 0.0) -> None:
        """Replaces the status of the copy on a cluster with the one that its agent sent, and takes
        away the request for a refresh, which Argo CD of the cluster has served. That compared it
        so many seconds ago.
        """
        name = f"{GUESTBOOK}-{cluster}"
        status = {
            # The hub's Argo CD may have refused the copy while its cluster had no Secret.
            "conditions": None,
            "health": {"status": health},
            "sync": {"status": "Synced"},
            "reconciledAt": timestamp_of(time.time() - ago),
        }
        annotations = {"argocd.argoproj.io/refresh": None}
        change = {"metadata": {"annotations": annotations}, "status": status}
        self.hub.patch(APPLICATION, name, change, namespace="argocd")

    def finish(self, cluster: str) -> None:
        """The agent deleted its copy with the workload: the finalizers go."""
        change = {"metadata": {"finalizers": None}}
        self.hub.patch(APPLICATION, f"{GUESTBOOK}-{cluster}", change, namespace="argocd")


@dataclass(frozen=True, kw_only=True)
class ArgocdAgentScene:
    """A fleet whose clusters are reached through agents."""

    plane: ControlPlane
    fleet: Fleet
    principal: Principal

    @property
    def hub(self) -> Client:
        return self.plane.hub.admin

    def move(self, cluster: str) -> None:
        """Makes a cluster the best, and waits for the Application that the decision creates."""
        prefer(self.hub, GUESTBOOK, cluster, seconds=900)
        refresh_set(self.hub, GUESTBOOK)
        wait_for(lambda: cluster in copies(self.hub, GUESTBOOK), what=f"a copy for {cluster}")

    def settle(self, cluster: str) -> None:
        """The application runs there and nowhere else. Needs a reconciler that runs."""
        self.move(cluster)
        self.principal.report(cluster, health="Healthy")

        def look() -> bool:
            there = copies(self.hub, GUESTBOOK, going=True)
            for name in there.keys() - copies(self.hub, GUESTBOOK).keys():
                self.principal.finish(name)
            return [*there] == [cluster] and f"running on {cluster}" in self.standing()

        wait_for(look, what=f"it runs on {cluster} only", seen=self.standing)

    def findings(self, check: str) -> list[dict[str, Any]]:
        kubeconfig = str(self.plane.hub.kubeconfig())
        ran = self.fleet.run(
            "doctor", "--context", "context", "--kubeconfig", kubeconfig, "-o", "json"
        )
        assert ran.returncode in {0, 1}, ran.stderr
        return [item for item in json.loads(ran.stdout)["findings"] if item["check"] == check]

    def error_about(self, cluster: str) -> dict[str, Any] | None:
        """What `cluster-secrets` finds wrong with a cluster."""
        found = self.findings("cluster-secrets")
        errors = [item for item in found if item["state"] == "error"]
        return next((item for item in errors if cluster in item["message"]), None)

    def knows_again(self, cluster: str) -> bool:
        """Whether nothing is wrong with a cluster after its agent reported the copy there."""
        if cluster in copies(self.hub, GUESTBOOK):
            self.principal.report(cluster, health="Healthy")
        return self.error_about(cluster) is None

    def standing(self) -> str:
        """What `status` says of the application."""
        kubeconfig = str(self.plane.hub.kubeconfig())
        ran = self.fleet.run("status", "--context", "context", "--kubeconfig", kubeconfig)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.partition("\nApplications\n")[2]


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[ArgocdAgentScene]:
    fleet = new_fleet(git_server, "agents")
    with ExitStack() as stack:
        for name in SPOKES:
            hub.apply(agent_secret(name))
            stack.callback(argocd.remove_cluster_secret, name)
        stack.callback(hub.delete, CONFIGMAP, PARAMETERS, namespace="argocd")
        stack.enter_context(installed(fleet, control_plane))
        # Before the tree goes: nobody else ends the deletion of an Application.
        stack.callback(wait_for, lambda: not _released(hub), what="the Applications are gone")
        stack.callback(hub.delete, APPLICATION_SET, GUESTBOOK, namespace="argocd")
        yield ArgocdAgentScene(plane=control_plane, fleet=fleet, principal=Principal(hub=hub))


def _released(hub: Client) -> list[str]:
    """The Applications that are still there; it deletes them, and takes their finalizers."""
    names = [item["metadata"]["name"] for item in copies(hub, GUESTBOOK, going=True).values()]
    for name in names:
        change: Object = {"metadata": {"finalizers": None}}
        hub.patch(APPLICATION, name, change, namespace="argocd")
        hub.delete(APPLICATION, name, namespace="argocd")
    return names


def compared(hub: Client, cluster: str) -> str:
    """What Argo CD says of the copy on a cluster after it compared it; empty before."""
    status: Object = copies(hub, GUESTBOOK)[cluster].get("status") or {}
    return str(status.get("sync", {}).get("status", ""))


def test_a_decision_names_the_agent_and_the_hub_leaves_its_copy_alone(
    scene: ArgocdAgentScene,
) -> None:
    """It is in the namespace of Argo CD, so only a mapping by destination finds the agent."""
    scene.move("cluster1")
    copy = copies(scene.hub, GUESTBOOK)["cluster1"]
    assert copy["metadata"]["namespace"] == "argocd"
    assert copy["spec"]["destination"] == {"name": "cluster1", "namespace": GUESTBOOK}
    assert copy["metadata"]["finalizers"] == [PRUNES], "the workload goes with the Application"
    # In a test before, its agent may have reported one that was there already.
    scene.hub.patch(APPLICATION, copy["metadata"]["name"], {"status": None}, namespace="argocd")
    hold_for(
        lambda: not compared(scene.hub, "cluster1"),
        what="the hub's Application controller does not compare it",
        seconds=7,  # it looks every 5 s
    )
    secret = {"metadata": {"annotations": {SKIP: None}}}
    scene.hub.patch(SECRET, "cluster-cluster1", secret, namespace="argocd")
    try:
        wait_for(
            lambda: compared(scene.hub, "cluster1"),
            what="without the annotation it does",
        )
    finally:
        scene.hub.apply(agent_secret("cluster1"))


def test_a_move_waits_for_what_agents_report(scene: ArgocdAgentScene) -> None:
    with reconciling(scene.plane, speed=FAST):
        scene.settle("cluster1")
        scene.move("cluster2")
        hold_for(
            lambda: sorted(copies(scene.hub, GUESTBOOK)) == ["cluster1", "cluster2"],
            what="the agent of cluster2 reported nothing, so the old copy stays",
            seconds=4,
        )
        scene.principal.report("cluster2", health="Progressing")
        hold_for(
            lambda: "cluster1" in copies(scene.hub, GUESTBOOK),
            what="the new copy is not healthy yet",
            seconds=4,
        )
        scene.principal.report("cluster2", health="Healthy")
        wait_for(
            lambda: "cluster1" not in copies(scene.hub, GUESTBOOK),
            what="the old copy is deleted",
            seen=scene.standing,
        )
        hold_for(
            lambda: "cluster1" in copies(scene.hub, GUESTBOOK, going=True),
            what="the agent of cluster1 is away, so the Application waits for it",
            seconds=7,
        )
        standing = scene.standing()
        assert "cluster2: running" in standing, standing
        assert "cluster1: leaving" in standing, standing
        scene.principal.finish("cluster1")
        wait_for(
            lambda: [*copies(scene.hub, GUESTBOOK, going=True)] == ["cluster2"],
            what="it goes once its agent came back",
        )
        assert "running on cluster2" in scene.standing()


def test_doctor_checks_how_the_principal_maps(scene: ArgocdAgentScene, tmp_path: Path) -> None:
    """Its printed command mends it."""
    assert [item["state"] for item in scene.findings("cluster-secrets")] == ["ok"]
    [found] = scene.findings("argocd-agent")
    assert found["state"] == "unknown", "nobody says how it maps"
    # As the manifests of v0.7.0 have it.
    data = {"principal.destination-based-mapping": "false"}
    scene.hub.apply(manifest(CONFIGMAP, PARAMETERS, namespace="argocd", data=data))
    [found] = scene.findings("argocd-agent")
    assert found["state"] == "error"
    assert "by namespace" in found["message"]
    kubectl = scene.plane.kubernetes.binaries.path("kubectl")
    subprocess.run(
        ["bash", "-euc", found["fix"]],
        env={"HOME": str(tmp_path), "PATH": f"{kubectl.parent}:/usr/bin:/bin"},
        check=True,
        capture_output=True,
        timeout=60,
    )
    [found] = scene.findings("argocd-agent")
    assert (found["state"], found["message"]) == (
        "ok",
        "2 clusters through argocd-agent, by destination",
    )


def test_doctor_names_an_agent_that_reports_no_more(scene: ArgocdAgentScene) -> None:
    """Its copy looks healthy, and no object of the hub says that the agent is down."""

    def silent() -> list[str]:
        found = scene.findings("argocd-agent")
        return [item["message"] for item in found if "reported no comparison" in item["message"]]

    scene.move("cluster2")
    scene.principal.report("cluster2", health="Healthy", ago=600)
    assert silent() == []
    scene.principal.report("cluster2", health="Healthy", ago=3 * 3600)
    try:
        [message] = silent()
        assert message.startswith("cluster2 reported no comparison of an Application for 3 h, so")
    finally:
        scene.principal.report("cluster2", health="Healthy")


def test_doctor_finds_a_decided_cluster_without_an_agent(
    scene: ArgocdAgentScene, argocd: ArgoCD
) -> None:
    scene.move("cluster2")
    argocd.remove_cluster_secret("cluster1")
    try:
        prefer(scene.hub, GUESTBOOK, "cluster1", seconds=900)
        # Without an Application it is left out; one that was made before is refused.
        finding = wait_for(
            lambda: scene.error_about("cluster1"),
            what="doctor finds that Argo CD does not know cluster1",
            seen=lambda: scene.findings("cluster-secrets"),
        )
        assert finding["fix"].startswith("argocd-agentctl agent create cluster1 ")
    finally:
        scene.hub.apply(agent_secret("cluster1"))
        # The hub's Argo CD leaves a refused copy alone from now on, so only its agent mends it.
        wait_for(lambda: scene.knows_again("cluster1"), what="Argo CD knows cluster1 again")
