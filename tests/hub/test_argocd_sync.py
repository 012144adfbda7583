"""Argo CD applies the rendered tree from git.

It settles, heals, prunes, shows no perpetual difference, and deletes no application.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE, CONFIGMAP_NAME
from gitops_dsf.hub.deployed import Deployed
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.render.admission import ADMISSION_API
from tests.hub.controlplane.api import (
    CLUSTER_ROLE_BINDING,
    ROLE_BINDING,
    Client,
    Object,
    bound,
    manifest,
)
from tests.hub.controlplane.applications import (
    APPLICATION,
    APPLICATION_SET,
    copies,
    refresh,
    refresh_set,
    state,
    wait_until_settled,
)
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for, wait_until_gone, wait_until_there
from tests.hub.scenario.agents import DEPLOYMENT
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import (
    DYNAMIC_SCORER,
    SCORER,
    Fleet,
    application,
    new_fleet,
    placement,
    scorer,
)
from tests.hub.scenario.installation import ADDON, WORK, Installation
from tests.hub.scenario.placements import PLACEMENT, decided, delete_scores, prefer
from tests.support.rendering import metric_source

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

HEALTH = Path(__file__).parents[2] / "argocd/install/argocd-cm-health.yaml"
HUB_NAMESPACE = "gitops-dsf"
RECONCILER, RECONCILER_APPLICATION = "gitops-dsf-reconciler", "gitops-dsf-reconciler"
BUDGET = "policy/v1/PodDisruptionBudget"
SOURCE = metric_source(
    "platform",
    {
        "clusterSelector": {"matchLabels": {"vendor": "OpenShift"}},
        "host": "https://thanos-querier.openshift-monitoring.svc:9091",
        "auth": {"serviceAccountToken": True, "caConfigMapRef": {"name": "ca", "key": "ca.crt"}},
    },
    {
        "host": "https://mimir.monitoring.svc:8080",
        "path": "/prometheus/api/v1/query",
        "basicAuth": {"secretRef": {"name": "mimir-login"}},
        "auth": {"clientCertificateSecretRef": {"name": "mimir-client"}},
        "headers": [
            {"name": "X-Scope-OrgID", "value": "platform"},
            {"name": "X-Api-Key", "secretRef": {"name": "mimir-api", "key": "key"}},
        ],
    },
)
SHARED = scorer(
    "shared",
    source={"ref": "platform", "params": {"query": "avg(up)"}},
    scoring={"type": "Query", "params": {"name": "shared", "interval": 60}},
)


@dataclass(frozen=True, kw_only=True)
class Synced:
    """A fleet that Argo CD follows."""

    installation: Installation
    hub: Client
    names: tuple[str, ...]
    """The Applications over rendered/."""
    first: str = ""
    """The commit with which the module began."""

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
        """Whether no sync runs or is asked for; what was healed shows as Synced before its sync has
        ended.
        """
        found = self.hub.get(APPLICATION, name, namespace="argocd")
        return (
            "operation" not in found
            and found.get("status", {}).get("operationState", {}).get("phase") == "Succeeded"
        )

    def start_reconciler(self) -> None:
        """Says what the controllers of Deployment and PodDisruptionBudget would once the pods are
        ready.
        """
        deployment = self.hub.get(DEPLOYMENT, RECONCILER, namespace=HUB_NAMESPACE)
        replicas = deployment["spec"]["replicas"]
        status: Object = dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas
        )
        status["observedGeneration"] = deployment["metadata"]["generation"]
        self.hub.patch_status(DEPLOYMENT, RECONCILER, status, namespace=HUB_NAMESPACE)
        budget = self.hub.get(BUDGET, RECONCILER, namespace=HUB_NAMESPACE)
        allowed = {
            "type": "DisruptionAllowed",
            "status": "True",
            "reason": "SufficientPods",
            "message": "",
        }
        status = {
            "currentHealthy": replicas,
            "desiredHealthy": replicas - 1,
            "expectedPods": replicas,
            "disruptionsAllowed": 1,
            "observedGeneration": budget["metadata"]["generation"],
            "conditions": [{**allowed, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        }
        self.hub.patch_status(BUDGET, RECONCILER, status, namespace=HUB_NAMESPACE)
        refresh(self.hub, RECONCILER_APPLICATION)


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[Synced]:
    fleet = new_fleet(git_server, "synced", secret="api-token")
    fleet.write("config/sources.yaml", SOURCE)
    fleet.write("scorers/shared.yaml", SHARED)
    workload = git_server.create("guestbook")
    workload.commit({"guestbook.yaml": json.dumps(config_map("guestbook"))})
    fleet.write(f"apps/{GUESTBOOK}.yaml", application("synced", source={"repoURL": workload.url}))
    installation = Installation(fleet=fleet, plane=control_plane)
    with ExitStack() as stack:
        argocd.configure(yaml.safe_load(HEALTH.read_text(encoding="utf-8"))["data"])
        stack.callback(argocd.configure, {})
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        installation.label_clusters()
        fleet.render()
        head = fleet.publish("Follow scores")
        bootstrap = [item for _, item in fleet.objects("argocd")]
        names = tuple(
            item["metadata"]["name"] for item in bootstrap if item["kind"] == "Application"
        )
        stack.callback(installation.remove)
        stack.callback(remove_applications, hub, names)
        for item in sorted(bootstrap, key=lambda item: item["kind"] != "AppProject"):
            hub.apply(item)
        scene = Synced(installation=installation, hub=hub, names=names)
        wait_until_there(hub, APPLICATION_SET, GUESTBOOK, namespace="argocd")
        wait_for(lambda: decided(hub, GUESTBOOK), what="OCM made a first decision")
        # Created together with its Placement, the ApplicationSet found no decision and would look
        # again in 3 minutes only. The reconciler gives it this annotation; until then it is
        # Degraded, and that is all that is.
        refresh_set(hub, GUESTBOOK)
        for name in set(names) - {RECONCILER_APPLICATION}:
            wait_until_settled(hub, name, revision=head)
        # Nobody runs pods here: what stands beside the reconciler did not wait for them.
        wait_until_there(hub, DEPLOYMENT, RECONCILER, namespace=HUB_NAMESPACE)
        wait_until_settled(hub, RECONCILER_APPLICATION, revision=head, health="Progressing")
        scene.start_reconciler()
        scene.settled(head)
        yield replace(scene, first=head)


@pytest.fixture
def synced(scene: Synced) -> Synced:
    """As the module began: whatever a test before has changed in git, and with nothing of it under
    way.
    """
    git("rm", "-r", "--quiet", "--ignore-unmatch", ".", folder=scene.fleet.root)
    git("checkout", "--quiet", scene.first, "--", ".", folder=scene.fleet.root)
    head = scene.fleet.publish("As it began")
    for name in scene.names:
        refresh(scene.hub, name)
    scene.settled(head)
    return scene


def test_the_whole_tree_is_synced_and_healthy(synced: Synced) -> None:
    assert synced.names == (
        "gitops-dsf-delivery",
        "gitops-dsf-platform",
        RECONCILER_APPLICATION,
        "gitops-dsf-works-00",
    )
    rendered = {
        f"{item['kind']}/{item['metadata']['name']}" for _, item in synced.installation.rendered()
    }
    shown = {key for name in synced.names for key in state(synced.hub, name).resources}
    assert shown == rendered
    for name in synced.names:
        for key, (sync, health, message) in state(synced.hub, name).resources.items():
            assert (sync, health) in {("Synced", "Healthy"), ("Synced", "")}, (key, message)
        found = synced.hub.get(APPLICATION, name, namespace="argocd")
        assert msgspec.convert(found, Deployed).commit == synced.fleet.repository.branches()["main"]


def test_every_scalar_reads_back_as_written(synced: Synced) -> None:
    """Of all kinds that we render; the API servers validate strictly."""
    differences = []
    for path, item in synced.installation.rendered():
        meta = item["metadata"]
        found = synced.hub.get(
            f"{item['apiVersion']}/{item['kind']}", meta["name"], namespace=meta.get("namespace")
        )
        differences += [f"{path}: {line}" for line in missing(item, found)]
        synced.hub.apply(item, manager="argocd-controller", dry_run=True)
    assert differences == []


def missing(wanted: Any, found: Any, where: str = "") -> list[str]:
    """Where ``found`` does not hold what ``wanted`` says; fields that only the server has are its
    own business.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            line
            for key, value in wanted.items()
            for line in missing(value, found.get(key), f"{where}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [
            line
            for index, (one, other) in pairs
            for line in missing(one, other, f"{where}[{index}]")
        ]
    if wanted == found and type(wanted) is type(found):
        return []
    if not wanted and found is None and wanted in ({}, []):
        return []  # the server drops empty maps and lists of its own types
    return [f"{where}: wrote {wanted!r}, read {found!r}"]


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


