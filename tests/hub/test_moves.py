"""Make before break on a real hub, with the reconciler's own account.

The old copy goes, with its workload, when the new one is Healthy. The template of the application
reads a label of its cluster. A paced move counts as under way until the old copy is gone, and OCM
leaves a lost cluster also then.

Deployments run nowhere here, so a test says what their status is, and real Argo CD concludes their
health from it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.pacing.ledger import Ledger, Phase
from tests.hub.controlplane.api import Client, Object, manifest
from tests.hub.controlplane.applications import APPLICATION_SET, copies, error_of, refresh_set
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.agents import DEPLOYMENT
from tests.hub.scenario.fleet import RESOURCE, SCORE, application, new_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import MANAGED_CLUSTER, decided, prefer, publish
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.reconciling import (
    FAST,
    HUB_NAMESPACE,
    Reconciler,
    events,
    reconciling,
    stored_moves,
)

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

FLEET = "moving"
NAME = "moving-single"
GOOD: Object = {"observedGeneration": 1_000}
LABEL = "topology.example.com/region"
REGIONS = {"cluster1": "us", "cluster2": "eu"}
NEW_REGION = "eu-west"
"""Of cluster2, later."""


@dataclass(kw_only=True)
class MovePlane:
    plane: ControlPlane
    hub: Client
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
                f"{going}{status.get('health', {}).get('status')}/{status.get('sync', {}).get('status')}"  # noqa: E501
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
            seen=lambda: (decided(self.hub, name), self.states(name), error_of(self.hub, name)),
        )

    def workload_on(self, name: str, cluster: str) -> Object | None:
        return self.plane.spokes[cluster].admin.find(DEPLOYMENT, cluster, namespace=name)

    def report(self, name: str, cluster: str, status: Object, *, health: str) -> None:
        """Says what a Deployment controller would, and waits until Argo CD has concluded this
        health.
        """

        def look() -> bool:
            # Argo CD may have replaced the Deployment since: said once more, it does no harm.
            self.plane.spokes[cluster].admin.patch_status(
                DEPLOYMENT, cluster, {"conditions": None, **status}, namespace=name
            )
            return self.states(name).get(cluster) == f"{health}/Synced"

        wait_for(look, what=f"the copy on {cluster} is {health}", seen=lambda: self.states(name))

    def settle(self, name: str, *clusters: str) -> None:
        """The application runs on these clusters and nowhere else, Healthy.

        Needs a reconciler that runs.
        """
        self.prefer(name, *clusters)
        wait_for(
            lambda: set(self.copies(name)) >= set(clusters),
            what=f"{name} on {clusters}",
            seen=lambda: self.states(name),
        )
        for cluster in clusters:
            self.report(name, cluster, GOOD, health="Healthy")
        self.become(name, *clusters)

    def events(self, name: str, reason: str) -> list[str]:
        return events(self.hub, self.hub.get(APPLICATION_SET, name, namespace="argocd"), reason)

    def reconciler(self, **spec: Any) -> AbstractContextManager[Reconciler]:
        return reconciling(self.plane, spec=spec, name="moves-reconciler", speed=FAST)

    def ledger(self) -> Ledger:
        return stored_moves(self.hub).ledger

    def phases(self) -> list[Phase]:
        """Of the moves that were admitted."""
        return [each.phase for each in self.ledger().moves if each.admitted]


def deployment(cluster: str) -> str:
    labels = {"app": cluster}
    containers = [{"name": "web", "image": "example.invalid/web:1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return yaml.safe_dump(manifest(DEPLOYMENT, cluster, spec=spec))


@contextmanager
def moving(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, name: str, **spec: Any
) -> Iterator[MovePlane]:
    """A fleet with one application, which deploys the folder of its cluster's region.

    `spec` is added to that of gitops-dsf.yaml.
    """
    fleet = new_fleet(git_server, FLEET, repository=name, guestbook=False)
    workload = git_server.create(f"{name}-workload")
    places = [*REGIONS.items(), ("cluster2", NEW_REGION)]
    workload.commit(
        {f"overlays/{region}/deployment.yaml": deployment(name) for name, region in places}
    )
    fleet.configure(**spec)
    for where, region in REGIONS.items():
        fleet.join(where, **{LABEL: region})
    source = {"repoURL": workload.url, "path": f'overlays/{{{{ index .labels "{LABEL}" }}}}'}
    # Longer than any wait: Argo CD looks because the reconciler asks it to.
    moves = {"strategy": "MakeBeforeBreak", "refreshSeconds": 600}
    fleet.write(f"apps/{NAME}.yaml", application(FLEET, NAME, source=source, moves=moves))
    with (
        argocd.knowing(control_plane.spokes.values()),
        installed(fleet, control_plane) as installation,
    ):
        yield MovePlane(plane=control_plane, hub=control_plane.hub.admin, installation=installation)


@pytest.fixture(scope="module")
def scene(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    argocd: ArgoCD,
    git_server: GitServer,
) -> Iterator[MovePlane]:
    """With a pace or without."""
    spec = {"pace": request.param} if request.param else {}
    with (
        moving(control_plane, argocd, git_server, f"moving-{bool(spec)}".lower(), **spec) as found,
        ExitStack() as stack,
    ):
        stack.callback(found.hub.delete, "v1/ConfigMap", MOVES_SCORE, namespace=HUB_NAMESPACE)
        for name in SPOKES:
            stack.callback(found.hub.delete, SCORES, MOVES_SCORE, namespace=name)
        yield found


PACE: Object = {"concurrent": 1, "settleSeconds": 5, "cooldownSeconds": 0}
AT_ONCE, PACED = (
    pytest.mark.parametrize("scene", [pace], indirect=True, ids=[name])
    for name, pace in (("at-once", None), ("paced", PACE))
)


@AT_ONCE
def test_the_old_copy_goes_with_its_workload_when_the_new_one_is_healthy(scene: MovePlane) -> None:
    with scene.reconciler() as reconciler:
        scene.settle(NAME, "cluster1")
        assert scene.workload_on(NAME, "cluster1") is not None
        removed = removals(reconciler)
        scene.prefer(NAME, "cluster2")
        scene.become(NAME, "cluster1", "cluster2")
        assert scene.paths() == {"cluster1": "overlays/us", "cluster2": "overlays/eu"}
        wait_for(
            lambda: reconciler.waits_for(NAME) == {"NewCopyNotHealthy"},
            what="it waits for the new copy",
        )
        wait_for(
            lambda: (
                "moving-single-cluster1 on cluster1 is still there"
                in " ".join(scene.events(NAME, "MoveWaits"))
            ),
            what="an Event says so",
            seen=reconciler.process.tail,
        )
        wait_for(
            lambda: (
                reconciler.series("moves_waiting_seconds").get(f'{{applicationset="{NAME}"}}', 0)
                >= 10
            ),
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
        hold_for(
            lambda: list(scene.copies(NAME)) == ["cluster2"],
            what="nobody makes it again",
            seconds=6,
        )
        assert scene.uid(NAME, "cluster2") == new
        assert removals(reconciler) == removed + 1
        assert reconciler.waits_for(NAME) == set()
        said = "moving-single-cluster1 on cluster1 is deleted: cluster2 is Healthy and Synced"
        assert said in scene.events(NAME, "CopyRemoved")


def removals(reconciler: Reconciler) -> float:
    """Copies of the application that this process has deleted."""
    return reconciler.metric("copies_removed_total", applicationset=NAME) or 0.0


@AT_ONCE
def test_a_label_counts_once_it_changes_in_git(scene: MovePlane) -> None:
    with scene.reconciler():
        scene.settle(NAME, "cluster2")
    before = scene.uid(NAME, "cluster2")
    scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {LABEL: NEW_REGION}}})
    try:
        refresh_set(scene.hub, NAME)
        hold_for(
            lambda: scene.paths() == {"cluster2": "overlays/eu"},
            what="the hub alone is not read",
            seconds=3,
        )
        scene.installation.fleet.join("cluster2", **{LABEL: NEW_REGION})
        scene.installation.sync()
        wait_for(
            lambda: scene.paths() == {"cluster2": f"overlays/{NEW_REGION}"},
            what="the path follows",
            seen=lambda: (scene.paths(), error_of(scene.hub, NAME)),
        )
        assert scene.uid(NAME, "cluster2") == before
    finally:
        scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"metadata": {"labels": {LABEL: None}}})
        scene.installation.fleet.join("cluster2", **{LABEL: REGIONS["cluster2"]})
        scene.installation.sync()


@PACED
def test_a_paced_move_with_its_handover(scene: MovePlane) -> None:
    """The scores change while nobody reconciles, and nothing moves.

    Then it is admitted, OCM follows, and the move lasts until the old copy is gone.
    """

    def decides(cluster: str) -> None:
        wait_for(
            lambda: decided(scene.hub, NAME) == [cluster],
            what=f"OCM decides for {cluster}",
            seen=scene.ledger,
        )

    scene.prefer(NAME, "cluster1")
    with scene.reconciler(pace=PACE):
        wait_for(lambda: list(scene.copies(NAME)) == ["cluster1"], what="a first copy")
    scene.report(NAME, "cluster1", GOOD, health="Healthy")
    for cluster, value in (("cluster1", 5), ("cluster2", 90)):
        publish(scene.hub, cluster, RESOURCE, {SCORE: value})
    hold_for(
        lambda: decided(scene.hub, NAME) == ["cluster1"], what="nobody admits a move", seconds=3
    )
    with scene.reconciler(pace=PACE):
        decides("cluster2")
        wait_for(lambda: scene.phases() == [Phase.HANDOVER], what="the handover", seen=scene.ledger)
        wait_for(lambda: sorted(scene.copies(NAME)) == list(SPOKES), what="a second copy")
        hold_for(
            lambda: scene.phases() == [Phase.HANDOVER],
            what="the new copy is not healthy",
            seconds=3,
        )
        scene.report(NAME, "cluster2", GOOD, health="Healthy")
        scene.become(NAME, "cluster2")
        wait_for(lambda: Phase.HANDOVER not in scene.phases(), what="the end", seen=scene.ledger)
    taint = {"spec": {"taints": [{"key": "test.example.com/lost", "effect": "NoSelect"}]}}
    scene.hub.patch(MANAGED_CLUSTER, "cluster2", taint)
    try:
        decides("cluster1")
    finally:
        scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"spec": {"taints": None}})
