"""Scores that should be there and are not, on a real hub: in the status, in Events, in metrics, and for
Placements that rank by them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client, Object
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, SCORER, Fleet, scorer, write_fleet
from tests.hub.scenario.installation import SCORE as SCORE_KIND
from tests.hub.scenario.installation import Installation, installed
from tests.hub.scenario.reconciling import DYNAMIC_SCORER, FAST, HUB_NAMESPACE, Reconciler, reconciling
from tests.hub.scenario.scoredplane import ARGOCD_NAMESPACE, ScoredPlane
from tests.support.pageserver import PageServer, says

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

CLUSTERS = ("cluster1", "cluster2")
PATIENCE = 120 / FAST + 60
"""A score is missing 120 s after its scorer, cluster and add-on were made."""


@dataclass(kw_only=True)
class StatusPlane(ScoredPlane):
    fleet: Fleet
    installation: Installation
    reconciler: Reconciler

    def publish(
        self, cluster: str, resource: str = RESOURCE, score: str = SCORE, *, seconds: float = 3600
    ) -> None:
        self.publish_score(cluster, resource, {score: 50}, seconds=seconds)

    def unpublish(self, cluster: str, resource: str = RESOURCE) -> None:
        self.hub.delete(SCORE_KIND, resource, namespace=cluster)

    def scored(self, name: str = SCORER) -> tuple[str, str, str]:
        return self.condition_of(name, "Scored")

    def is_scored(self, reason: str, words: str = "", *, name: str = SCORER, timeout: float = 60) -> None:
        wait_for(
            lambda: self.scored(name)[1] == reason and words in self.scored(name)[2],
            what=f"{name} is {reason}: {words}",
            timeout=timeout,
            seen=lambda: self.scored(name),
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


@pytest.fixture
def late(scene: StatusPlane) -> Iterator[str]:
    """A scorer that was made a moment ago."""
    item: Object = scene.hub.get(DYNAMIC_SCORER, SCORER, namespace=HUB_NAMESPACE)
    spec = {
        **item["spec"],
        "scoring": {
            **item["spec"]["scoring"],
            "params": {**item["spec"]["scoring"]["params"], "name": "late"},
        },
    }
    made = {
        "apiVersion": item["apiVersion"],
        "kind": item["kind"],
        "metadata": {"name": "late", "namespace": HUB_NAMESPACE},
        "spec": spec,
    }
    scene.hub.apply(made)
    yield "late"
    scene.hub.delete(DYNAMIC_SCORER, "late", namespace=HUB_NAMESPACE)
    for cluster in CLUSTERS:
        scene.unpublish(cluster, "late")


def test_a_cluster_that_never_published_is_missing_after_a_while(scene: StatusPlane, late: str) -> None:
    scene.is_scored("NoScores", "not published yet on 2 clusters (cluster1, cluster2)", name=late)
    assert scene.scored(late)[0] == "Unknown"
    scene.publish("cluster1", "late", "late")
    scene.is_scored("Fresh", "not published yet on 1 cluster (cluster2)", name=late)
    scene.is_scored(
        "Missing", "fresh on 1 cluster; missing on 1 cluster (cluster2)", name=late, timeout=PATIENCE
    )
    assert scene.columns_of(late)["SCORED"] == "False"
    assert scene.reconciler.metric("scored_clusters", scorer=late, state="missing") == 1
    assert scene.reconciler.metric("score_not_fresh", scorer=late, cluster="cluster2", state="missing") == 1
    version = scene.hub.get(DYNAMIC_SCORER, late, namespace=HUB_NAMESPACE)["metadata"]["resourceVersion"]
    hold_for(
        lambda: (
            scene.hub.get(DYNAMIC_SCORER, late, namespace=HUB_NAMESPACE)["metadata"]["resourceVersion"]
            == version
        ),
        what="nothing is written while nothing changes",
        seconds=12 / FAST,
    )
    scene.publish("cluster2", "late", "late")
    scene.is_scored("Fresh", "fresh on 2 clusters", name=late)
    assert scene.columns_of(late)["SCORED"] == "True"
    scored = [event for event in scene.events_about(late) if event[1] in {"NoScores", "Fresh", "Missing"}]
    # Fresh twice: the messages differ, so these are two Events.
    assert scored == [("Normal", "Fresh", 1), ("Warning", "Missing", 1), ("Normal", "Fresh", 1)]


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