def test_a_move_leaves_every_application_synced(synced: Synced) -> None:
    """The ApplicationSet controller writes the whole object when it takes the annotation away that
    asks for a refresh: nothing that is rendered may be lost on the way.
    """
    hub = synced.hub
    unsynced: set[tuple[str, str]] = set()

    def moved_to(cluster: str) -> bool:
        states = {(name, state(hub, name).sync) for name in synced.names}
        unsynced.update(shown for shown in states if shown[1] != "Synced")
        followed = hub.get(APPLICATION_SET, GUESTBOOK, namespace="argocd")
        is_refreshed = REFRESH_ANNOTATION not in followed["metadata"].get("annotations", {})
        return is_refreshed and cluster in copies(hub, GUESTBOOK)

    [here] = decided(hub, GUESTBOOK)
    [there] = {*SPOKES} - {here}
    try:
        prefer(hub, GUESTBOOK, there)
        refresh_set(hub, GUESTBOOK)
        wait_for(lambda: moved_to(there), what=f"the guestbook is on {there}")
        # Argo CD compares within seconds of the write, and heals itself only later.
        hold_for(lambda: moved_to(there), what="the copy stays", seconds=15)
    finally:
        delete_scores(hub, *SPOKES)
    assert unsynced == set()


def test_an_edit_by_hand_is_healed(synced: Synced) -> None:
    edited = ((DYNAMIC_SCORER, SCORER, HUB_NAMESPACE), (WORK, "gitops-dsf-config", "cluster1"))
    changes: tuple[Object, ...] = (
        {"description": "by hand"},
        {"workload": {"manifests": [config_map("by-hand")]}},
    )

    def specs() -> list[Object]:
        return [
            synced.hub.get(kind, name, namespace=namespace)["spec"]
            for kind, name, namespace in edited
        ]

    before = specs()
    for (kind, name, namespace), change in zip(edited, changes, strict=True):
        synced.hub.patch(kind, name, {"spec": change}, namespace=namespace)
    wait_for(lambda: specs() == before, what="both are as git says", seen=specs)


