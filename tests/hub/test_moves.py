"""Make before break on a real hub, with the reconciler's own account: the old copy goes, with its workload,
when the new one is Healthy. The template of the application reads a label of its cluster.

Deployments run nowhere here, so a test says what their status is, and real Argo CD concludes their health
from it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.applications import copies, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION as GUESTBOOK
from tests.hub.scenario.fleet import Fleet, application, settings, write_fleet
from tests.hub.scenario.fleet import cluster as cluster_document
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import MANAGED_CLUSTER, prefer
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ARGOCD_NAMESPACE, ScoredPlane

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

FLEET = "moving"
CLUSTERS = ("cluster1", "cluster2")
NAME = "moving-single"
DEPLOYMENT, EVENT = "apps/v1/Deployment", "v1/Event"
GOOD: Object = {"observedGeneration": 1_000}
LABEL = "topology.example.com/region"
REGIONS = {"cluster1": "us", "cluster2": "eu"}
NEW_REGION = "eu-west"
"""Of cluster2, later."""


@dataclass(kw_only=True)
class MovePlane(ScoredPlane):
    installation: Installation

    def prefer(self, name: str, *clusters: str) -> None:
        """Makes these the best for an application, and waits until OCM has decided."""
        prefer(self.hub, name, *clusters)

    def copies(self, name: str) -> dict[str, Object]:
        """Cluster to Application, those that go included."""
        return copies(self.hub, name, going=True)

    def states(self, name: str) -> dict[str, str]:
        found = {}
        for cluster, item in self.copies(name).items():
            status = item.get("status", {})
            going = "going " if "deletionTimestamp" in item["metadata"] else ""
            found[cluster] = (
                f"{going}{status.get('health', {}).get('status')}/{status.get('sync', {}).get('status')}"
            )
        return found

    def paths(self) -> dict[str, str]:
        """Of the copies in git, by cluster."""
        return {name: item["spec"]["source"]["path"] for name, item in self.copies(NAME).items()}

    def uid(self, name: str, cluster: str) -> str:
        return str(self.copies(name)[cluster]["metadata"]["uid"])

    def become(self, name: str, *clusters: str) -> None:
        """Waits until the copies are on exactly these clusters."""
        wait_for(
            lambda: sorted(self.copies(name)) == sorted(clusters),
            what=f"copies on {clusters}",
            seen=lambda: (self.decision_of(name), self.states(name), error_of(self.hub, name)),
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

    def reconciler(self, name: str = "moves-reconciler") -> AbstractContextManager[Reconciler]:
        return reconciling(self.plane, name=name, speed=FAST)


def deployment(cluster: str) -> str:
    labels = {"app": cluster}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "example.invalid/web:1"}]},
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": cluster},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    return yaml.safe_dump(body)


def in_region(name: str, region: str) -> Object:
    """A cluster with a label."""
    item = cluster_document(name, fleet=FLEET)
    item["metadata"]["labels"][LABEL] = region
    return item


@contextmanager
def moving(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, name: str, **spec: Any
) -> Iterator[MovePlane]:
    """A fleet with one application, which deploys the folder of its cluster's region. `spec` is added to that
    of gitops-dsf.yaml.
    """
    fleet = Fleet(repository=git_server.create(name), name=FLEET)
    workload = git_server.create(f"{name}-workload")
    places = [*REGIONS.items(), ("cluster2", NEW_REGION)]
    workload.commit({f"overlays/{region}/deployment.yaml": deployment(name) for name, region in places})
    write_fleet(fleet, clusters=[])
    (fleet.root / f"apps/{GUESTBOOK}.yaml").unlink()
    document = settings(fleet)
    document["spec"] |= spec
    fleet.write("gitops-dsf.yaml", document)
    for where, region in REGIONS.items():
        fleet.write(f"clusters/{where}.yaml", in_region(where, region))
    item = application(FLEET, name=NAME)
    path = f'overlays/{{{{ index .labels "{LABEL}" }}}}'
    item["spec"]["application"]["source"] |= {"repoURL": workload.url, "path": path}
    del item["spec"]["application"]["syncPolicy"]
    fleet.write(f"apps/{NAME}.yaml", item)
    fleet.render()
    with (
        argocd.knowing(control_plane.spokes.values()),
        installed(fleet, control_plane, clusters=CLUSTERS) as installation,
    ):
        yield MovePlane(plane=control_plane, hub=control_plane.hub.admin, installation=installation)


@pytest.fixture(scope="module")
def scene(control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer) -> Iterator[MovePlane]:
    with moving(control_plane, argocd, git_server, "moving") as found:
        yield found


def test_the_old_copy_goes_with_its_workload_when_the_new_one_is_healthy(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(NAME, "cluster1")
        assert scene.workload_on(NAME, "cluster1") is not None
        removed = removals(reconciler)
        scene.prefer(NAME, "cluster2")
        scene.become(NAME, "cluster1", "cluster2")
        assert scene.paths() == {"cluster1": "overlays/us", "cluster2": "overlays/eu"}
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
        wait_for(
            lambda: "going" in scene.states(NAME).get("cluster1", "going"),
            what="the old copy is deleted",
            seen=reconciler.process.tail,
        )
        scene.become(NAME, "cluster2")
        assert scene.workload_on(NAME, "cluster1") is None
        hold_for(lambda: list(scene.copies(NAME)) == ["cluster2"], what="nobody makes it again", seconds=6)
        assert scene.uid(NAME, "cluster2") == new
        assert removals(reconciler) == removed + 1
        assert reconciler.waits_for(NAME) == set()
        assert (
            "Normal",
            "moving-single-cluster1 on cluster1 is deleted: cluster2 is Healthy and Synced",
        ) in scene.events(NAME, "CopyRemoved")


def removals(reconciler: Reconciler) -> float:
    """Copies of the application that this process has deleted."""
    return reconciler.metric("copies_removed_total", applicationset=NAME) or 0.0


def test_a_label_counts_once_it_changes_in_git(scene: MovePlane) -> None:
    with scene.reconciler():
        scene.settle(NAME, "cluster2")
    before = scene.uid(NAME, "cluster2")
    scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {LABEL: NEW_REGION}}})
    try:
        refresh_set(scene.hub, NAME)
        hold_for(
            lambda: scene.paths() == {"cluster2": "overlays/eu"}, what="the hub alone is not read", seconds=3
        )
        scene.installation.fleet.write("clusters/cluster2.yaml", in_region("cluster2", NEW_REGION))
        scene.installation.sync()
        wait_for(
            lambda: scene.paths() == {"cluster2": f"overlays/{NEW_REGION}"},
            what="the path follows",
            seen=lambda: (scene.paths(), error_of(scene.hub, NAME)),
        )
        assert scene.uid(NAME, "cluster2") == before
    finally:
        scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {LABEL: None}}})
        scene.installation.fleet.write("clusters/cluster2.yaml", in_region("cluster2", REGIONS["cluster2"]))
        scene.installation.sync()
