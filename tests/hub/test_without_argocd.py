"""The rendered tree without Argo CD: by kubectl, and by Flux's kustomize-controller with the objects of
docs/decisions/consumers.md.

source-controller does not run; the test offers the artifacts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.flux import GIT_REPOSITORY, KUSTOMIZATION, NAMESPACE, ArtifactServer, Flux
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.manifests import namespace as namespace_object
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import Fleet, cluster_set, scorer, settings
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import CRD, WORK, Installation, installed
from tests.hub.scenario.placements import PLACEMENT, prefer
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, HUB_NAMESPACE

pytestmark = [pytest.mark.family("kubernetes", "ocm", "flux")]

FLEET = "flux"
CLUSTERS = ("cluster1", "cluster2")
PAGE = (Path(__file__).parents[2] / "docs/decisions/consumers.md").read_text("utf-8")
OURS = "gitops-dsf.io/v1alpha1"
SCORERS_CRD = "dynamicscorers.dynamic-scoring.open-cluster-management.io"
CRD_KIND = f"apiextensions.k8s.io/v1/{CRD}"
NAMES = ("gitops-dsf-platform", "gitops-dsf-works-00", "gitops-dsf-delivery")


def blocks() -> list[Object]:
    section = PAGE.partition("\n## Without Argo CD\n")[2]
    found = re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [document for block in found for document in yaml.safe_load_all(block)]


def tuning() -> Object:
    return {
        "apiVersion": OURS,
        "kind": "ScoredPlacement",
        "metadata": {"name": "node-tuning", "namespace": "tuning"},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": [FLEET]},
            "scores": [{"scorer": "cpu-headroom"}],
            "stickiness": 10,
        },
    }


@dataclass(frozen=True, kw_only=True)
class Scene:
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
    """A fleet with the settings of the page, of one shard."""
    [wanted] = [item for item in blocks() if item["kind"] == "FleetRepository"]
    document = settings(fleet)
    document["spec"] |= {key: wanted["spec"][key] for key in ("argocd", "reconciler")}
    document["spec"]["output"] = {"shards": 1}
    fleet.write("gitops-dsf.yaml", document)
    fleet.write("scorers/cpu-headroom.yaml", scorer())
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    for name in CLUSTERS:
        fleet.write(f"clusters/{name}.yaml", cluster_document(name, fleet=FLEET))
    fleet.write("apps/tuning.yaml", tuning())
    fleet.render()


@pytest.fixture(scope="module")
def tree(control_plane: ControlPlane, git_server: GitServer, hub: Client) -> Iterator[Installation]:
    """The rendered tree, on the hub."""
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    write(fleet)
    hub.apply(namespace_object("tuning"))
    with installed(fleet, control_plane, clusters=CLUSTERS) as found:
        yield found


def take_away(tree: Installation, hub: Client) -> None:
    """Leaves nothing of the tree on the hub, not even the CRDs."""
    tree.remove()
    tree.label_clusters()
    names = [item["metadata"]["name"] for _, item in tree.rendered() if item["kind"] == CRD]
    for name in names:
        hub.delete(CRD_KIND, name)
    for name in names:
        wait_for(lambda name=name: hub.find(CRD_KIND, name) is None, what=f"{name} is gone")  # type: ignore[misc]
    wait_for(lambda: not lists_group(hub), what="the hub no longer lists their kinds")


def lists_group(hub: Client) -> bool:
    groups = hub.request("GET", "/apis")["groups"]
    return any(group["name"] == SCORERS_CRD.partition(".")[2] for group in groups)


def delivered(plane: ControlPlane, cluster: str) -> bool:
    """Whether OCM has brought the scoring configuration to the cluster."""
    spoke = plane.spokes[cluster].admin
    return spoke.find("v1/ConfigMap", "dynamic-scoring-config", namespace="dynamic-scoring") is not None


def test_the_kubectl_commands_of_the_page_suffice(
    tree: Installation, control_plane: ControlPlane, hub: Client, tmp_path: Path
) -> None:
    commands = re.findall(r"^    kubectl (.*)$", PAGE.partition("\n## Without Argo CD\n")[2], re.MULTILINE)
    assert len(commands) == 7
    root = tree.fleet.root
    take_away(tree, hub)
    # What kubectl remembers of a hub that served these kinds before would hide a failure.
    cache = ("--cache-dir", str(tmp_path))
    for command in commands:
        control_plane.hub.kubectl(*cache, *command.replace("rendered/", f"{root}/rendered/").split())
    prefer(hub, "node-tuning", "cluster1", namespace="tuning")
    for cluster in CLUSTERS:
        wait_for(
            lambda cluster=cluster: delivered(control_plane, cluster),  # type: ignore[misc]
            what=f"the configuration is on {cluster}",
            seen=lambda cluster=cluster: hub.find(WORK, "gitops-dsf-config", namespace=cluster),  # type: ignore[misc]
        )


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
def scene(tree: Installation, flux: Flux, control_plane: ControlPlane, hub: Client) -> Iterator[Scene]:
    found = Scene(fleet=tree.fleet, hub=hub, plane=control_plane, flux=flux)
    found.bring()
    try:
        yield found
    finally:
        found.let_go()


def test_flux_applies_crds_before_what_they_define(scene: Scene, tree: Installation) -> None:
    """In one Kustomization, in the first attempt; the others wait for it."""
    scene.let_go()
    take_away(tree, scene.hub)
    assert scene.hub.find(CRD_KIND, SCORERS_CRD) is None
    scene.bring()
    scene.apply()
    assert scene.hub.find(DYNAMIC_SCORER, "cpu-headroom", namespace=HUB_NAMESPACE) is not None
    for cluster in CLUSTERS:
        wait_for(
            lambda cluster=cluster: delivered(scene.plane, cluster),  # type: ignore[misc]
            what=f"the configuration is on {cluster}",
            seen=lambda cluster=cluster: scene.hub.find(WORK, "gitops-dsf-config", namespace=cluster),  # type: ignore[misc]
        )
    for best in CLUSTERS:
        prefer(scene.hub, "node-tuning", best, namespace="tuning")


def test_flux_deletes_what_left_the_tree_and_keeps_crds_and_namespaces(scene: Scene) -> None:
    """They stay by the annotation that the patches of the page add."""
    scene.apply()
    (scene.fleet.root / "apps/tuning.yaml").unlink()
    scene.fleet.render()
    for name in (f"customresourcedefinition.{SCORERS_CRD}.yaml", f"namespace.{HUB_NAMESPACE}.yaml"):
        (scene.fleet.rendered / "platform" / name).unlink()
    scene.apply()
    wait_for(
        lambda: scene.hub.find(PLACEMENT, "node-tuning", namespace="tuning") is None,
        what="the Placement is gone",
    )
    for kind, name in ((CRD_KIND, SCORERS_CRD), ("v1/Namespace", HUB_NAMESPACE)):
        assert "deletionTimestamp" not in scene.hub.get(kind, name)["metadata"]
    write(scene.fleet)
    scene.apply()
