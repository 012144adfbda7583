"""Make before break on a real hub, with the reconciler's own account: the old copy goes, with its workload,
when the new one is Healthy.

Deployments run nowhere here, so a test says what their status is, and real Argo CD concludes their health
from it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from gitops_dsf.hub.names import TIMEOUT_ANNOTATION
from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION, APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import GitRepository
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import RESOURCE, SCORE, Fleet, application, write_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import publish
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

FLEET = "moving"
CLUSTERS = ("cluster1", "cluster2")
NAME = "moving-single"
ARGOCD_NAMESPACE = "argocd"
DEPLOYMENT, EVENT = "apps/v1/Deployment", "v1/Event"
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

    def prefer(self, name: str, *clusters: str) -> None:
        """Makes these the best for an application, and waits until OCM has decided."""
        for cluster in CLUSTERS:
            publish(self.hub, cluster, RESOURCE, {SCORE: 90 if cluster in clusters else 5})
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

    def become(self, name: str, *clusters: str) -> None:
        """Waits until the copies are on exactly these clusters."""
        wait_for(
            lambda: sorted(self.copies(name)) == sorted(clusters),
            what=f"copies on {clusters}",
            seen=lambda: (self.decision_of(name), self.states(name), self.error_of(name)),
        )

    def workload_on(self, name: str, cluster: str) -> Object | None:
        return self.plane.spokes[cluster].admin.find(DEPLOYMENT, cluster, namespace=name)

    def report(self, name: str, cluster: str, status: Object, *, health: str) -> None:
        """Says what a Deployment controller would, and waits until Argo CD has concluded this health."""

        def look() -> bool:
            # Argo CD may have replaced the Deployment since: said once more, it does no harm.
            self.plane.spokes[cluster].admin.patch_status(
                DEPLOYMENT, cluster, {"conditions": None, **status}, namespace=name
            )
            return self.states(name).get(cluster) == f"{health}/Synced"

        wait_for(look, what=f"the copy on {cluster} is {health}", seen=lambda: self.states(name))

    def settle(self, name: str, *clusters: str) -> None:
        """The application runs on these clusters and nowhere else, Healthy. Needs a reconciler that runs."""
        self.prefer(name, *clusters)
        wait_for(
            lambda: set(self.copies(name)) >= set(clusters),
            what=f"{name} on {clusters}",
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
    """One application, which deploys the folder of its cluster."""
    write_fleet(fleet, clusters=list(CLUSTERS))
    (fleet.root / f"apps/{GUESTBOOK}.yaml").unlink()
    item = application(FLEET, name=NAME)
    item["spec"]["application"]["source"] = {
        "repoURL": workload,
        "path": "{{.name}}",
        "targetRevision": "main",
    }
    del item["spec"]["application"]["syncPolicy"]
    fleet.write(f"apps/{NAME}.yaml", item)


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
        for name in CLUSTERS:
            spoke = control_plane.spokes[name]
            argocd.add_cluster_secret(name, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, name)
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        yield found


def test_the_old_copy_goes_with_its_workload_when_the_new_one_is_healthy(
    scene: MovePlane, note: Callable[[str], None]
) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(NAME, "cluster1")
        assert scene.workload_on(NAME, "cluster1") is not None
        removed = removals(reconciler)
        scene.prefer(NAME, "cluster2")
        scene.become(NAME, "cluster1", "cluster2")
        wait_for(
            lambda: reconciler.waits_for(NAME) == {"NewCopyNotHealthy"}, what="it waits for the new copy"
        )
        wait_for(
            lambda: any(
                "moving-single-cluster1 on cluster1 is still there" in text
                for _, text in scene.events(NAME, "MoveWaits")
            ),
            what="an Event says so",
            seen=lambda: (scene.events(NAME, "MoveWaits"), reconciler.process.tail()),
        )
        # The Event may be one of an earlier test: it is counted up.
        wait_for(
            lambda: reconciler.series("moves_waiting_seconds").get(f'{{applicationset="{NAME}"}}', 0) >= 10,
            what="it has waited for 10 s of its clock",
            seen=reconciler.process.tail,
        )
        assert sorted(scene.copies(NAME)) == ["cluster1", "cluster2"]
        new = scene.uid(NAME, "cluster2")
        scene.report(NAME, "cluster2", GOOD, health="Healthy")
        clock = time.monotonic()
        wait_for(
            lambda: "going" in scene.states(NAME).get("cluster1", "going"),
            what="the old copy is deleted",
            seen=reconciler.process.tail,
        )
        asked = time.monotonic() - clock
        scene.become(NAME, "cluster2")
        note(
            f"moves: new copy Healthy to old copy's deletion {asked:.1f} s, to its end with its workload"
            f" {time.monotonic() - clock:.1f} s"
        )
        assert scene.workload_on(NAME, "cluster1") is None
        hold_for(lambda: list(scene.copies(NAME)) == ["cluster2"], what="nobody makes it again", seconds=6)
        assert scene.uid(NAME, "cluster2") == new
        assert removals(reconciler) == removed + 1
        assert reconciler.waits_for(NAME) == set()
        assert (
            "Normal",
            "moving-single-cluster1 on cluster1 is deleted: cluster2 is Healthy and Synced",
        ) in scene.events(NAME, "CopyRemoved")


def test_a_new_copy_that_fails_never_costs_the_old_one_and_a_suspended_one_does_after_the_time_out(
    scene: MovePlane,
) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(NAME, "cluster1")
        scene.annotate(NAME, **{TIMEOUT_ANNOTATION: "3"})
        scene.prefer(NAME, "cluster2")
        scene.become(NAME, "cluster1", "cluster2")
        scene.report(NAME, "cluster2", DEGRADED, health="Degraded")
        wait_for(
            lambda: reconciler.waits_for(NAME) == {"TimedOut"},
            what="the time-out is over",
            seen=reconciler.process.tail,
        )
        wait_for(
            lambda: any(
                kind == "Warning" and "is Degraded/Synced" in text
                for kind, text in scene.events(NAME, "MoveWaits")
            ),
            what="a Warning says why",
            seen=lambda: scene.events(NAME, "MoveWaits"),
        )
        hold_for(
            lambda: scene.states(NAME)["cluster1"] == "Healthy/Synced", what="the old copy stays", seconds=3
        )
        scene.workload.commit(workload_files({"cluster2": True}))
        try:
            scene.become(NAME, "cluster2")
            assert scene.states(NAME)["cluster2"].startswith("Suspended/")
        finally:
            scene.workload.commit(workload_files({}))
            scene.annotate(NAME, **{TIMEOUT_ANNOTATION: "1800"})


def removals(reconciler: Reconciler) -> float:
    """Copies of the single application that this process has deleted."""
    return reconciler.metric("copies_removed_total", applicationset=NAME) or 0.0
