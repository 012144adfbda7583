"""The snapshot of a real hub on a real branch, and the preview that it makes possible: what simulate says is
what OCM decided.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, Fleet, write_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.reconciling import FAST, reconciling
from tests.hub.scenario.scoredplane import ScoredPlane

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

CLUSTERS = ("cluster1", "cluster2")
BRANCH = "gitops-dsf-state"
ARGOCD_NAMESPACE = "argocd"


@dataclass(kw_only=True)
class StateBranchPlane(ScoredPlane):
    fleet: Fleet

    def scores(self, **values: int) -> None:
        for cluster, value in values.items():
            self.publish_score(cluster, RESOURCE, {SCORE: value}, seconds=900)

    def decision(self) -> list[str]:
        return self.decision_of(APPLICATION)

    def rests(self, *, seconds: float) -> bool:
        """Whether the branch stays as it is for so long."""
        tip, begun = self.fleet.repository.branches()[BRANCH], time.monotonic()
        while time.monotonic() - begun < seconds:
            time.sleep(0.5)
            if self.fleet.repository.branches()[BRANCH] != tip:
                return False
        return True

    def held(self, path: str) -> str:
        """A file of the branch; empty where there is none yet."""
        repository = self.fleet.repository
        return (
            git("show", f"{BRANCH}:{path}", folder=repository.bare) if BRANCH in repository.branches() else ""
        )


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[StateBranchPlane]:
    fleet = Fleet(repository=git_server.create("snapshot"), name="snapshot")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.render()
    with installed(fleet, control_plane, clusters=CLUSTERS):
        scene = StateBranchPlane(plane=control_plane, hub=hub, fleet=fleet)
        scene.scores(cluster1=90, cluster2=5)
        wait_for(lambda: scene.decision() == ["cluster1"], what="OCM decides", seen=scene.decision)
        yield scene


def test_a_preview_without_access_to_the_hub_says_what_ocm_decided(scene: StateBranchPlane) -> None:
    url = scene.fleet.repository.url
    state = {"enabled": True, "branch": BRANCH, "intervalSeconds": 10}
    spec = {"git": {"url": url}, "reconciler": {"state": state}}
    with reconciling(scene.plane, spec=spec, speed=FAST) as reconciler:
        wait_for(
            lambda: '"decisions"' in scene.held("decisions.json"),
            what="a snapshot is there",
            seen=reconciler.process.tail,
        )
        assert json.loads(scene.held(f"scores/{RESOURCE}.json"))["scores"][RESOURCE]["cluster1"][
            "values"
        ] == {SCORE: 90}
        assert sorted(json.loads(scene.held("clusters.json"))["clusters"])[:2] == list(CLUSTERS)
        age = reconciler.metric("state_age_seconds")
        assert age is not None
        assert age < 60

        scene.scores(cluster1=5, cluster2=90)
        wait_for(lambda: scene.decision() == ["cluster2"], what="OCM moves it", seen=scene.decision)
        wait_for(
            lambda: '"cluster2"' in scene.held("decisions.json"),
            what="the branch follows",
            timeout=60,
            seen=reconciler.process.tail,
        )
        # OCM may still label a cluster with what it saw of an add-on: news, too.
        wait_for(
            lambda: scene.rests(seconds=15 / FAST),
            what="nothing new is nothing to push",
            timeout=90,
            seen=reconciler.process.tail,
        )
        assert git("rev-list", "--count", BRANCH, folder=scene.fleet.repository.bare).strip() == "1"

    git(
        "fetch",
        "--quiet",
        "origin",
        f"+{BRANCH}:refs/remotes/origin/{BRANCH}",
        folder=scene.fleet.repository.clone,
    )
    ran = scene.fleet.run("simulate", "--state-branch", BRANCH, "-o", "json")
    assert ran.code == 0, ran.stderr
    shown = next(
        item for item in json.loads(ran.stdout)["placements"] if item["placement"].endswith(APPLICATION)
    )
    assert shown["ranked"] == ["cluster2"]
    assert shown["scores"]["cluster2"] > shown["scores"]["cluster1"]
