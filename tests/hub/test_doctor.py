"""`gitops-dsf doctor` and `gitops-dsf status` on a real hub.

doctor is content where all is well; what is broken is found, and the printed command repairs it.
What status says of scores, decisions and applications is what OCM and Argo CD made of them.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from dsf_wire.constants import AGENT_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import CLUSTER_ROLE_BINDING, RBAC, Client, Object, bound, manifest
from tests.hub.controlplane.applications import copies, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN, Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import (
    hold_for,
    wait_for,
    wait_until_gone,
    wait_until_there,
)
from tests.hub.scenario import acm
from tests.hub.scenario.agents import HUB_NAMESPACE, make_available
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, Fleet, new_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import BINDING, PLACEMENT, decided, prefer, publish
from tests.support.pages import blocks

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

ROOT = Path(__file__).parents[2]
OCM_NAMESPACE, ARGOCD_NAMESPACE = "open-cluster-management-hub", "argocd"
GLOBAL = "global"
CONFIGMAP = "gitops-dsf-placement-decisions"
WRITTEN = {MANAGED_BY_LABEL: AGENT_MANAGER}
ARGOCD_SETTINGS = ("argocd-cm", "argocd-cmd-params-cm")
LEASE, RECONCILER = "coordination.k8s.io/v1/Lease", "gitops-dsf-reconciler"
LACKING = {"argocd-delivery": "warning"}
"""What stays on this control plane: the tree is applied without Argo CD's Applications."""
OCM_IMAGE, ARGOCD_IMAGE = (
    "quay.io/open-cluster-management/placement:v1.2.1",
    "quay.io/argoproj/argocd:v3.6.1",
)
WORKLOADS = (
    ("Deployment", OCM_NAMESPACE, "cluster-manager-addon-manager-controller", OCM_IMAGE),
    ("Deployment", OCM_NAMESPACE, "cluster-manager-placement-controller", OCM_IMAGE),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-applicationset-controller", ARGOCD_IMAGE),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-server", ARGOCD_IMAGE),
    ("Deployment", ARGOCD_NAMESPACE, "argocd-dex-server", "ghcr.io/dexidp/dex:v2.46.0"),
    (
        "Deployment",
        ARGOCD_NAMESPACE,
        "argocd-redis",
        "public.ecr.aws/docker/library/redis:8.10.1-alpine",
    ),
    ("StatefulSet", ARGOCD_NAMESPACE, "argocd-application-controller", ARGOCD_IMAGE),
)


@dataclass(kw_only=True)
class Clinic:
    """A hub on which everything is as it should be: what the control plane lacks (pods, operators,
    agents) is there as objects.
    """

    hub: Client
    plane: ControlPlane
    fleet: Fleet
    tools: Path
    """Folder with kubectl and gitops-dsf, as a PATH has them."""

    def publish(self, cluster: str, value: int) -> None:
        """As our agent does it; valid for the scorer's TTL of 900 s."""
        publish(self.hub, cluster, RESOURCE, {SCORE: value}, seconds=900, labels=WRITTEN)

    def decision(self) -> list[str]:
        return decided(self.hub, APPLICATION)

    def move(self, cluster: str) -> None:
        """Makes this cluster the best by far, and waits until OCM decides for it and Argo CD makes
        the copy.
        """
        prefer(self.hub, APPLICATION, cluster, seconds=900, labels=WRITTEN)
        refresh_set(self.hub, APPLICATION)
        wait_for(
            lambda: cluster in copies(self.hub, APPLICATION),
            what=f"Argo CD makes the copy on {cluster}",
        )

    def run(
        self, verb: str, *arguments: str, identity: Identity = ADMIN
    ) -> "subprocess.CompletedProcess[str]":
        kubeconfig = str(self.plane.hub.kubeconfig(identity))
        return self.fleet.run(verb, "--context", "context", "--kubeconfig", kubeconfig, *arguments)

    def findings(self, check: str = "", identity: Identity = ADMIN) -> list[dict[str, Any]]:
        ran = self.run("doctor", "-o", "json", identity=identity)
        assert ran.returncode in {0, 1}, ran.stderr
        assert ran.stderr == ""
        found: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]
        return [item for item in found if item["state"] != "ok" and check in {"", item["check"]}]

    def find(self, check: str, text: str) -> dict[str, Any]:
        """The finding with this text, as soon as it is there."""

        def look() -> dict[str, Any] | None:
            return next((item for item in self.findings(check) if text in item["message"]), None)

        return wait_for(look, what=f"{check} says {text!r}", seen=self.findings)

    def error(self, check: str) -> dict[str, Any] | None:
        """The first error of a check; None when there is none."""
        errors = (item for item in self.findings(check) if item["state"] == "error")
        return next(errors, None)

    def fix(self, finding: dict[str, Any]) -> None:
        """Runs the printed command as it is, in the fleet repository."""
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", finding["fix"]],
            cwd=self.fleet.root,
            env={**os.environ, "PATH": f"{self.tools}:/usr/bin:/bin", "HOME": str(self.tools)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, f"{finding['fix']}\n{ran.stdout}{ran.stderr}"

    def status(self) -> dict[str, Any]:
        ran = self.run("status", "-o", "json")
        assert (ran.returncode, ran.stderr) == (0, "")
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    def placement(self) -> dict[str, Any]:
        """The application's, as status tells it."""
        wanted = f"{ARGOCD_NAMESPACE}/{APPLICATION}"
        return next(item for item in self.status()["placements"] if item["placement"] == wanted)

    def content(self, check: str) -> None:
        wait_for(
            lambda: not self.findings(check),
            what=f"{check} is content again",
            seen=lambda: self.findings(check),
        )


def workload(kind: str, namespace: str, name: str, image: str) -> Object:
    """A Deployment or StatefulSet, as an object: nothing runs it here."""
    labels = {"app.kubernetes.io/name": name}
    pod = {"serviceAccountName": name, "containers": [{"name": "main", "image": image}]}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        **({"serviceName": name} if kind == "StatefulSet" else {}),
    }
    return manifest(
        f"apps/v1/{kind}", name, namespace=namespace, meta={"labels": labels}, spec=spec
    )


