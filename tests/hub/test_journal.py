"""The journal of real moves: OCM decides, replicas with the rendered rights record, and git has each move
once.
"""

import json
from collections.abc import Iterator

import pytest

from gitops_dsf.journal.record import Record
from tests.hub.controlplane.api import Client
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitrepository import git
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import wait_for
from tests.hub.scenario.fleet import APPLICATION, RESOURCE, SCORE, Fleet, write_fleet
from tests.hub.scenario.installation import installed
from tests.hub.scenario.journalplane import BRANCH, JournalPlane
from tests.hub.scenario.reconciling import FAST, reconciling

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

CLUSTERS = ("cluster1", "cluster2")


class MovingPlane(JournalPlane):
    def moves_to(self, cluster: str) -> None:
        """OCM decides for this cluster, because its score is the best."""
        for each in CLUSTERS:
            self.publish_score(each, RESOURCE, {SCORE: 90 if each == cluster else 5}, seconds=900)
        wait_for(
            lambda: self.decision_of(APPLICATION) == [cluster],
            what=f"OCM decides for {cluster}",
            seen=lambda: self.decision_of(APPLICATION),
        )

    def refuse_pushes(self, *, refused: bool) -> None:
        hook = self.fleet.repository.bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nexit {int(refused)}\n")
        hook.chmod(0o755)

    def recorded(self, after: int, *moves: tuple[str, str]) -> tuple[Record, ...]:
        """The records after so many, once they are these moves."""
        expected = [((before,), (after_move,)) for before, after_move in moves]
        wait_for(
            lambda: [(each.from_, each.to) for each in self.records()[after:]] == expected,
            what=f"the branch has {moves}",
            timeout=90,
            seen=lambda: [(each.kind, each.from_, each.to) for each in self.records()],
        )
        assert len(self.lines()) == len(self.records()), "a record is on the branch twice"
        return self.records()[after:]


@pytest.fixture(scope="module")
def scene(
    control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer, hub: Client
) -> Iterator[MovingPlane]:
    fleet = Fleet(repository=git_server.create("journal"), name="journal")
    write_fleet(fleet, clusters=list(CLUSTERS))
    fleet.render()
    with installed(fleet, control_plane, clusters=CLUSTERS):
        yield MovingPlane(plane=control_plane, hub=hub, fleet=fleet)


@pytest.fixture
def known(scene: MovingPlane) -> int:
    """The application is on cluster1, the journal knows it, and nobody leads. How many records there are."""
    scene.moves_to("cluster1")
    with reconciling(scene.plane, spec=scene.spec, speed=FAST) as reconciler:
        wait_for(
            lambda: (
                bool(scene.records())
                and scene.records()[-1].to == ("cluster1",)
                and reconciler.metric("journal_pending") == 0
            ),
            what="the journal knows where the application is",
            timeout=60,
            seen=reconciler.process.tail,
        )
    return len(scene.records())


def test_a_real_move_is_explained_as_ocm_decided_it(scene: MovingPlane, known: int) -> None:
    with reconciling(scene.plane, spec=scene.spec, speed=FAST):
        scene.moves_to("cluster2")
        (move,) = scene.recorded(known, ("cluster1", "cluster2"))
    assert (move.kind, move.doubt, move.applications) == ("Change", "", (APPLICATION,))
    points = {each.cluster: (each.selected, each.rank) for each in move.clusters}
    assert points == {"cluster2": (True, 1), "cluster1": (False, 2)}
    changed = {each.cluster: (each.before, each.after) for each in move.scores}
    assert changed == {"cluster1": (90, 5), "cluster2": (5, 90)}
    assert move.commit == "", "this scene has no Application of Argo CD that applies the tree"

    git(
        "fetch",
        "--quiet",
        "origin",
        f"+{BRANCH}:refs/remotes/origin/{BRANCH}",
        folder=scene.fleet.repository.clone,
    )
    shown = scene.fleet.run("log", APPLICATION)
    assert shown.code == 0, shown.stderr
    assert "moved from cluster1 to cluster2" in shown.stdout
    assert "cluster cluster2: selected" in shown.stdout
    listed = scene.fleet.run("log", APPLICATION, "-o", "json")
    assert [item["number"] for item in json.loads(listed.stdout)["records"]][-1] == move.number


def test_after_a_killed_leader_the_next_one_goes_on_and_repeats_nothing(
    scene: MovingPlane, known: int
) -> None:
    scene.refuse_pushes(refused=True)
    try:
        with (
            reconciling(scene.plane, spec=scene.spec, name="journal-a", speed=FAST) as first,
            reconciling(scene.plane, spec=scene.spec, name="journal-b", speed=FAST, until="ready") as second,
        ):
            scene.moves_to("cluster2")
            wait_for(
                lambda: (
                    first.metric("journal_pending") == 1
                    and (first.metric("journal_pushes_total", outcome="failed") or 0) > 0
                ),
                what="a push is refused",
                seen=first.process.tail,
            )
            scene.plane.processes.stop("journal-a", kill=True)
            wait_for(lambda: second.leads, what="the other one leads", timeout=60, seen=second.process.tail)
            wait_for(
                lambda: second.metric("journal_pending") == 1,
                what="it records where the application is",
                timeout=60,
                seen=second.process.tail,
            )
            scene.refuse_pushes(refused=False)
            (move,) = scene.recorded(known, ("cluster1", "cluster2"))
            wait_for(lambda: second.metric("journal_pending") == 0, what="nothing waits")
    finally:
        scene.refuse_pushes(refused=False)
    assert move.kind == "Later"
