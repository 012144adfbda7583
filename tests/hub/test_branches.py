"""Branches of the fleet repository that a reconciler keeps.

The journal, which has each real move once, the snapshot of the hub, with which simulate says what
OCM decided, and proposals of clusters that joined.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from gitops_dsf.journal.lines import read
from gitops_dsf.journal.record import Record
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import SPOKES, ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, Fleet, cluster, new_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.placements import prefer, remove_clusters
from tests.hub.scenario.reconciling import FAST, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd")]

JOURNAL, STATE = "gitops-dsf-journal", "gitops-dsf-state"
JOINED = "joined"


@dataclass(kw_only=True)
class BranchPlane:
    hub: Client
    fleet: Fleet

    @property
    def spec(self) -> dict[str, Any]:
        """Settings of the reconciler."""
        enabled = {"enabled": True, "intervalSeconds": 10}
        branches = {
            "journal": {**enabled, "branch": JOURNAL},
            "state": {**enabled, "branch": STATE},
        }
        proposals = {"kinds": ["Inventory"], "intervalSeconds": 5}
        return {
            "git": {"url": self.fleet.repository.url},
            "reconciler": {**branches, "proposals": proposals},
        }

    def moves_to(self, cluster: str) -> None:
        """OCM decides for this cluster, because its score is the best."""
        prefer(self.hub, APPLICATION, cluster, seconds=900)

    def proposals(self) -> list[str]:
        return sorted(self.fleet.repository.branches().keys() - {"main", JOURNAL, STATE})

    def held(self, branch: str, path: str) -> str:
        """A file of a branch; empty where there is none yet."""
        repository = self.fleet.repository
        if branch not in repository.branches() or path not in self.files(branch):
            return ""
        return git("show", f"{branch}:{path}", folder=repository.bare)

    def files(self, branch: str) -> list[str]:
        return git(
            "ls-tree", "-r", "--name-only", branch, folder=self.fleet.repository.bare
        ).split()

    def lines(self) -> list[bytes]:
        """The lines of the journal, a line that is there twice too."""
        if JOURNAL not in self.fleet.repository.branches():
            return []
        names = sorted(name for name in self.files(JOURNAL) if name.endswith(".jsonl"))
        return [line.encode() for name in names for line in self.held(JOURNAL, name).splitlines()]

    def records(self) -> tuple[Record, ...]:
        return read({"all": b"\n".join(self.lines())}).records

    def fetch(self, branch: str) -> None:
        """Into the clone of a person."""
        reference = f"+{branch}:refs/remotes/origin/{branch}"
        git("fetch", "--quiet", "origin", reference, folder=self.fleet.repository.clone)


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[BranchPlane]:
    """The application is on cluster1, then a reconciler begins, the application moves, and a
    cluster joins.
    """
    fleet = new_fleet(git_server, "branches")
    with installed(fleet, control_plane), ExitStack() as stack:
        listed = fleet.root.parent / "clusters.json"
        listed.write_text(
            control_plane.hub.kubectl("get", "managedclusters", "-o", "json"), encoding="utf-8"
        )
        imported = fleet.run("import", "--from", str(listed))
        assert imported.returncode == 0, imported.stderr
        fleet.publish("A fleet")
        scene = BranchPlane(hub=hub, fleet=fleet)
        scene.moves_to("cluster1")
        with reconciling(control_plane, spec=scene.spec, speed=FAST) as reconciler:
            wait_for(
                lambda: (
                    [each.to for each in scene.records()] == [("cluster1",)]
                    and '"cluster1"' in scene.held(STATE, "decisions.json")
                ),
                what="both branches know where the application is",
                seen=reconciler.process.tail,
            )
            scene.moves_to("cluster2")
            wait_for(
                lambda: (
                    [each.to for each in scene.records()] == [("cluster1",), ("cluster2",)]
                    and '"cluster2"' in scene.held(STATE, "decisions.json")
                    and reconciler.metric("journal_pending") == 0
                ),
                what="both branches follow",
                seen=reconciler.process.tail,
            )
            assert (reconciler.metric("state_age_seconds") or 0.0) < 60
            assert scene.proposals() == []
            hub.create(cluster(JOINED, fleet="branches", tier="gold"))
            stack.callback(remove_clusters, control_plane, (JOINED,))
            wait_for(
                lambda: (
                    len(scene.proposals()) == 1
                    and reconciler.metric("proposal_open", kind="inventory")
                ),
                what="its file is proposed",
                seen=reconciler.process.tail,
            )
            assert reconciler.metric("proposals_total", kind="inventory", outcome="pushed") == 1
        yield scene


def test_a_real_move_is_explained_as_ocm_decided_it(scene: BranchPlane) -> None:
    assert len(scene.lines()) == len(scene.records()), "a record is on the branch twice"
    move = scene.records()[-1]
    assert (move.kind, move.doubt, move.applications) == ("Change", "", (APPLICATION,))
    points = {each.cluster: (each.selected, each.rank) for each in move.clusters}
    assert points == {"cluster2": (True, 1), "cluster1": (False, 2)}
    changed = {each.cluster: (each.before, each.after) for each in move.scores}
    assert changed == {"cluster1": (90, 5), "cluster2": (5, 90)}
    assert move.commit == "", "this scene has no Application of Argo CD that applies the tree"
    assert move.cause is not None
    assert move.cause.kind == "Score"
    score = f"{RESOURCE}/{SCORE}"
    assert move.cause.detail in {f"{score} of cluster1 90 -> 5", f"{score} of cluster2 5 -> 90"}

    # The verb fetches the branch itself.
    shown = scene.fleet.run("log", APPLICATION)
    assert shown.returncode == 0, shown.stderr
    assert ", fetched now, last pushed " in shown.stdout.splitlines()[0]
    assert f"  cause: {move.cause}\n" in shown.stdout
    assert "moved from cluster1 to cluster2" in shown.stdout
    assert "cluster cluster2: selected" in shown.stdout


def test_a_preview_without_access_to_the_hub_says_what_ocm_decided(scene: BranchPlane) -> None:
    scores = json.loads(scene.held(STATE, f"scores/{RESOURCE}.json"))["scores"]
    assert scores[RESOURCE]["cluster2"]["values"] == {SCORE: 90}
    assert sorted(json.loads(scene.held(STATE, "clusters.json"))["clusters"])[:2] == list(SPOKES)
    commits = git("rev-list", "--count", STATE, folder=scene.fleet.repository.bare)
    assert commits.strip() == "1", "a snapshot replaces the one before"

    scene.fetch(STATE)
    ran = scene.fleet.run("simulate", "--state-branch", STATE, "-o", "json")
    assert ran.returncode == 0, ran.stderr
    placements = json.loads(ran.stdout)["placements"]
    shown = next(item for item in placements if item["placement"].endswith(APPLICATION))
    assert shown["ranked"] == ["cluster2"]
    assert shown["scores"]["cluster2"] > shown["scores"]["cluster1"]


def test_a_cluster_that_joined_comes_back_as_a_branch_and_nothing_else_does(
    scene: BranchPlane,
) -> None:
    """OCM gives clusters labels and claims of its own."""
    (branch,) = scene.proposals()
    assert branch.startswith("gitops-dsf/inventory-")
    changed = git(
        "diff", "--name-only", f"main...{branch}", folder=scene.fleet.repository.bare
    ).split()
    assert changed == [f"clusters/{JOINED}.yaml"]
    assert "tier: gold" in scene.fleet.repository.read(f"clusters/{JOINED}.yaml", branch=branch)
    scene.fetch(branch)
    git("checkout", "--quiet", f"origin/{branch}", folder=scene.fleet.root)
    try:
        assert scene.fleet.run("validate").returncode == 0
    finally:
        git("checkout", "--quiet", "main", folder=scene.fleet.root)