def lease() -> Object:
    """As a reconciler renewed it now; long enough for the tests."""
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "pod-a", "leaseDurationSeconds": 3600, "renewTime": renewed}
    return manifest(LEASE, RECONCILER, namespace=HUB_NAMESPACE, spec=spec)


@pytest.fixture(scope="module")
def clinic(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    hub: Client,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Clinic]:
    tools = tmp_path_factory.mktemp("tools")
    (tools / "kubectl").symlink_to(control_plane.kubernetes.binaries.path("kubectl"))
    (tools / "gitops-dsf").write_text(f'#!/bin/sh\nexec {sys.executable} -m gitops_dsf "$@"\n')
    (tools / "gitops-dsf").chmod(0o755)
    fleet = new_fleet(git_server, "doctor", secret="api-token")
    clinic = Clinic(hub=hub, plane=control_plane, fleet=fleet, tools=tools)
    with ExitStack() as stack:
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        stack.enter_context(installed(fleet, control_plane))
        for kind, namespace, what, image in WORKLOADS:
            hub.apply(workload(kind, namespace, what, image))
            stack.callback(hub.delete, f"apps/v1/{kind}", what, namespace=namespace)
        hub.apply(lease())
        stack.callback(hub.delete, LEASE, RECONCILER, namespace=HUB_NAMESPACE)
        for cluster in fleet.clusters:
            make_available(control_plane, cluster)
        clinic.move("cluster1")
        stack.callback(settings_as_they_are(hub))
        # Argo CD's installation has no health checks of ours: the first finding.
        assert "gitops-dsf install " in clinic.find("argocd-settings", "no health check")["fix"]
        hub.apply(
            yaml.safe_load((ROOT / "argocd/install/argocd-cm-health.yaml").read_text("utf-8"))
        )
        clinic.content("argocd-settings")
        yield clinic


def settings_as_they_are(hub: Client) -> Callable[[], None]:
    """Takes back what tests and fixes will have changed in Argo CD's settings by then."""
    before = {
        name: hub.get("v1/ConfigMap", name, namespace=ARGOCD_NAMESPACE).get("data") or {}
        for name in ARGOCD_SETTINGS
    }

    def restore() -> None:
        for name, data in before.items():
            now = hub.get("v1/ConfigMap", name, namespace=ARGOCD_NAMESPACE).get("data") or {}
            hub.patch(
                "v1/ConfigMap",
                name,
                {"data": {**dict.fromkeys(now), **data}},
                namespace=ARGOCD_NAMESPACE,
            )

    return restore


