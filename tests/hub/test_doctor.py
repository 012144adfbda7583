"""`gitops-dsf doctor` and `gitops-dsf status` on a real hub.

doctor is content where all is well; what is broken is found, and the printed command repairs it. What status
says of scores, decisions and applications is what OCM and Argo CD made of them.
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

from gitops_dsf.render.delivery import decision_readers
from tests.hub.controlplane.api import Object
from tests.hub.controlplane.applications import refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN, Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.commandline import Ran, gitops_dsf
from tests.hub.scenario.fleet import APPLICATION, SCORER
from tests.hub.scenario.prettyhub import (
    ARGOCD_NAMESPACE,
    ROOT,
    PrettyHub,
    pretty_hub,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CONFIGMAP = "gitops-dsf-placement-decisions"
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

        return wait_for(look, what=f"{check} says {text!r}", seen=self.findings)

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


def test_a_hub_where_all_is_well_gives_no_finding(clinic: Clinic) -> None:
    wait_for(
        lambda: {item["check"]: item["state"] for item in clinic.findings()} == LACKING,
        what="there is no finding but one",
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


BROKEN: dict[str, tuple[str, str, str, Callable[[Clinic], None]]] = {
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


@dataclass(kw_only=True)
class Desk:
    scene: PrettyHub

    def command(self, *arguments: str, identity: Identity = ADMIN) -> list[str]:
        kubeconfig = str(self.scene.plane.kubeconfig(identity))
        return ["status", "--context", "context", "--kubeconfig", kubeconfig, *arguments]

    def run(self, *arguments: str, identity: Identity = ADMIN) -> Ran:
        return gitops_dsf(*self.command(*arguments, identity=identity))

    def look(self, *arguments: str) -> dict[str, Any]:
        ran = self.run("-o", "json", *arguments)
        assert (ran.code, ran.stderr) == (0, "")
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    def placement(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = next(
            item
            for item in self.look(*arguments)["placements"]
            if item["placement"] == f"{ARGOCD_NAMESPACE}/{APPLICATION}"
        )
        return found


@pytest.fixture
def desk(clinic: Clinic) -> Desk:
    return Desk(scene=clinic.scene)


def test_it_shows_the_hub_as_it_is(desk: Desk) -> None:
    desk.scene.move("cluster1")
    desk.scene.publish("cluster1", 90)
    desk.scene.publish("cluster2", 45, age=300)
    found = desk.look()
    assert found["hub"]["unread"] == []
    scorer = found["scorers"][0]
    assert (scorer["name"], scorer["health"], scorer["ttlSeconds"]) == (SCORER, None, 900)
    cells = {cell["cluster"]: cell for cell in scorer["scores"]}
    assert {name: (cell["state"], list(cell["values"].values())) for name, cell in cells.items()} == {
        "cluster1": ("fresh", [90]),
        "cluster2": ("fresh", [45]),
    }
    assert cells["cluster1"]["ageSeconds"] < 30
    assert 300 <= cells["cluster2"]["ageSeconds"] < 330
    placement = desk.placement()
    assert placement["decided"] == placement["next"] == desk.scene.decision() == ["cluster1"]
    text = desk.run().stdout
    assert "cluster1 goes out for cluster2 if its cpu-headroom/cpu_headroom falls from 90 to 34" in text


def test_the_flip_that_is_printed_is_the_one_at_which_ocm_flips(desk: Desk) -> None:
    scene = desk.scene
    scene.move("cluster1")
    unreachable = next(item for item in desk.placement()["flips"] if item["change"] == "in")
    assert unreachable["score"] is None, "90 and ten points of stickiness: no score is above 100"
    scene.publish("cluster1", 60)
    wait_for(lambda: desk.look()["scorers"][0]["summary"]["max"] == 60, what="the score is there")
    flip = next(item for item in desk.placement()["flips"] if item["change"] == "in")
    assert flip["cluster"] == "cluster2"
    needed = flip["score"]["needed"]
    scene.publish("cluster2", needed - 1)
    wait_for(lambda: desk.placement()["settled"], what="OCM would leave it as it is")
    hold_for(lambda: scene.decision() == ["cluster1"], what="one point less does not flip it", seconds=2)
    scene.publish("cluster2", needed)
    wait_for(lambda: scene.decision() == ["cluster2"], what="OCM flips", seen=scene.decision)
    assert desk.placement()["decided"] == ["cluster2"]
