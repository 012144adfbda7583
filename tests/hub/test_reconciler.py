"""The reconciler as a process with the rights that it needs and no others: status on a real hub, and
applications that move at once.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.applications import APPLICATION_SET
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import RESOURCE, SCORE, SCORER, Fleet, application, scorer, write_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.placements import PLACEMENT
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, FAST, HUB_NAMESPACE, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ARGOCD_NAMESPACE, ScoredPlane
from tests.support.pageserver import PageServer, says

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
APPLICATION = "reconciled"
POLL_SECONDS = 20
PAGE = {
    "name": SCORER,
    "source": {"type": "Prometheus", "params": {"query": "avg(cpu_load)", "range": 60, "step": 5}},
    "scoring": {"params": {"name": SCORE, "interval": 5}},
}


@dataclass(kw_only=True)
class ReconcilerPlane(ScoredPlane):
    installation: Installation
    pages: PageServer

    @property
    def fleet(self) -> Fleet:
        return self.installation.fleet

    def is_good(self) -> None:
        """Pages as they were accepted, a fresh score on each cluster, and cluster1 the best."""
        self.pages.pages.update({"/config": says(**PAGE), "/healthz": says(ok=True)})
        self.scores(cluster1=90, cluster2=5)

    def rendered(self, kind: str) -> Object:
        """The application's object of that kind."""
        return next(
            item
            for _, item in self.installation.rendered()
            if item["kind"] == kind and item["metadata"]["name"] == APPLICATION
        )

    def scores(self, **values: int) -> None:
        for cluster, value in values.items():
            self.publish_score(cluster, RESOURCE, {SCORE: value})

    def decision(self) -> list[str]:
        return self.decision_of(APPLICATION)

    def applications(self) -> list[str]:
        items = self.hub.list(
            "argoproj.io/v1alpha1/Application",
            namespace=ARGOCD_NAMESPACE,
            labels=f"gitops-dsf.io/application={APPLICATION}",
        )
        return sorted(
            item["spec"]["destination"]["name"]
            for item in items
            if "deletionTimestamp" not in item["metadata"]
        )

    def move(self, cluster: str) -> float:
        """Makes this cluster the best; seconds from OCM's decision until the Application is there and nowhere
        else.
        """
        self.scores(**{name: 90 if name == cluster else 5 for name in CLUSTERS})
        wait_for(
            lambda: self.decision() == [cluster],
            what=f"OCM decides for {cluster}",
            timeout=90,
            seen=self.decision,
        )
        clock = time.monotonic()
        wait_for(
            lambda: self.applications() == [cluster],
            what=f"the Application is on {cluster}",
            timeout=90,
            seen=self.applications,
        )
        return time.monotonic() - clock

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE).get(
            "status", {}
        )
        return found

    def condition(self, kind: str) -> tuple[str, str, str]:
        return self.condition_of(SCORER, kind)


def refreshes(reconciler: Reconciler) -> float:
    """How often it asked Argo CD to look."""
    return reconciler.metric("refreshes_total") or 0.0


def refreshes_at_rest(reconciler: Reconciler) -> float:
    """The count, once it has not changed for longer than a decision takes to settle."""
    last, since = refreshes(reconciler), time.monotonic()
    while time.monotonic() - since < 7 / reconciler.speed:
        time.sleep(0.1)
        if refreshes(reconciler) != last:
            last, since = refreshes(reconciler), time.monotonic()
    return last


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[ReconcilerPlane]:
    fleet = Fleet(repository=git_server.create("reconciled"), name="reconciled")
    write_fleet(fleet, clusters=list(CLUSTERS))
    (fleet.root / "apps/guestbook.yaml").unlink()
    moves = {"strategy": "Replace", "refreshSeconds": POLL_SECONDS}
    fleet.write(f"apps/{APPLICATION}.yaml", application("reconciled", name=APPLICATION, moves=moves))
    with ExitStack() as stack:
        pages = stack.enter_context(PageServer())
        pages.pages["/config"] = says(**PAGE)
        spec: dict[str, Any] = {"configURL": f"{pages.url}/config", "configSyncMode": "Full", "scoring": {}}
        fleet.write(
            f"scorers/{SCORER}.yaml",
            scorer(**{**spec, "source": {"host": "http://prometheus.monitoring.svc:9090"}}),
        )
        synced = fleet.run("sync")
        assert synced.code == 0, synced.stdout + synced.stderr
        fleet.render()
        for cluster in CLUSTERS:
            spoke = control_plane.spokes[cluster]
            argocd.add_cluster_secret(cluster, spoke.url, spoke.kubeconfig())
            stack.callback(argocd.remove_cluster_secret, cluster)
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        yield ReconcilerPlane(plane=control_plane, hub=hub, installation=installation, pages=pages)