def test_a_hub_where_all_is_well_gives_no_finding(clinic: Clinic) -> None:
    wait_for(
        lambda: {item["check"]: item["state"] for item in clinic.findings()} == LACKING,
        what="there is no finding but one",
        seen=clinic.findings,
    )
    ran = clinic.run("doctor")
    assert ran.returncode == 0, ran.stdout
    assert "0 errors, 1 warning, 0 unknown" in ran.stdout
    assert clinic.run("doctor", "--strict").returncode == 1


def test_an_applicationset_that_generates_nothing_looks_again_by_the_printed_command(
    clinic: Clinic,
) -> None:
    hub = clinic.hub
    hub.delete("v1/ConfigMap", CONFIGMAP, namespace=ARGOCD_NAMESPACE)
    refresh_set(hub, APPLICATION)
    finding = clinic.find("applicationsets", "generates nothing")
    # Argo CD 3.3 still looks when it was to look after its last success, in at most
    # moves.refreshSeconds: that is to fail, too.
    hold_for(lambda: error_of(hub, APPLICATION), what="it goes on complaining", seconds=6)
    for one in decision_readers(ARGOCD_NAMESPACE):
        hub.apply(one)
    assert clinic.findings("applicationsets") != [], "Argo CD would look again only after 3 minutes"
    clinic.fix(finding)
    clinic.content("applicationsets")


def test_the_documented_role_is_enough_and_nothing_is_no_crash(clinic: Clinic) -> None:
    page = (ROOT / "docs/operate/status.md").read_text(encoding="utf-8")
    role = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    viewer, stranger = Identity(user="test:viewer"), Identity(user="test:stranger")
    hub, name = clinic.hub, role["metadata"]["name"]
    with ExitStack() as stack:
        stack.callback(hub.delete, f"{RBAC}/ClusterRole", name)
        stack.callback(hub.delete, CLUSTER_ROLE_BINDING, "test-viewer")
        hub.apply(role)
        hub.apply(bound("test-viewer", name, user=viewer.user))
        wait_for(
            lambda: (
                {item["check"]: item["state"] for item in clinic.findings(identity=viewer)}
                == LACKING
            ),
            what="the viewer sees what an administrator sees",
            seen=lambda: clinic.findings(identity=viewer),
        )
        # Hubs with Red Hat Advanced Cluster Management have two kinds more.
        stack.enter_context(acm.kinds(hub))
        assert {
            item["check"]: item["state"] for item in clinic.findings(identity=viewer)
        } == LACKING
    alone = clinic.findings(identity=stranger)
    assert {item["state"] for item in alone} == {"unknown"}
    assert all(
        "needs the right to" in item["message"]
        and "the ClusterRole gitops-dsf-doctor" in item["fix"]
        for item in alone
    )
    assert clinic.run("doctor", identity=stranger).returncode == 1


def test_the_flip_that_is_printed_is_the_one_at_which_ocm_flips(clinic: Clinic) -> None:
    clinic.move("cluster1")
    unreachable = next(item for item in clinic.placement()["flips"] if item["change"] == "in")
    assert unreachable["score"] is None, "90 and ten points of stickiness: no score is above 100"
    clinic.publish("cluster1", 60)
    wait_for(
        lambda: clinic.status()["scorers"][0]["summary"]["max"] == 60, what="the score is there"
    )
    flip = next(item for item in clinic.placement()["flips"] if item["change"] == "in")
    assert flip["cluster"] == "cluster2"
    needed = flip["score"]["needed"]
    clinic.publish("cluster2", needed - 1)
    wait_for(lambda: clinic.placement()["settled"], what="OCM would leave it as it is")
    hold_for(
        lambda: clinic.decision() == ["cluster1"], what="one point less does not flip it", seconds=2
    )
    clinic.publish("cluster2", needed)
    wait_for(lambda: clinic.decision() == ["cluster2"], what="OCM flips", seen=clinic.decision)
    assert clinic.placement()["decided"] == ["cluster2"]


