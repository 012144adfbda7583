"""`gitops-dsf doctor` on a real hub: content where all is well; what is broken is found, and the printed
command repairs it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.hub import freshness
from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import Object
from tests.hub.controlplane.applications import refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN, Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.commandline import Ran
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORER
from tests.hub.scenario.placements import PLACEMENT
from tests.hub.scenario.prettyhub import (
    ARGOCD_NAMESPACE,
    CLUSTERS,
    HUB_NAMESPACE,
    OCM_NAMESPACE,
    ROOT,
    SCORES,
    SECRET,
    WORKLOADS,
    PrettyHub,
    pretty_hub,
    workload,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

CONFIGMAP = "gitops-dsf-placement-decisions"
SCORER_KIND = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"
ARGOCD_SETTINGS = ("argocd-cm", "argocd-cmd-params-cm")
LACKING = {"argocd-delivery": "warning"}
"""What stays on this control plane: the tree is applied without Argo CD's Applications."""


@dataclass(kw_only=True)
class Clinic:
    scene: PrettyHub
    tools: Path
    """Folder with kubectl and gitops-dsf, as a PATH has them."""

    def doctor(self, identity: Identity = ADMIN, *arguments: str) -> Ran:
        kubeconfig = str(self.scene.plane.kubeconfig(identity))
        return self.scene.fleet.run("doctor", "--context", "context", "--kubeconfig", kubeconfig, *arguments)

    def findings(self, check: str = "", identity: Identity = ADMIN) -> list[dict[str, Any]]:
        ran = self.doctor(identity, "-o", "json")
        assert ran.code in {0, 1}, ran.stderr
        assert ran.stderr == ""
        found: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]
        return [item for item in found if item["state"] != "ok" and check in {"", item["check"]}]

    def find(self, check: str, text: str) -> dict[str, Any]:
        """The finding with this text, as soon as it is there."""

        def look() -> dict[str, Any] | None:
            return next((item for item in self.findings(check) if text in item["message"]), None)

        return wait_for(look, what=f"{check} says {text!r}", timeout=60, seen=self.findings)

    def fix(self, finding: dict[str, Any]) -> None:
        """Runs the printed command as it is, in the fleet repository."""
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", finding["fix"]],
            cwd=self.scene.fleet.root,
            env={**os.environ, "PATH": f"{self.tools}:/usr/bin:/bin", "HOME": str(self.tools)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, f"{finding['fix']}\n{ran.stdout}{ran.stderr}"

    def content(self, check: str) -> None:
        wait_for(
            lambda: not self.findings(check),
            what=f"{check} is content again",
            timeout=60,
            seen=lambda: self.findings(check),
        )


@pytest.fixture(scope="module")
def clinic(
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Clinic]:
    tools = tmp_path_factory.mktemp("tools")
    (tools / "kubectl").symlink_to(control_plane.kubernetes.binaries.path("kubectl"))
    (tools / "gitops-dsf").write_text(f'#!/bin/sh\nexec {sys.executable} -m gitops_dsf "$@"\n')
    (tools / "gitops-dsf").chmod(0o755)
    with ExitStack() as stack:
        scene = stack.enter_context(pretty_hub(control_plane, argocd, git_server, name="doctor"))
        clinic = Clinic(scene=scene, tools=tools)
        stack.callback(settings_as_they_are(scene))
        # Argo CD's installation has no health checks of ours: the first finding, and the first fix.
        clinic.fix(clinic.find("argocd-settings", "no health check"))
        clinic.content("argocd-settings")
        yield clinic


def settings_as_they_are(scene: PrettyHub) -> Callable[[], None]:
    """Takes back what tests and fixes will have changed in Argo CD's settings by then."""
    before = {
        name: scene.hub.get("v1/ConfigMap", name, namespace=ARGOCD_NAMESPACE).get("data") or {}
        for name in ARGOCD_SETTINGS
    }

    def restore() -> None:
        for name, data in before.items():
            now = scene.hub.get("v1/ConfigMap", name, namespace=ARGOCD_NAMESPACE).get("data") or {}
            scene.hub.patch(
                "v1/ConfigMap", name, {"data": {**dict.fromkeys(now), **data}}, namespace=ARGOCD_NAMESPACE
            )

    return restore


@pytest.fixture(autouse=True)
def _fresh(clinic: Clinic) -> None:
    """Scores and the Lease as agents and a reconciler would have renewed them by now: all tests together may
    outlast them.
    """
    clinic.scene.publish("cluster1", 90)
    clinic.scene.publish("cluster2", 5)
    clinic.scene.lead()


def test_a_hub_where_all_is_well_gives_no_finding(clinic: Clinic) -> None:
    wait_for(
        lambda: {item["check"]: item["state"] for item in clinic.findings()} == LACKING,
        what="there is no finding but one",
        timeout=90,
        seen=clinic.findings,
    )
    ran = clinic.doctor()
    assert ran.code == 0, ran.stdout
    assert "0 errors, 1 warning, 0 unknown" in ran.stdout
    assert clinic.doctor(ADMIN, "--strict").code == 1


def delete(kind: str, name: str, namespace: str | None = None) -> Callable[[Clinic], None]:
    return lambda clinic: clinic.scene.hub.delete(kind, name, namespace=namespace)


def patch(kind: str, name: str, change: Object, namespace: str | None = None) -> Callable[[Clinic], None]:
    return lambda clinic: void(clinic.scene.hub.patch(kind, name, change, namespace=namespace))


def apply(item: Object) -> Callable[[Clinic], None]:
    return lambda clinic: void(clinic.scene.hub.apply(item))


def void(_: object) -> None:
    return None


def upstream_work() -> Object:
    content = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "default"},
    }
    return {
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "dynamic-scoring-config-manifestwork", "namespace": "cluster1"},
        "spec": {"workload": {"manifests": [content]}},
    }


