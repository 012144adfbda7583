"""The rendered tree without Argo CD.

By kubectl, and by Flux's kustomize-controller with the objects of docs/decisions/consumers.md.

source-controller does not run; the test offers the artifacts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.flux import (
    GIT_REPOSITORY,
    KUSTOMIZATION,
    NAMESPACE,
    ArtifactServer,
    Flux,
)
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import (
    CRD,
    remove_kinds,
    wait_for,
    wait_until_gone,
    wait_until_there,
)
from tests.hub.scenario.fleet import DYNAMIC_SCORER, OURS, Fleet, new_fleet, placement
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import PLACEMENT, prefer
from tests.hub.scenario.reconciling import HUB_NAMESPACE

pytestmark = [pytest.mark.family("kubernetes", "ocm", "flux")]

FLEET = "flux"
PAGE = (Path(__file__).parents[2] / "docs/decisions/consumers.md").read_text("utf-8")
SCORERS_CRD = "dynamicscorers.dynamic-scoring.open-cluster-management.io"
NAMES = ("gitops-dsf-platform", "gitops-dsf-works-00", "gitops-dsf-delivery")


def blocks() -> list[Object]:
    section = PAGE.partition("\n## Without Argo CD\n")[2]
    found = re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [document for block in found for document in yaml.safe_load_all(block)]


@dataclass(frozen=True, kw_only=True)
class WithoutArgocdScene:
    fleet: Fleet
    hub: Client
    plane: ControlPlane
    flux: Flux

    def bring(self) -> None:
        """Applies the objects of the page that tell Flux what to apply."""
        for item in blocks():
            if item["apiVersion"] != OURS:
                self.hub.apply(item)

    def let_go(self) -> None:
        """Deletes them. What Flux applied stays, by deletionPolicy: Orphan."""
        for name in reversed(NAMES):
            self.hub.delete(KUSTOMIZATION, name, namespace=NAMESPACE)
        wait_for(lambda: not self.hub.list(KUSTOMIZATION, namespace=NAMESPACE), what="Flux let go")
        self.hub.delete(GIT_REPOSITORY, "fleet", namespace=NAMESPACE)

    def publish(self) -> str:
        return self.flux.publish("fleet", self.fleet.root, "rendered")

    def apply(self) -> None:
        self.flux.applied(self.publish(), *NAMES)


def write(fleet: Fleet) -> None:
    """The settings of the page, and a Placement."""
    [wanted] = [item for item in blocks() if item["kind"] == "FleetRepository"]
    fleet.configure(**{key: wanted["spec"][key] for key in ("argocd", "reconciler")})
    fleet.write("apps/tuning.yaml", placement(FLEET, "node-tuning", "tuning"))
    fleet.render()


@pytest.fixture(scope="module")
def tree(control_plane: ControlPlane, git_server: GitServer, hub: Client) -> Iterator[Installation]:
    """The rendered tree, on the hub."""
    fleet = new_fleet(git_server, FLEET, guestbook=False)
    write(fleet)
    hub.apply(manifest("v1/Namespace", "tuning"))
    with installed(fleet, control_plane) as found:
        yield found


def take_away(tree: Installation, hub: Client) -> None:
    """Leaves nothing of the tree on the hub, not even the CRDs."""
    tree.remove()
    tree.label_clusters()
    names = [
        item["metadata"]["name"]
        for _, item in tree.rendered()
        if item["kind"] == "CustomResourceDefinition"
    ]
    remove_kinds(hub, names)
    wait_for(lambda: not lists_group(hub), what="the hub no longer lists their kinds")


def lists_group(hub: Client) -> bool:
    groups = hub.request("GET", "/apis")["groups"]
    return any(group["name"] == SCORERS_CRD.partition(".")[2] for group in groups)


def delivered(plane: ControlPlane) -> None:
    """Waits until OCM has brought the scoring configuration to the clusters."""
    for spoke in plane.spokes.values():
        wait_until_there(
            spoke.admin, "v1/ConfigMap", "dynamic-scoring-config", namespace="dynamic-scoring"
        )


def test_the_kubectl_commands_of_the_page_suffice(
    tree: Installation, control_plane: ControlPlane, hub: Client, tmp_path: Path
) -> None:
    commands = re.findall(
        r"^    kubectl (.*)$", PAGE.partition("\n## Without Argo CD\n")[2], re.MULTILINE
    )
    assert len(commands) == 7
    root = tree.fleet.root
    take_away(tree, hub)
    # What kubectl remembers of a hub that served these kinds before would hide a failure.
    cache = ("--cache-dir", str(tmp_path))
    for command in commands:
        control_plane.hub.kubectl(
            *cache, *command.replace("rendered/", f"{root}/rendered/").split()
        )
    prefer(hub, "node-tuning", "cluster1", namespace="tuning")
    delivered(control_plane)


@pytest.fixture(scope="module")
def flux(control_plane: ControlPlane) -> Iterator[Flux]:
    with ArtifactServer() as artifacts:
        found = Flux(
            binaries=obtain("flux"),
            processes=control_plane.processes,
            hub=control_plane.hub,
            artifacts=artifacts,
        )
        found.start()
        try:
            yield found
        finally:
            found.stop()


@pytest.fixture
def scene(
    tree: Installation, flux: Flux, control_plane: ControlPlane, hub: Client
) -> Iterator[WithoutArgocdScene]:
    found = WithoutArgocdScene(fleet=tree.fleet, hub=hub, plane=control_plane, flux=flux)
    found.bring()
    try:
        yield found
    finally:
        found.let_go()


def test_flux_applies_crds_before_what_they_define(
    scene: WithoutArgocdScene, tree: Installation
) -> None:
    """In one Kustomization, in the first attempt; the others wait for it."""
    scene.let_go()
    take_away(tree, scene.hub)
    assert scene.hub.find(CRD, SCORERS_CRD) is None
    scene.bring()
    scene.apply()
    assert scene.hub.find(DYNAMIC_SCORER, "cpu-headroom", namespace=HUB_NAMESPACE) is not None
    delivered(scene.plane)
    for best in SPOKES:
        prefer(scene.hub, "node-tuning", best, namespace="tuning")


def test_flux_deletes_what_left_the_tree_and_keeps_crds_and_namespaces(
    scene: WithoutArgocdScene,
) -> None:
    """They stay by the annotation that the patches of the page add."""
    scene.apply()
    scene.fleet.remove("apps/tuning.yaml")
    scene.fleet.render()
    for name in (f"customresourcedefinition.{SCORERS_CRD}.yaml", f"namespace.{HUB_NAMESPACE}.yaml"):
        (scene.fleet.rendered / "platform" / name).unlink()
    scene.apply()
    wait_until_gone(scene.hub, PLACEMENT, "node-tuning", namespace="tuning")
    for kind, name in ((CRD, SCORERS_CRD), ("v1/Namespace", HUB_NAMESPACE)):
        assert "deletionTimestamp" not in scene.hub.get(kind, name)["metadata"]
    write(scene.fleet)
    scene.apply()
