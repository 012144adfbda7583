"""Argo CD applies the rendered tree from git: it settles, heals, prunes, shows no perpetual difference, and
deletes no application.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from gitops_dsf.reconciler.journal.explaining import Deployed
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import (
    APPLICATION,
    APPLICATION_SET,
    refresh,
    refresh_set,
    state,
    wait_until_settled,
)
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.agents import DEPLOYMENT
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import (
    SCORER,
    Fleet,
    application,
    cluster,
    settings,
    write_fleet,
)
from tests.hub.scenario.installation import ADDON, WORK, Installation
from tests.hub.scenario.placements import PLACEMENT, SCORE, decided

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
DYNAMIC_SCORER = "dynamic-scoring.open-cluster-management.io/v1alpha1/DynamicScorer"
HEALTH = Path(__file__).parents[2] / "argocd/install/argocd-cm-health.yaml"
ROLE_BINDING = "rbac.authorization.k8s.io/v1/RoleBinding"
HUB_NAMESPACE = "open-cluster-management"
RECONCILER, RECONCILER_APPLICATION = "gitops-dsf-reconciler", "gitops-dsf-reconciler"
BUDGET = "policy/v1/PodDisruptionBudget"
CLUSTER_ROLE_BINDING = "rbac.authorization.k8s.io/v1/ClusterRoleBinding"


@dataclass(frozen=True, kw_only=True)
class Synced:
    """A fleet that Argo CD follows."""

    installation: Installation
    hub: Client
    names: tuple[str, ...]
    """The Applications over rendered/."""

    @property
    def fleet(self) -> Fleet:
        return self.installation.fleet

    def commit(self, message: str) -> str:
        """Renders, pushes, and asks Argo CD to look; the commit's id."""
        self.fleet.render()
        head = self.fleet.publish(message)
        for name in self.names:
            refresh(self.hub, name)
        return head

    def settled(self, head: str) -> None:
        for name in self.names:
            wait_until_settled(self.hub, name, revision=head)
        wait_for(lambda: all(self.rests(name) for name in self.names), what="no sync is under way")

    def rests(self, name: str) -> bool:
        """Whether no sync runs or is asked for; what was healed shows as Synced before its sync has ended."""
        found = self.hub.get(APPLICATION, name, namespace="argocd")
        return (
            "operation" not in found
            and found.get("status", {}).get("operationState", {}).get("phase") == "Succeeded"
        )

    def start_reconciler(self) -> None:
        """Says what the controllers of Deployment and PodDisruptionBudget would once the pods are ready."""
        deployment = self.hub.get(DEPLOYMENT, RECONCILER, namespace=HUB_NAMESPACE)
        replicas = deployment["spec"]["replicas"]
        status: Object = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas
        )
        status["observedGeneration"] = deployment["metadata"]["generation"]
        self.hub.patch_status(DEPLOYMENT, RECONCILER, status, namespace=HUB_NAMESPACE)
        budget = self.hub.get(BUDGET, RECONCILER, namespace=HUB_NAMESPACE)
        allowed = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": ""}
        counts = {
            "currentHealthy": replicas,
            "desiredHealthy": replicas - 1,
            "expectedPods": replicas,
            "disruptionsAllowed": 1,
        }
        status = {**counts, "observedGeneration": budget["metadata"]["generation"]}
        status["conditions"] = [{**allowed, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        self.hub.patch_status(BUDGET, RECONCILER, status, namespace=HUB_NAMESPACE)
        refresh(self.hub, RECONCILER_APPLICATION)

    def decision(self) -> list[str]:
        return decided(self.hub, GUESTBOOK, namespace="argocd")


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[Synced]:
    fleet = Fleet(repository=git_server.create("synced"), name="synced")
    write_fleet(fleet, clusters=list(CLUSTERS))
    one_shard(fleet)
    workload = git_server.create("guestbook")
    workload.commit({"guestbook.yaml": json.dumps(config_map("guestbook"))})
    guestbook = application("synced")
    guestbook["spec"]["application"]["source"]["repoURL"] = workload.url
    del guestbook["spec"]["application"]["syncPolicy"]
    fleet.write(f"apps/{GUESTBOOK}.yaml", guestbook)
    installation = Installation(fleet=fleet, plane=control_plane, clusters=CLUSTERS)
    with ExitStack() as stack:
        argocd.configure(yaml.safe_load(HEALTH.read_text(encoding="utf-8"))["data"])
        stack.callback(argocd.configure, {})
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        installation.label_clusters()
        fleet.render()
        head = fleet.publish("Follow scores")
        bootstrap = [item for _, item in fleet.objects("argocd")]
        names = tuple(item["metadata"]["name"] for item in bootstrap if item["kind"] == "Application")
        stack.callback(installation.remove)
        stack.callback(remove_applications, hub, names)
        for item in sorted(bootstrap, key=lambda item: item["kind"] != "AppProject"):
            hub.apply(item)
        scene = Synced(installation=installation, hub=hub, names=names)
        wait_for(
            lambda: hub.find(APPLICATION_SET, GUESTBOOK, namespace="argocd"),
            what="the ApplicationSet is there",
        )
        wait_for(scene.decision, what="OCM made a first decision")
        # Created together with its Placement, the ApplicationSet found no decision and would look again in 3
        # minutes only. The reconciler gives it this annotation; until then it is Degraded, and that is all
        # that is.
        refresh_set(hub, GUESTBOOK)
        for name in set(names) - {RECONCILER_APPLICATION}:
            wait_until_settled(hub, name, revision=head)
        # Nobody runs pods here: what stands beside the reconciler did not wait for them.
        wait_for(
            lambda: hub.find(DEPLOYMENT, RECONCILER, namespace=HUB_NAMESPACE),
            what="the reconciler is deployed",
        )
        wait_until_settled(hub, RECONCILER_APPLICATION, revision=head, health="Progressing")
        scene.start_reconciler()
        scene.settled(head)
        yield scene


@pytest.fixture
def synced(scene: Synced) -> Synced:
    """With nothing under way of what a test before has changed."""
    scene.settled(scene.fleet.repository.branches()["main"])
    return scene


def test_the_whole_tree_is_synced_and_healthy(synced: Synced) -> None:
    assert synced.names == (
        "gitops-dsf-delivery",
        "gitops-dsf-platform",
        RECONCILER_APPLICATION,
        "gitops-dsf-works-00",
    )
    rendered = {f"{item['kind']}/{item['metadata']['name']}" for _, item in synced.installation.rendered()}
    shown = {key for name in synced.names for key in state(synced.hub, name).resources}
    assert shown == rendered
    for name in synced.names:
        for key, (sync, health, message) in state(synced.hub, name).resources.items():
            assert (sync, health) in {("Synced", "Healthy"), ("Synced", "")}, (key, message)
        found = synced.hub.get(APPLICATION, name, namespace="argocd")
        assert msgspec.convert(found, Deployed).commit == synced.fleet.repository.branches()["main"]


def test_there_is_no_perpetual_difference(synced: Synced) -> None:
    finished = {name: operation(synced, name)["finishedAt"] for name in synced.names}
    for name in synced.names:
        refresh(synced.hub, name, hard=True)
    hold_for(
        lambda: all(state(synced.hub, name).sync == "Synced" for name in synced.names),
        what="every Application stays Synced",
        seconds=12,
    )
    assert {name: operation(synced, name)["finishedAt"] for name in synced.names} == finished, (
        "something was synced again"
    )


def test_an_edit_by_hand_is_healed(synced: Synced) -> None:
    synced.hub.patch(DYNAMIC_SCORER, SCORER, {"spec": {"description": "by hand"}}, namespace=HUB_NAMESPACE)
    synced.hub.patch(
        WORK,
        "gitops-dsf-config",
        {"spec": {"workload": {"manifests": [config_map("by-hand")]}}},
        namespace="cluster1",
    )
    wait_for(
        lambda: (
            synced.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)["spec"]["description"]
            != "by hand"
        ),
        what="the scorer is as git says",
    )
    wait_for(
        lambda: (
            len(
                synced.hub.get(WORK, "gitops-dsf-config", namespace="cluster1")["spec"]["workload"][
                    "manifests"
                ]
            )
            == 4
        ),
        what="the work is as git says",
    )


def test_a_removed_cluster_is_pruned_and_returns(synced: Synced) -> None:
    spoke = synced.installation.plane.spokes["cluster2"].admin
    (synced.fleet.root / "clusters/cluster2.yaml").unlink()
    head = synced.commit("Take cluster2 out of the fleet")
    for kind, name in ((WORK, "gitops-dsf-config"), (ROLE_BINDING, ADDON_NAME)):
        wait_for(
            lambda kind=kind, name=name: synced.hub.find(kind, name, namespace="cluster2") is None,  # type: ignore[misc]
            what=f"{kind} {name} of cluster2 is pruned",
            seen=lambda: state(synced.hub, "gitops-dsf-works-00"),
        )
    wait_for(
        lambda: spoke.find("v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE) is None,
        what="the configuration is gone",
    )
    synced.settled(head)
    assert synced.hub.find(WORK, "gitops-dsf-config", namespace="cluster1")
    # OCM makes the ClusterManagementAddOn its owner, and Argo CD never prunes what has one: the agent stays,
    # without work or rights, until somebody deletes this object or OCM does together with the ManagedCluster.
    left = synced.hub.get(ADDON, ADDON_NAME, namespace="cluster2")
    assert [owner["kind"] for owner in left["metadata"]["ownerReferences"]] == ["ClusterManagementAddOn"]
    synced.hub.delete(ADDON, ADDON_NAME, namespace="cluster2")
    wait_for(
        lambda: synced.hub.find(ADDON, ADDON_NAME, namespace="cluster2") is None, what="the add-on is gone"
    )
    wait_for(
        lambda: spoke.find(DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE) is None,
        what="the agent is gone",
    )
    synced.fleet.write("clusters/cluster2.yaml", cluster("cluster2", fleet="synced"))
    synced.settled(synced.commit("Take it back"))
    assert synced.hub.find(WORK, "gitops-dsf-config", namespace="cluster2")


def test_a_file_that_somebody_adds_is_refused(synced: Synced) -> None:
    """By the AppProjects: in platform a cluster-admin, among the works a right in the namespace of
    Argo CD.
    """
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "somebody"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    body: Object = {"apiVersion": "rbac.authorization.k8s.io/v1", "subjects": subjects, "roleRef": role}
    cluster_wide: Object = {**body, "kind": "ClusterRoleBinding", "metadata": {"name": "admin"}}
    inside: Object = {**body, "kind": "RoleBinding", "metadata": {"name": "admin", "namespace": "argocd"}}
    places = {"platform": cluster_wide, "works-00": inside}
    try:
        for directory, item in places.items():
            synced.fleet.write(f"rendered/{directory}/admin.yaml", item)
        # As somebody would who merges past the failed check.
        synced.fleet.publish("Add an administrator")
        for name in synced.names:
            refresh(synced.hub, name)
        for directory in places:
            name = f"gitops-dsf-{directory}"
            wait_for(
                lambda name=name: refusal(synced, name),  # type: ignore[misc]
                what=f"{name} refuses it",
                seen=lambda name=name: state(synced.hub, name),  # type: ignore[misc]
            )
        assert "ClusterRoleBinding is not permitted in project gitops-dsf" in refusal(
            synced, "gitops-dsf-platform"
        )
        assert "namespace argocd is not permitted in project 'gitops-dsf-works'" in refusal(
            synced, "gitops-dsf-works-00"
        )
        wait_for(
            lambda: "syncs nothing of Application gitops-dsf-platform: resource" in doctor(synced),
            what="doctor says so",
            seen=lambda: doctor(synced),
        )
        assert synced.hub.find(CLUSTER_ROLE_BINDING, "admin") is None
        assert synced.hub.find(ROLE_BINDING, "admin", namespace="argocd") is None
    finally:
        for directory in places:
            (synced.fleet.root / f"rendered/{directory}/admin.yaml").unlink(missing_ok=True)
        synced.settled(synced.commit("Take it back"))


def doctor(synced: Synced) -> str:
    kubeconfig = str(synced.installation.plane.hub.kubeconfig(ADMIN))
    return synced.fleet.run("doctor", "--context", "context", "--kubeconfig", kubeconfig).stdout


def refusal(synced: Synced, name: str) -> str:
    """What Argo CD says of the objects that it does not apply."""
    status = synced.hub.get(APPLICATION, name, namespace="argocd").get("status", {})
    results = status.get("operationState", {}).get("syncResult", {}).get("resources", [])
    return " ".join(item["message"] for item in results if "not permitted" in item.get("message", ""))


def test_a_consumers_namespace_that_is_missing_holds_back_nothing_else(synced: Synced) -> None:
    """A ScoredPlacement in it waits; what the same commit changes for applications does not."""
    training = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": "training", "namespace": "later"},
        "spec": {"placement": {"clusterSets": ["synced"]}, "scores": [{"scorer": SCORER}]},
    }
    path = synced.fleet.root / f"apps/{GUESTBOOK}.yaml"
    guestbook = path.read_text(encoding="utf-8")
    labelled = yaml.safe_load(guestbook)
    labelled["metadata"]["labels"] = {"round": "two"}
    synced.fleet.write(f"apps/{GUESTBOOK}.yaml", labelled)
    synced.fleet.write("apps/training.yaml", training)
    synced.fleet.render()
    for _, item in synced.fleet.objects("argocd"):
        if item["kind"] == "AppProject":
            synced.hub.apply(item)
    head = synced.commit("Place the training, too")
    wait_for(
        lambda: (
            synced.hub.get(PLACEMENT, GUESTBOOK, namespace="argocd")["metadata"]["labels"].get("round")
            == "two"
        ),
        what="the application's Placement is as git says",
        seen=lambda: state(synced.hub, "gitops-dsf-delivery"),
    )
    wait_for(
        lambda: 'namespaces "later" not found' in state(synced.hub, "gitops-dsf-delivery").message,
        what="Argo CD says what is missing",
        seen=lambda: state(synced.hub, "gitops-dsf-delivery"),
    )
    assert synced.hub.find(PLACEMENT, "training", namespace="later") is None
    synced.hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
    synced.settled(head)
    assert synced.hub.find(PLACEMENT, "training", namespace="later") is not None
    path.write_text(guestbook, encoding="utf-8")
    (synced.fleet.root / "apps/training.yaml").unlink()
    synced.settled(synced.commit("Place the training no longer"))
    assert synced.hub.find(PLACEMENT, "training", namespace="later") is None


def operation(synced: Synced, name: str) -> dict[str, str]:
    found: dict[str, str] = synced.hub.get(APPLICATION, name, namespace="argocd")["status"]["operationState"]
    return found


def one_shard(fleet: Fleet, **spec: Any) -> None:
    """A directory whose last cluster leaves would be empty, and Argo CD never prunes to nothing by itself."""
    document = settings(fleet)
    document["spec"]["output"]["shards"] = 1
    document["spec"] |= spec
    fleet.write("gitops-dsf.yaml", document)


def remove_applications(hub: Client, names: tuple[str, ...]) -> None:
    """The bootstrap first, or it would heal what is taken away; generated Applications with what they
    brought.
    """
    for name in names:
        hub.delete(APPLICATION, name, namespace="argocd")
    wait_for(
        lambda: not any(hub.find(APPLICATION, name, namespace="argocd") for name in names),
        what="Argo CD lets go",
    )
    hub.delete(APPLICATION_SET, GUESTBOOK, namespace="argocd")
    wait_for(
        lambda: (
            not hub.list(APPLICATION, namespace="argocd", labels=f"gitops-dsf.io/application={GUESTBOOK}")
        ),
        what="all gone",
    )
    for name in ("gitops-dsf", "gitops-dsf-works"):
        hub.delete("argoproj.io/v1alpha1/AppProject", name, namespace="argocd")
    for name in CLUSTERS:
        hub.delete(SCORE, SCORER, namespace=name)


def config_map(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"greeting": "hello"},
    }