BROKEN: dict[str, tuple[str, str, str, Callable[[Clinic], None]]] = {
    "the upstream controller runs": (
        "upstream",
        "error",
        "both write the scoring ConfigMap",
        apply(
            workload(
                "Deployment",
                HUB_NAMESPACE,
                "dynamic-scoring-framework-controller",
                "example.com/theirs:1",
                labels={"app.kubernetes.io/name": "dynamic-scoring-framework"},
            )
        ),
    ),
    "the upstream add-on is installed": (
        "upstream",
        "error",
        "two agents publish",
        apply(
            {
                "apiVersion": "addon.open-cluster-management.io/v1alpha1",
                "kind": "ClusterManagementAddOn",
                "metadata": {"name": "dynamic-scoring-framework"},
                "spec": {},
            }
        ),
    ),
    "the upstream addon left its work": (
        "upstream",
        "error",
        "same ConfigMap as ours on cluster1",
        apply(upstream_work()),
    ),
    "masks are on the hub": (
        "upstream",
        "warning",
        "would start writing works",
        apply(
            {
                "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
                "kind": "DynamicScoringConfig",
                "metadata": {"name": "dynamic-scoring-config", "namespace": HUB_NAMESPACE},
                "spec": {"masks": []},
            }
        ),
    ),
    "Argo CD deletes whatever an ApplicationSet says": (
        "argocd-policy",
        "error",
        "is not obeyed",
        patch(
            "v1/ConfigMap",
            "argocd-cmd-params-cm",
            {"data": {"applicationsetcontroller.policy": "sync"}},
            ARGOCD_NAMESPACE,
        ),
    ),
    "Argo CD tracks by label": (
        "argocd-settings",
        "warning",
        "is label",
        patch(
            "v1/ConfigMap",
            "argocd-cm",
            {"data": {"application.resourceTrackingMethod": "label"}},
            ARGOCD_NAMESPACE,
        ),
    ),
    "a health check is gone": (
        "argocd-settings",
        "warning",
        "no health check for cluster.open-cluster-management.io_Placement",
        patch(
            "v1/ConfigMap",
            "argocd-cm",
            {"data": {"resource.customizations.health.cluster.open-cluster-management.io_Placement": None}},
            ARGOCD_NAMESPACE,
        ),
    ),
    "a score has no scorer": (
        "scores-owned",
        "warning",
        "no scorer has that name",
        lambda clinic: clinic.scene.publish("cluster1", 5, resource="retired"),
    ),
}
"""Name: check, state, a part of the message, and what breaks it. The printed fix is a command that repairs
it.
"""


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_found_and_the_printed_command_repairs_it(clinic: Clinic, what: str) -> None:
    check, state, text, breaks = BROKEN[what]
    clinic.content(check)
    breaks(clinic)
    finding = clinic.find(check, text)
    assert finding["state"] == state
    clinic.fix(finding)
    clinic.content(check)
    # Argo CD may have looked while it could not read decisions, and would look again only after 3 minutes.
    for item in clinic.findings("applicationsets"):
        clinic.fix(item)
    clinic.content("applicationsets")


