"""The reconciler as a process with the rights that it needs and no others: status on a real hub, and
applications that move at once.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.hub.controlplane.api import Client, condition
from tests.hub.controlplane.applications import copies
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import SCORE, SCORER, Fleet, application, scorer, write_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import prefer
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, FAST, HUB_NAMESPACE, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane
from tests.support.pageserver import PageServer, says

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
APPLICATION = "reconciled"
POLL_SECONDS = 60
PAGE = {
    "name": SCORER,
    "source": {"type": "Prometheus", "params": {"query": "avg(cpu_load)", "range": 60, "step": 5}},
    "scoring": {"params": {"name": SCORE, "interval": 5}},
}


@dataclass(kw_only=True)
class ReconcilerPlane(ScoredPlane):
    def applications(self) -> list[str]:
        return sorted(copies(self.hub, APPLICATION))

    def move(self, cluster: str) -> float:
        """Makes this cluster the best; seconds from OCM's decision until the Application is there and nowhere
        else.
        """
        prefer(self.hub, APPLICATION, cluster, seconds=3600)
        clock = time.monotonic()
        wait_for(
            lambda: self.applications() == [cluster],
            what=f"the Application is on {cluster}",
            timeout=90,
            seen=self.applications,
        )
        return time.monotonic() - clock

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        """(status, reason, message) of the scorer's conditions that this module is about."""
        found = self.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        all_three = {kind: condition(found, kind) for kind in ("Healthy", "Scored", "ConfigSynced")}
        return {
            kind: (one["status"], one["reason"], one["message"]) for kind, one in all_three.items() if one
        }


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
        pages.pages.update({"/config": says(**PAGE), "/healthz": says(ok=True)})
        spec: dict[str, Any] = {"configURL": f"{pages.url}/config", "configSyncMode": "Full", "scoring": {}}
        fleet.write(
            f"scorers/{SCORER}.yaml",
            scorer(**{**spec, "source": {"host": "http://prometheus.monitoring.svc:9090"}}),
        )
        synced = fleet.run("sync")
        assert synced.returncode == 0, synced.stdout + synced.stderr
        fleet.render()
        stack.enter_context(argocd.knowing(control_plane.spokes.values()))
        stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        scene = ReconcilerPlane(plane=control_plane, hub=hub)
        prefer(hub, APPLICATION, "cluster1", seconds=3600)
        yield scene


def test_the_application_moves_in_seconds(scene: ReconcilerPlane) -> None:
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


def test_status_is_written_once_and_columns_show_it(scene: ReconcilerPlane) -> None:
    with reconciling(scene.plane, speed=FAST) as reconciler:
        # The status of a test before may say some of it already.
        wanted = {
            "Healthy": ("True", "Answers", "/healthz answers"),
            "Scored": ("True", "Fresh", "fresh on 2 clusters"),
            "ConfigSynced": ("True", "InSync", "/config says what was accepted"),
        }
        wait_for(
            lambda: scene.conditions() == wanted,
            what="status is written",
            seen=scene.conditions,
        )
        found = scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
        assert found["status"]["healthStatus"] == "Active"
        assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
        assert found["status"]["lastSyncedConfig"]["scoring"]["params"] == {"name": SCORE, "interval": 5}
        scorers = ("get", "dynamicscorers", SCORER, "-n", HUB_NAMESPACE, "-o", "wide")
        head, values = (text.split() for text in scene.plane.kubectl(*scorers).splitlines())
        columns = dict(zip(head, values, strict=False))
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