@pytest.fixture(autouse=True)
def _all_is_good(scene: ReconcilerPlane) -> None:
    scene.is_good()


def test_an_application_set_that_missed_its_decision_gets_it(scene: ReconcilerPlane) -> None:
    application_set, placement = scene.rendered("ApplicationSet"), scene.rendered("Placement")
    for kind in (APPLICATION_SET, PLACEMENT):
        scene.hub.delete(kind, APPLICATION, namespace=ARGOCD_NAMESPACE)
    wait_for(
        lambda: not scene.decision() and not scene.applications(),
        what="nothing is decided and nothing runs",
        timeout=90,
    )
    scene.hub.apply(application_set)
    try:
        wait_for(lambda: scene.error_of(APPLICATION), what="it finds no decision")
    finally:
        scene.hub.apply(placement)
    wait_for(scene.decision, what="OCM decides")
    hold_for(
        lambda: not scene.applications(), what="by itself Argo CD looks again after three minutes", seconds=2
    )
    with reconciling(scene.plane, speed=FAST) as reconciler:
        wait_for(scene.applications, what="the Application is made", seen=reconciler.process.tail)


def test_the_application_moves_in_seconds(scene: ReconcilerPlane, note: Callable[[str], None]) -> None:
    with reconciling(scene.plane, speed=FAST) as reconciler:
        scene.move("cluster1")
        before = refreshes_at_rest(reconciler)
        taken = []
        for number, cluster in enumerate(("cluster2", "cluster1"), start=1):
            taken.append(scene.move(cluster))
            # A poll that comes just then may bring the Application before the decision has held still for 5
            # s; it is asked all the same.
            wait_for(
                lambda number=number: refreshes(reconciler) == before + number,  # type: ignore[misc]
                what="it asked Argo CD to look",
                seen=lambda: refreshes(reconciler),
            )
        there, back = taken
        assert max(there, back) < POLL_SECONDS / 2
        assert refreshes_at_rest(reconciler) == before + 2
    note(
        f"reconciler: decision to Application {there:.1f} and {back:.1f} s with it (poll every"
        f" {POLL_SECONDS} s without)"
    )


def test_status_is_written_once_and_columns_show_it(scene: ReconcilerPlane) -> None:
    with reconciling(scene.plane, speed=FAST) as reconciler:
        # The status of a test before may say some of it already.
        wanted = {
            "Healthy": ("True", "Answers", "/healthz answers"),
            "Scored": ("True", "Fresh", "fresh on 2 clusters"),
            "ConfigSynced": ("True", "InSync", "/config says what was accepted"),
        }
        wait_for(
            lambda: {kind: scene.condition(kind) for kind in wanted} == wanted,
            what="status is written",
            seen=scene.status,
        )
        found = scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        assert found["status"]["healthStatus"] == "Active"
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
        assert found["status"]["lastSyncedConfig"]["scoring"]["params"] == {"name": SCORE, "interval": 5}
        columns = scene.columns_of(SCORER)
        assert (columns["HEALTH"], columns["SCORED"], columns["CONFIGSYNCED"]) == ("Active", "True", "True")
        version = found["metadata"]["resourceVersion"]
        hold_for(
            lambda: (
                scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)["metadata"]["resourceVersion"]
                == version
            ),
            what="nothing is written while nothing changes",
            seconds=12 / FAST,
        )
        for line in reconciler.process.written().splitlines():
            assert json.loads(line)["level"] in {"info", "warning"}


"""After this time without an answer of the hub it has ended."""