def test_a_removed_cluster_is_pruned_and_returns(synced: Synced) -> None:
    spoke = synced.installation.plane.spokes["cluster2"].admin
    synced.fleet.remove("clusters/cluster2.yaml")
    told = f"run kubectl -n cluster2 delete managedclusteraddon {ADDON_NAME} after the sync"
    assert told in verb(synced, "diff", "--base", "HEAD"), (
        "what happens below is said before the merge"
    )
    head = synced.commit("Take cluster2 out of the fleet")
    for kind, name in ((WORK, "gitops-dsf-config"), (ROLE_BINDING, ADDON_NAME)):
        wait_until_gone(synced.hub, kind, name, namespace="cluster2")
    wait_until_gone(spoke, "v1/ConfigMap", CONFIGMAP_NAME, namespace=AGENT_NAMESPACE)
    synced.settled(head)
    assert synced.hub.find(WORK, "gitops-dsf-config", namespace="cluster1")
    # OCM makes the ClusterManagementAddOn its owner, and Argo CD never prunes what has one: the
    # agent stays, without work or rights, until somebody deletes this object or OCM does together
    # with the ManagedCluster.
    left = synced.hub.get(ADDON, ADDON_NAME, namespace="cluster2")
    assert [owner["kind"] for owner in left["metadata"]["ownerReferences"]] == [
        "ClusterManagementAddOn"
    ]
    synced.hub.delete(ADDON, ADDON_NAME, namespace="cluster2")
    wait_until_gone(synced.hub, ADDON, ADDON_NAME, namespace="cluster2")
    wait_until_gone(spoke, DEPLOYMENT, ADDON_NAME, namespace=AGENT_NAMESPACE)
    synced.fleet.join("cluster2")
    synced.settled(synced.commit("Take it back"))
    assert synced.hub.find(WORK, "gitops-dsf-config", namespace="cluster2")