@contextmanager
def restored(*changes: Callable[[], object]) -> Iterator[None]:
    with ExitStack() as stack:
        for change in changes:
            stack.callback(change)
        yield


def test_a_decided_cluster_that_argocd_does_not_know(clinic: Clinic) -> None:
    scene = clinic.scene

    def known() -> None:
        for cluster in CLUSTERS:
            spoke = scene.plane.spokes[cluster]
            scene.argocd.add_cluster_secret(cluster, spoke.url, spoke.kubeconfig())

    with restored(known):
        scene.argocd.remove_cluster_secret("cluster2")
        found = clinic.find("cluster-secrets", "no cluster Secret for cluster2")
        assert (found["state"], found["fix"].partition("  #")[0]) == (
            "warning",
            "argocd cluster add cluster2 --name cluster2",
        )
    clinic.content("cluster-secrets")


def test_versions_that_are_too_old(clinic: Clinic) -> None:
    hub = clinic.scene.hub
    back = [lambda one=one: hub.apply(workload(*one)) for one in WORKLOADS]
    with restored(*back):
        hub.apply(
            workload(
                "Deployment",
                ARGOCD_NAMESPACE,
                "argocd-applicationset-controller",
                "quay.io/argoproj/argocd:v3.3.8",
            )
        )
        name = "cluster-manager-placement-controller"
        hub.apply(
            workload(
                "Deployment",
                OCM_NAMESPACE,
                name,
                "quay.io/open-cluster-management/placement:v1.1.0",
                args=["controller"],
            )
        )
        args = ["manager", "--feature-gates=AddonManagement=false"]
        manager = "cluster-manager-addon-manager-controller"
        hub.apply(
            workload(
                "Deployment",
                OCM_NAMESPACE,
                manager,
                "quay.io/open-cluster-management/addon-manager:v1.2.1",
                args=args,
            )
        )
        assert clinic.find("argocd-version", "3.3.8 is older than 3.3.9")["state"] == "error"
        assert clinic.find("ocm-version", "placement-controller 1.1.0")["state"] == "error"
        assert "no add-on is installed" in clinic.find("ocm-features", "AddonManagement is off")["message"]
        assert clinic.doctor().code == 1
    clinic.content("argocd-version")


def test_without_deployments_versions_are_unknown(clinic: Clinic) -> None:
    hub = clinic.scene.hub
    with restored(*(lambda one=one: hub.apply(workload(*one)) for one in WORKLOADS)):
        for kind, namespace, name, _ in WORKLOADS:
            hub.delete(f"apps/v1/{kind}", name, namespace=namespace)
        states = {item["check"]: item["state"] for item in clinic.findings() if item["state"] == "unknown"}
    assert states == {"ocm-version": "unknown", "ocm-features": "unknown", "argocd-version": "unknown"}


