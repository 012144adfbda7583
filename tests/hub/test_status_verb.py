"""`gitops-dsf status` on a real hub: what it says of scores, decisions and applications is what OCM and Argo
CD made of them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_dsf.hub import freshness
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.kubeconfig import ADMIN, Identity
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.commandline import Ran, gitops_dsf
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORER
from tests.hub.scenario.prettyhub import ARGOCD_NAMESPACE, SCORES, PrettyHub, pretty_hub

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]


@dataclass(kw_only=True)
class Desk:
    scene: PrettyHub

    def command(self, *arguments: str, identity: Identity = ADMIN) -> list[str]:
        kubeconfig = str(self.scene.plane.kubeconfig(identity))
        return ["status", "--context", "context", "--kubeconfig", kubeconfig, *arguments]

    def run(self, *arguments: str, identity: Identity = ADMIN) -> Ran:
        return gitops_dsf(*self.command(*arguments, identity=identity))

    def look(self, *arguments: str) -> dict[str, Any]:
        ran = self.run("-o", "json", *arguments)
        assert (ran.code, ran.stderr) == (0, "")
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    def placement(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = next(
            item
            for item in self.look(*arguments)["placements"]
            if item["placement"] == f"{ARGOCD_NAMESPACE}/{APPLICATION}"
        )
        return found

    def application(self) -> dict[str, Any]:
        found: dict[str, Any] = next(
            item for item in self.look()["applications"] if item["name"] == APPLICATION
        )
        return found

    def standings(self) -> dict[str, str]:
        return {copy["cluster"]: copy["standing"] for copy in self.application()["copies"]}


@pytest.fixture(scope="module")
def desk(control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer) -> Iterator[Desk]:
    with pretty_hub(control_plane, argocd, git_server, name="status") as scene:
        yield Desk(scene=scene)


def test_it_shows_the_hub_as_it_is(desk: Desk) -> None:
    desk.scene.move("cluster1")
    desk.scene.publish("cluster1", 90)
    desk.scene.publish("cluster2", 45, age=300)
    found = desk.look()
    assert found["hub"]["unread"] == []
    scorer = found["scorers"][0]
    assert (scorer["name"], scorer["health"], scorer["ttlSeconds"]) == (SCORER, None, 900)
    cells = {cell["cluster"]: cell for cell in scorer["scores"]}
    assert {name: (cell["state"], list(cell["values"].values())) for name, cell in cells.items()} == {
        "cluster1": ("fresh", [90]),
        "cluster2": ("fresh", [45]),
    }
    assert cells["cluster1"]["ageSeconds"] < 30
    assert 300 <= cells["cluster2"]["ageSeconds"] < 330
    placement = desk.placement()
    assert placement["decided"] == placement["next"] == desk.scene.decision() == ["cluster1"]
    text = desk.run().stdout
    assert "cluster1 goes out for cluster2 if its cpu-headroom/cpu_headroom falls from 90 to 34" in text


def test_the_flip_that_is_printed_is_the_one_at_which_ocm_flips(desk: Desk) -> None:
    scene = desk.scene
    scene.move("cluster1")
    unreachable = next(item for item in desk.placement()["flips"] if item["change"] == "in")
    assert unreachable["score"] is None, "90 and ten points of stickiness: no score is above 100"
    scene.publish("cluster1", 60)
    wait_for(lambda: desk.look()["scorers"][0]["summary"]["max"] == 60, what="the score is there")
    flip = next(item for item in desk.placement()["flips"] if item["change"] == "in")
    assert flip["cluster"] == "cluster2"
    needed = flip["score"]["needed"]
    scene.publish("cluster2", needed - 1)
    wait_for(lambda: desk.placement()["settled"], what="OCM would leave it as it is")
    hold_for(lambda: scene.decision() == ["cluster1"], what="one point less does not flip it", seconds=2)
    scene.publish("cluster2", needed)
    wait_for(lambda: scene.decision() == ["cluster2"], what="OCM flips", seen=scene.decision)
    assert desk.placement()["decided"] == ["cluster2"]


def test_a_score_that_expires_is_told_before_ocm_looks(desk: Desk) -> None:
    scene = desk.scene
    scene.move("cluster1")
    scene.publish("cluster2", 60)
    scene.publish("cluster1", 90, age=897)
    wait_for(
        lambda: desk.placement()["next"] == ["cluster2"], what="the score has expired", seen=desk.placement
    )
    found = desk.placement()
    assert found["countedAsZero"] == ["cluster1"]
    scene.publish("cluster1", 90)
    wait_for(lambda: desk.placement()["settled"], what="OCM has looked", seen=desk.placement)


def test_a_move_shows_the_old_copy_waiting_and_the_new_one_starting(desk: Desk) -> None:
    scene = desk.scene
    scene.move("cluster1")
    for name, item in scene.applications().items():
        if name != "cluster1":
            scene.hub.delete(
                "argoproj.io/v1alpha1/Application", item["metadata"]["name"], namespace=ARGOCD_NAMESPACE
            )
    wait_for(
        lambda: list(desk.standings()) == ["cluster1"], what="it is on cluster1 alone", seen=desk.application
    )
    scene.move("cluster2")
    wait_for(
        lambda: desk.standings().get("cluster1") == "waiting",
        what="the old copy waits",
        seen=desk.application,
    )
    assert desk.standings()["cluster2"] in {"starting", "running"}
    assert desk.application()["settled"] is False
    assert (
        "waiting, no longer decided; stays until the new copies are Healthy and Synced" in desk.run().stdout
    )


def test_missing_and_unexpected_scores(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = desk.scene
    # The scorer and the clusters of the suite are younger than the grace, and then a score is awaited, not
    # missing.
    monkeypatch.setattr(freshness, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "GRACE_INTERVALS", 0)
    scene.publish("cluster1", 90)
    scene.hub.delete(SCORES, RESOURCE, namespace="cluster2")
    try:
        summary = desk.look("--scorer", SCORER)["scorers"][0]["summary"]["clusters"]
        assert (summary["fresh"], summary["missing"]) == (1, 1)
    finally:
        scene.publish("cluster2", 5)


def test_one_cluster_is_explained(desk: Desk) -> None:
    scene = desk.scene
    scene.move("cluster1")
    found = desk.look("--cluster", "cluster2")
    assert [cell["cluster"] for cell in found["scorers"][0]["scores"]] == ["cluster2"]
    flips = desk.placement("--cluster", "cluster2")["flips"]
    assert [(item["cluster"], item["change"]) for item in flips] == [("cluster2", "in")]
    wrong = desk.run("--cluster", "cluster9")
    assert (wrong.code, wrong.stdout) == (2, "")
    assert "the hub has no cluster cluster9; there is cluster" in wrong.stderr


def test_who_may_see_little_sees_what_is_missing(desk: Desk) -> None:
    ran = desk.run(identity=Identity(user="test:nobody"))
    assert ran.code == 1, ran.stderr
    assert (
        "not known: needs the right to list managedclusters.cluster.open-cluster-management.io" in ran.stdout
    )
    assert "missing" not in ran.stdout.split("Scorers")[0]
