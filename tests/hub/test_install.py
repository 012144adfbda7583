"""`gitops-dsf install` and `uninstall` on a real hub with OCM and Argo CD.

An empty hub, a loop that runs, a second run that changes nothing, and what stays afterwards.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION_SET, copies
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import Fleet, application, new_fleet
from tests.hub.scenario.installation import ADDON, KEPT, Installation
from tests.hub.scenario.placements import CLUSTER_SET, DECISION
from tests.hub.scenario.reconciling import HUB_NAMESPACE, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTER = "cluster.open-cluster-management.io/v1/ManagedCluster"
SCORE = "cluster.open-cluster-management.io/v1alpha1/AddOnPlacementScore"
MOVES = "gitops-dsf-moves"
MAINTENANCE = {"key": "gitops-dsf.io/maintenance", "effect": "NoSelectIfNew"}
DEPLOYMENT = "apps/v1/Deployment"
OURS = "app.kubernetes.io/managed-by=gitops-dsf,app.kubernetes.io/part-of=gitops-dsf"
HEALTH_KEY = "resource.customizations.health.work.open-cluster-management.io_ManifestWork"


@dataclass(frozen=True, kw_only=True)
class Empty:
    """A fleet in git, and a hub that knows nothing of it."""

    fleet: Fleet
    plane: ControlPlane
    hub: Client

    def run(self, verb: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The verb as a process, because other things happen while it waits."""
        hub = ("--context", "context", "--kubeconfig", str(self.plane.hub.kubeconfig()))
        return subprocess.run(
            [sys.executable, "-m", "gitops_dsf", verb, *hub, *arguments],
            cwd=self.fleet.root,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def ours(self) -> list[str]:
        """Everything with our labels that uninstall takes back."""
        folders = (*self.fleet.directories(), "argocd")
        items = [item for folder in folders for _, item in self.fleet.objects(folder)]
        # The kind of scorers is not there before the first installation.
        others = [item for item in items if item["kind"] not in {*KEPT, "DynamicScorer"}]
        kinds = {f"{item['apiVersion']}/{item['kind']}" for item in others}
        return [
            f"{kind.rpartition('/')[2]} {item['metadata']['name']}"
            for kind in sorted(kinds)
            for item in self.hub.list(kind, labels=OURS)
        ]

    def generated(self) -> list[Object]:
        return [*copies(self.hub, GUESTBOOK, going=True).values()]

    def health_checks(self) -> list[str]:
        data = self.hub.get("v1/ConfigMap", "argocd-cm", namespace="argocd").get("data") or {}
        return [key for key in data if key.startswith("resource.customizations.health.")]


@pytest.fixture
def empty(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[Empty]:
    fleet = new_fleet(git_server, "installed")
    workload = git_server.create("installed-guestbook")
    greeting = manifest("v1/ConfigMap", "guestbook", data={"greeting": "hello"})
    workload.commit({"guestbook.yaml": json.dumps(greeting)})
    fleet.write(
        f"apps/{GUESTBOOK}.yaml", application("installed", source={"repoURL": workload.url})
    )
    installation = Installation(fleet=fleet, plane=control_plane)
    found = Empty(fleet=fleet, plane=control_plane, hub=hub)
    with ExitStack() as stack:
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        installation.label_clusters()
        stack.callback(hub.delete, CLUSTER_SET, fleet.name)
        fleet.render()
        fleet.publish("A fleet")
        stack.callback(_nothing_left, found)
        _nothing_left(found)  # nor of other modules, which share the hub
        yield found


def _nothing_left(empty: Empty) -> None:
    empty.run("uninstall", "--delete-applications", "--timeout", "90")
    wait_for(lambda: not empty.generated(), what="the placed applications are gone")


def _close(hub: Client, cluster: str) -> None:
    """What a reconciler leaves that closed a cluster for a maintenance, and then ended."""
    # A list is replaced as a whole, so the taints of OCM are written, too.
    taints = hub.get(CLUSTER, cluster)["spec"].get("taints") or []
    hub.patch(CLUSTER, cluster, {"spec": {"taints": [*taints, MAINTENANCE]}})


def _taints(hub: Client, cluster: str) -> list[Object]:
    taints: list[Object] = hub.get(CLUSTER, cluster)["spec"].get("taints") or []
    return [{key: taint[key] for key in ("key", "effect")} for taint in taints]


def test_from_an_empty_hub_to_a_loop_and_back(empty: Empty, control_plane: ControlPlane) -> None:
    checked = empty.run("install", "--dry-run")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "Application argocd/gitops-dsf-platform: would be created" in checked.stdout
    assert empty.ours() == []
    assert empty.health_checks() == []
    *_, closed = empty.fleet.clusters
    # Before the policies of the reconciler are there, which let nobody else write it.
    empty.hub.apply(manifest(SCORE, MOVES, namespace=closed))

    with ThreadPoolExecutor(max_workers=1) as pool:
        installing = pool.submit(empty.run, "install", "--timeout", "240")
        wait_for(
            lambda: (
                empty.hub.find(
                    "rbac.authorization.k8s.io/v1/ClusterRoleBinding", "gitops-dsf:reconciler"
                )
                and empty.hub.find(
                    "v1/ServiceAccount", "gitops-dsf-reconciler", namespace=HUB_NAMESPACE
                )
                and empty.hub.find(DEPLOYMENT, "gitops-dsf-reconciler", namespace=HUB_NAMESPACE)
            ),
            what="Argo CD has applied the reconciler and its rights",
            timeout=180,
            seen=lambda: installing.result() if installing.done() else empty.ours(),
        )
        # At its own speed: with a Lease of 3 s it would end on a busy machine, and nobody starts it
        # again.
        with reconciling(control_plane, until="answers"):
            # In place of a kubelet, which says so about the pods that this process stands for.
            ready = {"replicas": 1, "readyReplicas": 1}
            empty.hub.patch_status(
                DEPLOYMENT, "gitops-dsf-reconciler", ready, namespace=HUB_NAMESPACE
            )
            installed = installing.result()
            assert "The loop runs" in installed.stdout, installed.stdout + installed.stderr
            assert " 0 errors" in installed.stdout.partition("The loop runs")[2], installed.stdout
            assert installed.returncode == 0, installed.stdout + installed.stderr
            assert HEALTH_KEY in empty.health_checks()
            wait_for(empty.generated, what="the application is placed")
            wait_for(
                lambda: all(
                    item.get("status", {}).get("sync", {}).get("status") == "Synced"
                    for item in empty.generated()
                ),
                what="the application is synced",
            )
            again = empty.run("install")
            applied = again.stdout.partition("What is applied")[2].partition("What Argo CD does")[0]
            assert again.returncode == 0, again.stdout + again.stderr
            changed = [
                line for line in applied.split("\n") if line and not line.endswith(": unchanged")
            ]
            assert changed == []

            where = {item["spec"]["destination"]["name"] for item in empty.generated()}
            told = empty.run("uninstall", "--dry-run")
            assert told.returncode == 0, told.stdout + told.stderr
            assert "ApplicationSet argocd/guestbook: would be deleted" in told.stdout
            assert empty.hub.find(APPLICATION_SET, GUESTBOOK, namespace="argocd")

    ledger = manifest("v1/ConfigMap", MOVES, namespace=HUB_NAMESPACE, data={"ledger": "{}"})
    empty.hub.apply(ledger)
    _close(empty.hub, closed)
    assert empty.hub.find(SCORE, MOVES, namespace=closed)
    assert MAINTENANCE in _taints(empty.hub, closed)

    removed = empty.run("uninstall", "--timeout", "120")
    assert removed.returncode == 0, removed.stdout + removed.stderr
    assert empty.ours() == []
    assert empty.health_checks() == []
    assert f"AddOnPlacementScore {closed}/{MOVES}: deleted" in removed.stdout
    assert empty.hub.find(SCORE, MOVES, namespace=closed) is None
    for name in (MOVES, "gitops-dsf-suspended"):
        assert empty.hub.find("v1/ConfigMap", name, namespace=HUB_NAMESPACE) is None
    assert MAINTENANCE not in _taints(empty.hub, closed)
    for name in empty.fleet.clusters:
        spoke = control_plane.spokes[name].admin
        assert empty.hub.find(ADDON, ADDON_NAME, namespace=name) is None
        assert spoke.find("v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE) is None
        assert spoke.find("v1/Namespace", AGENT_NAMESPACE) is not None
    for name in ("dynamicscorers", "dynamicscoringconfigs"):
        crd = f"{name}.dynamic-scoring.open-cluster-management.io"
        assert empty.hub.find("apiextensions.k8s.io/v1/CustomResourceDefinition", crd)
        assert crd in removed.stdout
    assert empty.hub.find("v1/Namespace", HUB_NAMESPACE)

    wait_for(
        lambda: not empty.hub.list(DECISION, namespace="argocd"), what="the decisions are gone"
    )
    hold_for(
        lambda: {item["spec"]["destination"]["name"] for item in empty.generated()} == where,
        what="the application stays where it runs",
        seconds=5,
    )
    assert all(not item["metadata"].get("ownerReferences") for item in empty.generated())
    assert all("deletionTimestamp" not in item["metadata"] for item in empty.generated())
    [cluster] = where
    assert control_plane.spokes[cluster].admin.find(
        "v1/ConfigMap", "guestbook", namespace=GUESTBOOK
    )

    nothing = empty.run("uninstall")
    assert nothing.returncode == 0, nothing.stdout + nothing.stderr
    assert "no object of gitops-dsf is on this hub" in nothing.stdout

    last = empty.run("uninstall", "--delete-applications")
    assert last.returncode == 0, last.stdout + last.stderr
    # Argo CD deletes the workload with its Application.
    wait_until_gone(
        control_plane.spokes[cluster].admin, "v1/ConfigMap", "guestbook", namespace=GUESTBOOK
    )
