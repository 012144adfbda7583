"""Make before break on a real hub, with the reconciler's own account: the old copy goes, with its workload,
when the new one is Healthy.

Deployments run nowhere here, so a test says what their status is, and real Argo CD concludes their health
from it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import yaml

from gitops_dsf.hub.names import TIMEOUT_ANNOTATION
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP
from tests.hub.controlplane.api import ApiError, Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import GitRepository
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kube import ApiServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import Fleet, application, cluster_set, scorer, settings
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import PLACEMENT, publish
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

FLEET = "moving"
CLUSTERS = ("cluster1", "cluster2", "cluster3", "cluster4")
"""The last two are the same spokes under another address: Argo CD takes them for others, and each has a
workload of its own name.
"""
SINGLE, KEPT, WIDE = "moving-single", "moving-kept", "moving-wide"
SHARED, FOLLOWERS = "moving-shared", ("moving-left", "moving-right")
"""A ScoredPlacement, and the applications that follow it."""
ARGOCD_NAMESPACE = "argocd"
DEPLOYMENT, EVENT = "apps/v1/Deployment", "v1/Event"
REFRESH = "argocd.argoproj.io/application-set-refresh"
GOOD: Object = {"observedGeneration": 1_000}
DEGRADED: Object = {
    "observedGeneration": 1_000,
    "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "test"}
    ],
}


@dataclass(kw_only=True)
class MovePlane(ScoredPlane):
    workload: GitRepository
    best: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def spoke(self, cluster: str) -> ApiServer:
        return self.plane.spokes[{"cluster3": "cluster1", "cluster4": "cluster2"}.get(cluster, cluster)]

    def prefer(self, name: str, *clusters: str) -> None:
        """Makes these the best for an application, and waits until OCM has decided."""
        for cluster in CLUSTERS:
            publish(self.hub, cluster, name, {name.replace("-", "_"): 90 if cluster in clusters else 5})
        wait_for(
            lambda: self.decision_of(name) == sorted(clusters),
            what=f"OCM decides for {clusters}",
            seen=lambda: self.decision_of(name),
        )

    def copies(self, name: str) -> dict[str, Object]:
        """Cluster to Application, those that go included."""
        items = self.hub.list(
            APPLICATION, namespace=ARGOCD_NAMESPACE, labels=f"gitops-dsf.io/application={name}"
        )
        return {item["spec"]["destination"]["name"]: item for item in items}

    def states(self, name: str) -> dict[str, str]:
        found = {}
        for cluster, item in self.copies(name).items():
            status = item.get("status", {})
            going = "going " if "deletionTimestamp" in item["metadata"] else ""
            found[cluster] = (
                f"{going}{status.get('health', {}).get('status')}/{status.get('sync', {}).get('status')}"
            )
        return found

    def uid(self, name: str, cluster: str) -> str:
        return str(self.copies(name)[cluster]["metadata"]["uid"])

    def become(self, name: str, *clusters: str, timeout: float = 60) -> None:
        """Waits until the copies are on exactly these clusters."""
        wait_for(
            lambda: sorted(self.copies(name)) == sorted(clusters),
            what=f"copies on {clusters}",
            timeout=timeout,
            seen=lambda: (self.decision_of(name), self.states(name), self.error_of(name)),
        )

    def workload_on(self, name: str, cluster: str) -> Object | None:
        return self.spoke(cluster).admin.find(DEPLOYMENT, cluster, namespace=name)

    def report(self, name: str, cluster: str, status: Object, *, health: str) -> None:
        """Says what a Deployment controller would, and waits until Argo CD has concluded this health."""

        def look() -> bool:
            # Argo CD may have replaced the Deployment since: said once more, it does no harm.
            self.spoke(cluster).admin.patch_status(
                DEPLOYMENT, cluster, {"conditions": None, **status}, namespace=name
            )
            return self.states(name).get(cluster) == f"{health}/Synced"

        wait_for(look, what=f"the copy on {cluster} is {health}", timeout=60, seen=lambda: self.states(name))

    def settle(self, name: str, *clusters: str) -> None:
        """The application runs on these clusters and nowhere else, Healthy. Needs a reconciler that runs."""
        self.prefer(name, *clusters)
        wait_for(
            lambda: set(self.copies(name)) >= set(clusters),
            what=f"{name} on {clusters}",
            timeout=60,
            seen=lambda: self.states(name),
        )
        for cluster in clusters:
            self.report(name, cluster, GOOD, health="Healthy")
        self.become(name, *clusters)

    def events(self, name: str, reason: str) -> list[tuple[str, str]]:
        items = self.hub.list(EVENT, namespace=ARGOCD_NAMESPACE)
        return [
            (item["type"], item["message"])
            for item in items
            if item["involvedObject"].get("name") == name
            and item["involvedObject"].get("kind") == "ApplicationSet"
            and item["reason"] == reason
        ]

    def annotate(self, name: str, **annotations: str) -> None:
        self.hub.patch(
            APPLICATION_SET, name, {"metadata": {"annotations": annotations}}, namespace=ARGOCD_NAMESPACE
        )

    def reconciler(self, name: str = "moves-reconciler") -> AbstractContextManager[Reconciler]:
        return reconciling(self.plane, name=name, speed=FAST)


def deployment(cluster: str, **spec: Any) -> str:
    labels = {"app": cluster}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "example.invalid/web:1"}]},
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": cluster},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template, **spec},
    }
    return yaml.safe_dump(body)


def workload_files(paused: Mapping[str, bool]) -> dict[str, str]:
    return {
        f"{name}/deployment.yaml": deployment(name, **({"paused": True} if paused.get(name) else {}))
        for name in CLUSTERS
    }


def write_moving_fleet(fleet: Fleet, workload: str) -> None:
    """Each application has a score of its own, so that each moves by itself; but two share a Placement."""
    fleet.write("gitops-dsf.yaml", settings(fleet))
    fleet.write("clusters/set.yaml", cluster_set(FLEET))
    for name in CLUSTERS:
        fleet.write(f"clusters/{name}.yaml", cluster_document(name, fleet=FLEET))
    for name in (SINGLE, KEPT, WIDE, SHARED):
        ranking = scorer()
        ranking["metadata"]["name"] = name
        ranking["spec"]["scoring"]["params"]["name"] = name.replace("-", "_")
        fleet.write(f"scorers/{name}.yaml", ranking)
    for name, clusters, strategy in (
        (SINGLE, 1, "MakeBeforeBreak"),
        (KEPT, 1, "Keep"),
        (WIDE, 3, "MakeBeforeBreak"),
    ):
        item = application(FLEET, name=name, strategy=strategy, scores=[{"scorer": name}])
        from_workload(item, workload)
        item["spec"]["placement"]["numberOfClusters"] = clusters
        fleet.write(f"apps/{name}.yaml", item)
    fleet.write(f"apps/{SHARED}.yaml", shared_placement())
    for name in FOLLOWERS:
        item = application(FLEET, name=name, placement={"ref": SHARED})
        del item["spec"]["scores"], item["spec"]["stickiness"]
        from_workload(item, workload)
        fleet.write(f"apps/{name}.yaml", item)


def from_workload(item: Object, workload: str) -> None:
    """The application deploys the folder of its cluster."""
    item["spec"]["application"]["source"] = {
        "repoURL": workload,
        "path": "{{.name}}",
        "targetRevision": "main",
    }
    del item["spec"]["application"]["syncPolicy"]


def shared_placement() -> Object:
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": SHARED},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": [FLEET]},
            "scores": [{"scorer": SHARED}],
            "stickiness": 10,
        },
    }


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[MovePlane]:
    fleet = Fleet(repository=git_server.create(FLEET), name=FLEET)
    workload = git_server.create("moving-workload")
    workload.commit(workload_files({}))
    write_moving_fleet(fleet, workload.url)
    fleet.render()
    found = MovePlane(plane=control_plane, hub=hub, workload=workload)
    with ExitStack() as stack:
        control_plane.add_clusters({name: {} for name in CLUSTERS[2:]})
        for name in reversed(CLUSTERS[2:]):
            stack.callback(control_plane.remove_cluster, name)
        for name in CLUSTERS:
            spoke = found.spoke(name)
            url = spoke.url if name in control_plane.spokes else spoke.url.replace("127.0.0.1", "localhost")
            argocd.add_cluster_secret(name, url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, name)
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        yield found


def test_the_old_copy_goes_with_its_workload_when_the_new_one_is_healthy(
    scene: MovePlane, note: Callable[[str], None]
) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(SINGLE, "cluster1")
        assert scene.workload_on(SINGLE, "cluster1") is not None
        removed = removals(reconciler)
        scene.prefer(SINGLE, "cluster2")
        scene.become(SINGLE, "cluster1", "cluster2")
        wait_for(
            lambda: reconciler.waits_for(SINGLE) == {"NewCopyNotHealthy"}, what="it waits for the new copy"
        )
        wait_for(
            lambda: any(
                "moving-single-cluster1 on cluster1 is still there" in text
                for _, text in scene.events(SINGLE, "MoveWaits")
            ),
            what="an Event says so",
            seen=lambda: (scene.events(SINGLE, "MoveWaits"), reconciler.process.tail()),
        )
        # The Event may be one of an earlier test: it is counted up.
        wait_for(
            lambda: reconciler.series("moves_waiting_seconds").get(f'{{applicationset="{SINGLE}"}}', 0) >= 10,
            what="it has waited for 10 s",
            seen=reconciler.process.tail,
        )
        assert sorted(scene.copies(SINGLE)) == ["cluster1", "cluster2"]
        new = scene.uid(SINGLE, "cluster2")
        scene.report(SINGLE, "cluster2", GOOD, health="Healthy")
        clock = time.monotonic()
        wait_for(
            lambda: "going" in scene.states(SINGLE).get("cluster1", "going"),
            what="the old copy is deleted",
            seen=reconciler.process.tail,
        )
        asked = time.monotonic() - clock
        scene.become(SINGLE, "cluster2")
        note(
            f"moves: new copy Healthy to old copy's deletion {asked:.1f} s, to its end with its workload"
            f" {time.monotonic() - clock:.1f} s"
        )
        assert scene.workload_on(SINGLE, "cluster1") is None
        hold_for(lambda: list(scene.copies(SINGLE)) == ["cluster2"], what="nobody makes it again", seconds=7)
        assert scene.uid(SINGLE, "cluster2") == new
        assert removals(reconciler) == removed + 1
        assert reconciler.waits_for(SINGLE) == set()
        assert (
            "Normal",
            "moving-single-cluster1 on cluster1 is deleted: cluster2 is Healthy and Synced",
        ) in scene.events(SINGLE, "CopyRemoved")


def test_applications_that_share_a_placement_move_each_on_its_own(scene: MovePlane) -> None:
    """The old copy of one waits for its own new copy, whatever the other one does."""
    left, right = FOLLOWERS
    with scene.reconciler("moves-shared") as reconciler:
        scene.prefer(SHARED, "cluster1")
        for name in FOLLOWERS:
            wait_for(
                lambda name=name: "cluster1" in scene.copies(name),  # type: ignore[misc]
                what=f"{name} on cluster1",
                timeout=60,
                seen=lambda name=name: (scene.states(name), scene.error_of(name)),  # type: ignore[misc]
            )
            scene.report(name, "cluster1", GOOD, health="Healthy")
        scene.prefer(SHARED, "cluster2")
        for name in FOLLOWERS:
            scene.become(name, "cluster1", "cluster2")
        scene.report(left, "cluster2", GOOD, health="Healthy")
        scene.become(left, "cluster2")
        wait_for(
            lambda: reconciler.waits_for(right) == {"NewCopyNotHealthy"},
            what="the other one waits for its new copy",
            seen=reconciler.process.tail,
        )
        assert sorted(scene.copies(right)) == ["cluster1", "cluster2"]
        scene.report(right, "cluster2", GOOD, health="Healthy")
        scene.become(right, "cluster2")


def test_a_decision_that_flips_back_costs_only_the_copy_that_nobody_wants(scene: MovePlane) -> None:
    with scene.reconciler("moves-back") as reconciler:
        scene.settle(SINGLE, "cluster1")
        # The move from the test before is over, or never was.
        removed = len(reconciler.messages("deleted from cluster1"))
        old = scene.uid(SINGLE, "cluster1")
        scene.prefer(SINGLE, "cluster2")
        scene.become(SINGLE, "cluster1", "cluster2")
        scene.prefer(SINGLE, "cluster1")
        scene.become(SINGLE, "cluster1")
        hold_for(
            lambda: scene.uid(SINGLE, "cluster1") == old, what="the old one was never touched", seconds=3
        )
        assert len(reconciler.messages("deleted from cluster1")) == removed


def test_a_new_copy_that_fails_never_costs_the_old_one_and_a_suspended_one_does_after_the_time_out(
    scene: MovePlane,
) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(SINGLE, "cluster1")
        scene.annotate(SINGLE, **{TIMEOUT_ANNOTATION: "3"})
        scene.prefer(SINGLE, "cluster2")
        scene.become(SINGLE, "cluster1", "cluster2")
        scene.report(SINGLE, "cluster2", DEGRADED, health="Degraded")
        wait_for(
            lambda: reconciler.waits_for(SINGLE) == {"TimedOut"},
            what="the time-out is over",
            seen=reconciler.process.tail,
        )
        wait_for(
            lambda: any(
                kind == "Warning" and "is Degraded/Synced" in text
                for kind, text in scene.events(SINGLE, "MoveWaits")
            ),
            what="a Warning says why",
            seen=lambda: scene.events(SINGLE, "MoveWaits"),
        )
        hold_for(
            lambda: scene.states(SINGLE)["cluster1"] == "Healthy/Synced", what="the old copy stays", seconds=5
        )
        scene.workload.commit(workload_files({"cluster2": True}))
        try:
            scene.become(SINGLE, "cluster2")
            assert scene.states(SINGLE)["cluster2"].startswith("Suspended/")
        finally:
            scene.workload.commit(workload_files({}))
            scene.annotate(SINGLE, **{TIMEOUT_ANNOTATION: "1800"})


def test_an_empty_decision_removes_nothing(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(SINGLE, "cluster1")
        before = scene.uid(SINGLE, "cluster1")
        nothing = [
            {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"test.example.com/none": "here"}}}}
        ]
        predicates = scene.hub.get(PLACEMENT, SINGLE, namespace=ARGOCD_NAMESPACE)["spec"].get("predicates")
        scene.hub.patch(PLACEMENT, SINGLE, {"spec": {"predicates": nothing}}, namespace=ARGOCD_NAMESPACE)
        try:
            wait_for(
                lambda: scene.decision_of(SINGLE) == [],
                what="the decision is empty",
                seen=lambda: scene.decision_of(SINGLE),
            )
            wait_for(
                lambda: reconciler.waits_for(SINGLE) == {"DecisionEmpty"},
                what="it says so",
                seen=reconciler.process.tail,
            )
            hold_for(lambda: scene.uid(SINGLE, "cluster1") == before, what="the copy stays", seconds=8)
        finally:
            scene.hub.patch(
                PLACEMENT, SINGLE, {"spec": {"predicates": predicates}}, namespace=ARGOCD_NAMESPACE
            )
        wait_for(
            lambda: scene.decision_of(SINGLE) == ["cluster1"],
            what="the decision is back",
            seen=lambda: scene.decision_of(SINGLE),
        )
        wait_for(
            lambda: reconciler.waits_for(SINGLE) == set(), what="nothing waits", seen=reconciler.process.tail
        )


def test_a_reconciler_that_was_killed_deletes_once_and_not_too_early(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(SINGLE, "cluster1")
    with scene.reconciler("moves-killed") as reconciler:
        scene.prefer(SINGLE, "cluster2")
        scene.become(SINGLE, "cluster1", "cluster2")
        wait_for(
            lambda: "NewCopyNotHealthy" in reconciler.waits_for(SINGLE),
            what="it waits",
            seen=reconciler.process.tail,
        )
        scene.plane.processes.stop("moves-killed", kill=True)
    new = scene.uid(SINGLE, "cluster2")
    scene.report(SINGLE, "cluster2", GOOD, health="Healthy")
    hold_for(lambda: len(scene.copies(SINGLE)) == 2, what="without a reconciler both stay", seconds=3)
    with scene.reconciler("moves-killed") as reconciler:
        wait_for(
            lambda: scene.states(SINGLE).get("cluster1", "going").startswith("going"),
            what="it deletes",
            seen=reconciler.process.tail,
        )
        scene.plane.processes.stop("moves-killed", kill=True)
    with scene.reconciler("moves-killed") as reconciler:
        scene.become(SINGLE, "cluster2")
        hold_for(lambda: scene.uid(SINGLE, "cluster2") == new, what="the new copy is untouched", seconds=8)
        assert removals(reconciler) == 0, "what was deleted before is not deleted again"
        # None where it was killed between the hub's answer and its own word.
        assert len(reconciler.messages("deleted from cluster1")) <= 1


def test_keep_keeps(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(KEPT, "cluster1")
        scene.prefer(KEPT, "cluster2")
        scene.become(KEPT, "cluster1", "cluster2")
        scene.report(KEPT, "cluster2", GOOD, health="Healthy")
        hold_for(lambda: sorted(scene.copies(KEPT)) == ["cluster1", "cluster2"], what="both stay", seconds=8)
        assert reconciler.waits_for(KEPT) == set()


def test_one_of_three_copies_moves_and_the_others_are_not_touched(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(WIDE, "cluster1", "cluster2", "cluster3")
        before = {cluster: scene.uid(WIDE, cluster) for cluster in ("cluster1", "cluster2")}
        scene.prefer(WIDE, "cluster1", "cluster2", "cluster4")
        scene.become(WIDE, *CLUSTERS)
        hold_for(lambda: len(scene.copies(WIDE)) == 4, what="four until the new one is Healthy", seconds=3)
        scene.report(WIDE, "cluster4", GOOD, health="Healthy")
        scene.become(WIDE, "cluster1", "cluster2", "cluster4")
        assert {cluster: scene.uid(WIDE, cluster) for cluster in before} == before
        assert scene.workload_on(WIDE, "cluster3") is None
        assert reconciler.series("decision_clusters")[f'{{placement="{WIDE}"}}'] == 3
        # A cluster that is away makes the decision smaller; three were asked for, so nothing goes.
        scene.plane.set_available("cluster4", "Unknown")
        try:
            wait_for(
                lambda: "cluster4" not in scene.decision_of(WIDE),
                what="OCM leaves it out",
                seen=lambda: scene.decision_of(WIDE),
            )
            hold_for(lambda: "cluster4" in scene.copies(WIDE), what="its copy stays", seconds=8)
            assert reconciler.waits_for(WIDE) <= {
                "ClusterUnreachable",
                "DecisionUnsettled",
                "NewCopyNotHealthy",
                "NewCopyMissing",
            }
        finally:
            scene.plane.set_available("cluster4", "True")


def test_an_application_that_somebody_moved_or_made_is_left_alone(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(SINGLE, "cluster1")
        stranger = scene.copies(SINGLE)["cluster1"]
        body = {
            "apiVersion": stranger["apiVersion"],
            "kind": stranger["kind"],
            "metadata": {
                "name": f"{SINGLE}-by-hand",
                "namespace": ARGOCD_NAMESPACE,
                "labels": stranger["metadata"]["labels"],
            },
            "spec": {
                **stranger["spec"],
                "destination": {"name": "cluster4", "namespace": "by-hand"},
                "syncPolicy": {},
            },
        }
        scene.hub.create(body)
        try:
            hold_for(
                lambda: "cluster4" in scene.copies(SINGLE),
                what="one that no ApplicationSet controls stays",
                seconds=8,
            )
            assert reconciler.waits_for(SINGLE) == set()
        finally:
            scene.hub.delete(APPLICATION, f"{SINGLE}-by-hand", namespace=ARGOCD_NAMESPACE)


def test_the_hub_refuses_to_delete_another_version_or_another_object(scene: MovePlane) -> None:
    """What a removal rests on when an Application changes after it was read."""
    spec = {
        "project": "default",
        "source": {"repoURL": scene.workload.url, "path": "cluster1", "targetRevision": "main"},
        "destination": {"name": "cluster1", "namespace": "by-hand"},
    }
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "versions", "namespace": ARGOCD_NAMESPACE},
    }
    made = scene.hub.create({**body, "spec": spec})["metadata"]
    path = scene.hub.path(APPLICATION, "versions", namespace=ARGOCD_NAMESPACE)
    try:
        scene.hub.patch(
            APPLICATION,
            "versions",
            {"metadata": {"annotations": {"changed": "yes"}}},
            namespace=ARGOCD_NAMESPACE,
        )
        for conditions in (
            {"uid": made["uid"], "resourceVersion": made["resourceVersion"]},
            {"uid": "another"},
        ):
            with pytest.raises(ApiError) as refused:
                scene.hub.request(
                    "DELETE",
                    path,
                    body={"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions},
                )
            assert refused.value.code == httpx.codes.CONFLICT
        assert scene.hub.find(APPLICATION, "versions", namespace=ARGOCD_NAMESPACE) is not None
    finally:
        scene.hub.delete(APPLICATION, "versions", namespace=ARGOCD_NAMESPACE)


def test_a_look_that_failed_is_asked_for_again(scene: MovePlane) -> None:
    """Argo CD's own next look after a failure is three minutes away."""
    config = scene.hub.get("v1/ConfigMap", DUCK_TYPE_CONFIGMAP, namespace=ARGOCD_NAMESPACE)
    with scene.reconciler("moves-asking") as reconciler:
        scene.settle(SINGLE, "cluster1")
        scene.hub.delete("v1/ConfigMap", DUCK_TYPE_CONFIGMAP, namespace=ARGOCD_NAMESPACE)
        try:
            scene.prefer(SINGLE, "cluster2")
            wait_for(
                lambda: scene.error_of(SINGLE), what="its look fails", seen=lambda: scene.error_of(SINGLE)
            )
            first = wait_for(lambda: annotation(scene), what="it is asked")
            hold_for(
                lambda: annotation(scene) == first,
                what="the look fails, and the annotation is left",
                seconds=3,
            )
        finally:
            metadata = {
                "name": DUCK_TYPE_CONFIGMAP,
                "namespace": ARGOCD_NAMESPACE,
                "labels": config["metadata"].get("labels", {}),
            }
            restore(
                scene.hub,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": config["data"]},
            )
        scene.become(SINGLE, "cluster1", "cluster2")
        wait_for(lambda: annotation(scene) is None, what="Argo CD looked", seen=lambda: annotation(scene))
        assert first != "true"
        assert reconciler.messages("refreshed again")


def removals(reconciler: Reconciler) -> float:
    """Copies of the single application that this process has deleted."""
    return reconciler.metric("copies_removed_total", applicationset=SINGLE) or 0.0


def annotation(scene: MovePlane) -> str | None:
    found: str | None = (
        scene.hub.get(APPLICATION_SET, SINGLE, namespace=ARGOCD_NAMESPACE)["metadata"]
        .get("annotations", {})
        .get(REFRESH)
    )
    return found


def restore(hub: Client, item: Object) -> None:
    try:
        hub.create(item)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