def test_a_placement_that_ocm_does_not_understand_or_cannot_fill(clinic: Clinic) -> None:
    hub = clinic.scene.hub
    wanted = hub.get(PLACEMENT, APPLICATION, namespace=ARGOCD_NAMESPACE)["spec"]
    with restored(
        lambda: hub.patch(
            PLACEMENT, APPLICATION, {"spec": {"numberOfClusters": 1}}, namespace=ARGOCD_NAMESPACE
        )
    ):
        hub.patch(PLACEMENT, APPLICATION, {"spec": {"numberOfClusters": 5}}, namespace=ARGOCD_NAMESPACE)
        assert clinic.find("placements", "has too few clusters")["state"] == "warning"
    broken = {"mode": "Bogus", "configurations": wanted["prioritizerPolicy"]["configurations"]}
    with restored(
        lambda: hub.patch(
            PLACEMENT,
            APPLICATION,
            {"spec": {"prioritizerPolicy": wanted["prioritizerPolicy"]}},
            namespace=ARGOCD_NAMESPACE,
        )
    ):
        hub.patch(PLACEMENT, APPLICATION, {"spec": {"prioritizerPolicy": broken}}, namespace=ARGOCD_NAMESPACE)
        assert clinic.find("placements", "is misconfigured")["state"] == "error"
    clinic.content("placements")


def test_an_applicationset_that_generates_nothing_looks_again_by_the_printed_command(clinic: Clinic) -> None:
    hub = clinic.scene.hub
    hub.delete("v1/ConfigMap", CONFIGMAP, namespace=ARGOCD_NAMESPACE)
    refresh_set(hub, APPLICATION, namespace=ARGOCD_NAMESPACE)
    finding = clinic.find("applicationsets", "generates nothing")
    for one in decision_readers(ARGOCD_NAMESPACE):
        hub.apply(one)
    assert clinic.findings("applicationsets") != [], "Argo CD would look again only after 3 minutes"
    clinic.fix(finding)
    clinic.content("applicationsets")


def test_scores_that_are_old_missing_or_written_by_somebody_else(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = clinic.scene
    # The scorer and the clusters of the suite are younger than the grace, and then a score is awaited, not
    # missing.
    monkeypatch.setattr(freshness, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "GRACE_INTERVALS", 0)
    with restored(lambda: scene.publish("cluster1", 90), lambda: scene.publish("cluster2", 5)):
        scene.publish("cluster1", 90, age=1000)
        assert "counts as 0" in clinic.find("scores-fresh", "cluster1: expired: cpu-headroom")["message"]
        scene.hub.delete(SCORES, RESOURCE, namespace="cluster2")
        clinic.find("scores-fresh", "cluster2: missing: cpu-headroom")
        token = clinic.find("token-secrets", "has no score on cluster1, cluster2")
        assert f"-n dynamic-scoring get secret {SECRET}" in token["fix"]
        assert "which the hub cannot see" in token["message"]
        scene.publish("cluster2", 5, ours=False)
        clinic.find("scores-owned", "was not written by our agent")
        scene.hub.delete(SCORES, RESOURCE, namespace="cluster2")
    for check in ("scores-fresh", "scores-owned", "token-secrets"):
        clinic.content(check)


def test_a_score_that_somebody_else_writes_beside_our_agent(clinic: Clinic) -> None:
    """As an upstream agent does that goes on after the takeover: label and validUntil stay ours."""
    hub = clinic.scene.hub
    clinic.content("scores-owned")
    hub.patch_status(SCORES, RESOURCE, {"scores": [{"name": SCORER, "value": -50}]}, namespace="cluster1")
    assert (
        clinic.find("scores-owned", "cluster1/cpu-headroom is written by our agent and by ")["state"]
        == "error"
    )
    with restored(lambda: clinic.scene.publish("cluster1", 90)):
        hub.delete(SCORES, RESOURCE, namespace="cluster1")
    clinic.content("scores-owned")


def test_an_agent_and_a_cluster_that_are_away(clinic: Clinic) -> None:
    scene = clinic.scene
    with restored(lambda: scene.agent_available("cluster1")):
        scene.agent_available("cluster1", replicas=0)
        wait_for(
            lambda: scene.available("cluster1") != "True", what="OCM sees that the agent is away", timeout=90
        )
        assert clinic.find("agents", "agent of cluster1 is not Available")["state"] == "warning"
    wait_for(lambda: scene.available("cluster1") == "True", what="it is back", timeout=90)
    with restored(lambda: scene.plane.set_available("cluster2", "True")):
        scene.plane.set_available("cluster2", "Unknown")
        assert clinic.find("ocm-clusters", "cluster2 is not available")["state"] == "warning"
    wait_for(lambda: scene.plane.taints("cluster2") == [], what="its taint is gone")
    clinic.content("ocm-clusters")
    clinic.content("agents")


def test_a_scorer_that_is_down_or_drifted(clinic: Clinic) -> None:
    def condition(kind: str, status: str, reason: str) -> Object:
        stamp = "2026-01-01T00:00:00Z"
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "told",
            "lastTransitionTime": stamp,
        }

    hub = clinic.scene.hub
    conditions = [condition("Healthy", "False", "Timeout"), condition("ConfigSynced", "False", "Drifted")]
    with restored(
        lambda: hub.patch_status(
            SCORER_KIND, SCORER, {"healthStatus": "Active", "conditions": []}, namespace=HUB_NAMESPACE
        )
    ):
        hub.patch_status(
            SCORER_KIND,
            SCORER,
            {"healthStatus": "Inactive", "conditions": conditions},
            namespace=HUB_NAMESPACE,
        )
        assert "Timeout: told" in clinic.find("scorers", "does not answer")["message"]
        assert clinic.find("scorers", "Drifted: told")["fix"].startswith(
            f"gitops-dsf sync --scorer {SCORER}  #"
        )
    clinic.content("scorers")