def test_a_file_that_somebody_adds_is_refused(synced: Synced) -> None:
    """By the AppProjects: in platform a cluster-admin, among the works a right in the namespace of
    Argo CD.
    """
    places = {
        "platform": (
            bound("admin", "cluster-admin", user="somebody"),
            "ClusterRoleBinding is not permitted",
        ),
        "works-00": (
            bound("admin", "cluster-admin", namespace="argocd", user="somebody"),
            "namespace argocd is not permitted in project 'gitops-dsf-works'",
        ),
    }
    try:
        for directory, (item, _) in places.items():
            synced.fleet.write(f"rendered/{directory}/admin.yaml", item)
        # As somebody would who merges past the failed check.
        synced.fleet.publish("Add an administrator")
        for name in synced.names:
            refresh(synced.hub, name)
        for directory, (_, because) in places.items():
            name = f"gitops-dsf-{directory}"
            wait_for(
                lambda name=name, because=because: because in refusal(synced, name),  # type: ignore[misc]
                what=f"{name} refuses it",
                seen=lambda name=name: (refusal(synced, name), state(synced.hub, name)),  # type: ignore[misc]
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


def test_the_works_may_not_enter_a_namespace_of_the_platform(synced: Synced) -> None:
    """As a cluster of such a name would, whose rights are rendered into the namespace of its
    name.
    """
    namespaces = ("openshift-config", "kube-public", "dynamic-scoring", "multicluster-engine")
    name = "gitops-dsf-works-00"
    files = {place: synced.fleet.root / f"rendered/works-00/{place}.yaml" for place in namespaces}
    try:
        for place in namespaces:
            item = bound("agent", "view", namespace=place, user="somebody")
            synced.fleet.write(f"rendered/works-00/{place}.yaml", item)
        synced.fleet.publish("Add clusters of such names")
        refresh(synced.hub, name)
        for place in namespaces:
            wait_for(
                lambda place=place: f"namespace {place} is not permitted" in refusal(synced, name),  # type: ignore[misc]
                what=f"{place} is refused",
                seen=lambda: (refusal(synced, name), state(synced.hub, name)),
            )
        assert synced.hub.find(ROLE_BINDING, "agent", namespace="kube-public") is None
    finally:
        for file in files.values():
            file.unlink(missing_ok=True)
        synced.settled(synced.commit("Take them back"))


def doctor(synced: Synced) -> str:
    return verb(synced, "doctor")


def verb(synced: Synced, *words: str) -> str:
    """What a verb says of this hub."""
    kubeconfig = str(synced.installation.plane.hub.kubeconfig(ADMIN))
    return synced.fleet.run(*words, "--context", "context", "--kubeconfig", kubeconfig).stdout


def refusal(synced: Synced, name: str) -> str:
    """What Argo CD says of the objects that it does not apply."""
    status = synced.hub.get(APPLICATION, name, namespace="argocd").get("status", {})
    results = status.get("operationState", {}).get("syncResult", {}).get("resources", [])
    return " ".join(
        item["message"] for item in results if "not permitted" in item.get("message", "")
    )


def test_a_consumers_namespace_that_is_missing_holds_back_nothing_else(synced: Synced) -> None:
    """A ScoredPlacement in it waits; what the same commit changes for applications does not."""
    path = synced.fleet.root / f"apps/{GUESTBOOK}.yaml"
    guestbook = path.read_text(encoding="utf-8")
    labelled = yaml.safe_load(guestbook)
    labelled["metadata"]["labels"] = {"round": "two"}
    synced.fleet.write(f"apps/{GUESTBOOK}.yaml", labelled)
    synced.fleet.write("apps/training.yaml", placement("synced", "training", "later"))
    synced.fleet.render()
    for _, item in synced.fleet.objects("argocd"):
        if item["kind"] == "AppProject":
            synced.hub.apply(item)
    head = synced.commit("Place the training, too")
    wait_for(
        lambda: (
            synced.hub.get(PLACEMENT, GUESTBOOK, namespace="argocd")["metadata"]["labels"].get(
                "round"
            )
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
    synced.hub.apply(manifest("v1/Namespace", "later"))
    synced.settled(head)
    assert synced.hub.find(PLACEMENT, "training", namespace="later") is not None
    path.write_text(guestbook, encoding="utf-8")
    synced.fleet.remove("apps/training.yaml")
    synced.settled(synced.commit("Place the training no longer"))
    assert synced.hub.find(PLACEMENT, "training", namespace="later") is None


def operation(synced: Synced, name: str) -> dict[str, str]:
    found: dict[str, str] = synced.hub.get(APPLICATION, name, namespace="argocd")["status"][
        "operationState"
    ]
    return found


def remove_applications(hub: Client, names: tuple[str, ...]) -> None:
    """The bootstrap first, or it would heal what is taken away; generated Applications with what
    they brought.
    """
    for name in names:
        hub.delete(APPLICATION, name, namespace="argocd")
    wait_until_gone(hub, APPLICATION, *names, namespace="argocd")
    hub.delete(APPLICATION_SET, GUESTBOOK, namespace="argocd")
    wait_for(lambda: not copies(hub, GUESTBOOK, going=True), what="all gone")
    for name in ("gitops-dsf", "gitops-dsf-works"):
        hub.delete("argoproj.io/v1alpha1/AppProject", name, namespace="argocd")
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        hub.delete(f"{ADMISSION_API}/{kind}", "gitops-dsf-applications")


def config_map(name: str) -> Object:
    return manifest("v1/ConfigMap", name, data={"greeting": "hello"})
