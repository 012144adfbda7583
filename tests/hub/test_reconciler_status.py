"""A score that expired, on a real hub: in the status, in Events, in metrics, and for a Placement that ranks
by it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORER, Fleet, scorer, write_fleet
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.reconciling import FAST, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ARGOCD_NAMESPACE, ScoredPlane
from tests.support.pageserver import PageServer, says

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")


@dataclass(kw_only=True)
class StatusPlane(ScoredPlane):
    fleet: Fleet
    installation: Installation
    reconciler: Reconciler

    def publish(self, cluster: str, *, seconds: float = 3600) -> None:
        self.publish_score(cluster, RESOURCE, {SCORE: 50}, seconds=seconds)

    def scored(self) -> tuple[str, str, str]:
        return self.condition_of(SCORER, "Scored")

    def is_scored(self, reason: str, words: str = "") -> None:
        wait_for(
            lambda: self.scored()[1] == reason and words in self.scored()[2],
            what=f"{SCORER} is {reason}: {words}",
            seen=self.scored,
        )


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: object, git_server: GitServer, hub: Client
) -> Iterator[StatusPlane]:
    fleet = Fleet(repository=git_server.create("missing"), name="missing")
    write_fleet(fleet, clusters=list(CLUSTERS))
    with ExitStack() as stack:
        pages = stack.enter_context(PageServer())
        pages.pages["/healthz"] = says(ok=True)
        fleet.write(f"scorers/{SCORER}.yaml", scorer(configURL=f"{pages.url}/config"))
        fleet.render()
        installation = stack.enter_context(installed(fleet, control_plane, clusters=CLUSTERS))
        reconciler = stack.enter_context(reconciling(control_plane, speed=FAST))
        yield StatusPlane(
            plane=control_plane, hub=hub, fleet=fleet, installation=installation, reconciler=reconciler
        )


def test_a_placement_that_ranks_by_a_dead_score_is_named_and_told(scene: StatusPlane) -> None:
    for cluster in CLUSTERS:
        scene.publish(cluster)
    wait_for(
        lambda: (
            scene.reconciler.metric("placement_missing_scores", placement=APPLICATION, scorer=SCORER) == 0
        ),
        what="the Placement has all scores",
        seen=lambda: scene.reconciler.get("/metrics"),
    )
    scene.is_scored("Fresh", "fresh on 2 clusters")
    before = told(scene)
    scene.publish("cluster2", seconds=-60)
    scene.is_scored(
        "Expired", f"expired or empty on 1 cluster (cluster2). Placement {APPLICATION} counts 1 cluster as 0"
    )
    assert scene.columns_of(SCORER)["SCORED"] == "False"
    assert scene.reconciler.metric("scored_clusters", scorer=SCORER, state="expired") == 1
    assert scene.reconciler.metric("placement_missing_scores", placement=APPLICATION, scorer=SCORER) == 1
    scene.publish("cluster2")
    scene.is_scored("Fresh", "fresh on 2 clusters")
    news = Counter({("Warning", "ScoresMissing"): 1, ("Normal", "ScoresComplete"): 1})
    wait_for(
        lambda: told(scene) - before == news, what="beginning and end are told once", seen=lambda: told(scene)
    )


def told(scene: StatusPlane) -> Counter[tuple[str, str]]:
    """How often what was said about the Placement; the same words as in an earlier test are counted up."""
    found: Counter[tuple[str, str]] = Counter()
    for kind, reason, count in scene.events_about(APPLICATION, namespace=ARGOCD_NAMESPACE):
        found[kind, reason] += count
    return found