def test_a_reconciler_that_never_led_or_went_away(clinic: Clinic) -> None:
    scene = clinic.scene
    with restored(scene.lead):
        scene.lead(ago=4000)
        assert "last renewed 400" in clinic.find("reconciler", "no reconciler leads")["message"]
        scene.hub.delete("coordination.k8s.io/v1/Lease", "gitops-dsf-reconciler", namespace=HUB_NAMESPACE)
        assert "--strict" not in clinic.find("reconciler", "no reconciler ever led")["fix"]
    clinic.content("reconciler")


def test_the_documented_role_is_enough_and_nothing_is_no_crash(clinic: Clinic) -> None:
    page = (ROOT / "docs/operate/status.md").read_text(encoding="utf-8")
    role = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    viewer, stranger = Identity(user="test:viewer"), Identity(user="test:stranger")
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": role["metadata"]["name"],
    }
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": viewer.user}
    metadata = {"name": "test-viewer"}
    hub = clinic.scene.hub
    kind = "rbac.authorization.k8s.io/v1"
    with restored(
        lambda: hub.delete(f"{kind}/ClusterRole", role["metadata"]["name"]),
        lambda: hub.delete(f"{kind}/ClusterRoleBinding", "test-viewer"),
    ):
        hub.apply(role)
        hub.apply(
            {
                "apiVersion": kind,
                "kind": "ClusterRoleBinding",
                "metadata": metadata,
                "roleRef": reference,
                "subjects": [subject],
            }
        )
        wait_for(
            lambda: {item["check"]: item["state"] for item in clinic.findings(identity=viewer)} == LACKING,
            what="the viewer sees what an administrator sees",
            seen=lambda: clinic.findings(identity=viewer),
        )
    alone = clinic.findings(identity=stranger)
    assert {item["state"] for item in alone} == {"unknown"}
    assert all(
        "needs the right to" in item["message"] and "the ClusterRole gitops-dsf-doctor" in item["fix"]
        for item in alone
    )
    assert clinic.doctor(stranger).code == 1