def test_the_upstream_addon_that_an_operator_keeps_stays_without_its_agents(clinic: Clinic) -> None:
    """OCM's own add-on manager installs and removes the agents, by a Placement and its binding."""
    hub = clinic.hub
    addon = "dynamic-scoring-framework"
    states = "addon.open-cluster-management.io/v1alpha1/ManagedClusterAddOn"
    placed = {"name": "dynamic-scoring-placement", "namespace": acm.NAMESPACE}
    kept = [
        manifest("v1/Namespace", acm.NAMESPACE),
        acm.multiclusterhub(),
        workload("Deployment", acm.NAMESPACE, addon, "quay.io/stolostron/controller:v5.1"),
        manifest(
            PLACEMENT, placed["name"], namespace=acm.NAMESPACE, spec={"clusterSets": [GLOBAL]}
        ),
        manifest(BINDING, GLOBAL, namespace=acm.NAMESPACE, spec={"clusterSet": GLOBAL}),
        manifest(
            "addon.open-cluster-management.io/v1alpha1/ClusterManagementAddOn",
            addon,
            spec={"installStrategy": {"type": "Placements", "placements": [placed]}},
        ),
    ]
    with ExitStack() as stack:
        stack.enter_context(acm.kinds(hub))
        for item in kept:
            hub.apply(item)
            if item["kind"] != "Namespace":
                kind = f"{item['apiVersion']}/{item['kind']}"
                metadata = item["metadata"]
                stack.callback(
                    hub.delete, kind, metadata["name"], namespace=metadata.get("namespace")
                )
        for cluster in clinic.fleet.clusters:
            wait_until_there(hub, states, addon, namespace=cluster)
        finding = clinic.find("upstream", "has its agents on")
        assert [item["message"] for item in clinic.findings("upstream")] == [finding["message"]]
        clinic.fix(finding)
        clinic.content("upstream")
        for cluster in clinic.fleet.clusters:
            wait_until_gone(hub, states, addon, namespace=cluster)
        assert hub.find("apps/v1/Deployment", addon, namespace=acm.NAMESPACE) is not None


def test_a_cluster_that_no_gitopscluster_imports_is_told_with_its_placement(clinic: Clinic) -> None:
    """The objects of docs/start/acm.md, in the namespace of the Argo CD that is here."""
    hub = clinic.hub
    _, clusters, importer, *_ = (
        block.text for block in blocks(ROOT / "docs/start/acm.md") if block.language == "yaml"
    )
    objects = [
        *yaml.safe_load_all(clusters.replace("openshift-gitops", ARGOCD_NAMESPACE)),
        yaml.safe_load(importer.replace("openshift-gitops", ARGOCD_NAMESPACE)),
    ]
    set_binding, placement, gitops_cluster = objects
    secrets = hub.list(
        "v1/Secret", namespace=ARGOCD_NAMESPACE, labels="argocd.argoproj.io/secret-type=cluster"
    )
    assert secrets
    with ExitStack() as stack:
        stack.enter_context(acm.kinds(hub))
        hub.apply(gitops_cluster)
        clinic.content("cluster-secrets")
        for secret in secrets:
            stack.callback(hub.create, _recreated(secret))
            hub.delete("v1/Secret", secret["metadata"]["name"], namespace=ARGOCD_NAMESPACE)
        # Of the cluster that a test before has made the best. Argo CD leaves it out, or refuses the
        # copy that is there.
        finding = wait_for(
            lambda: clinic.error("cluster-secrets"),
            what="a cluster without a Secret is an error",
            seen=clinic.findings,
        )
        [cluster] = [name for name in clinic.fleet.clusters if name in finding["message"]]
        assert "GitOpsCluster argo-acm-importer imports what it chooses" in finding["fix"]
        assert f"-n {ARGOCD_NAMESPACE} describe placement all-clusters " in finding["fix"]

        # As the fix says. ACM's controller would import the cluster now; here it does not run.
        if hub.find(BINDING, GLOBAL, namespace=ARGOCD_NAMESPACE) is None:
            stack.callback(hub.delete, BINDING, GLOBAL, namespace=ARGOCD_NAMESPACE)
        stack.callback(hub.delete, PLACEMENT, "all-clusters", namespace=ARGOCD_NAMESPACE)
        for item in (set_binding, placement):
            hub.apply(item)
        wait_for(lambda: cluster in decided(hub, "all-clusters"), what="the Placement chooses it")
        finding = clinic.find("cluster-secrets", cluster)
        assert "describe gitopscluster argo-acm-importer " in finding["fix"]
    clinic.content("cluster-secrets")


def _recreated(item: Object) -> Object:
    """A Secret of a list as it can be created again: items of a list have no apiVersion."""
    metadata = item["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    return {**item, "apiVersion": "v1", "kind": "Secret", "metadata": kept}
