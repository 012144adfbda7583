"""A paced move of an application that Argo CD deploys: it counts as under way until the new copy is healthy
and the old one is gone, and OCM leaves a lost cluster also then.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.pacing.ledger import Ledger, Phase
from gitops_dsf.pacing.stored import read_moves
from tests.hub.controlplane.api import Object
from tests.hub.controlplane.argocd import ArgoCD
from tests.hub.controlplane.gitserver import GitServer
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.fleet import RESOURCE, SCORE
from tests.hub.scenario.placements import MANAGED_CLUSTER, publish
from tests.hub.scenario.placements import SCORE as SCORES
from tests.hub.scenario.reconciling import FAST, HUB_NAMESPACE, Reconciler, reconciling
from tests.hub.test_moves import CLUSTERS, GOOD, NAME, MovePlane, moving

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]

PACE: Object = {"concurrent": 1, "settleSeconds": 5, "cooldownSeconds": 0}


@pytest.fixture(scope="module")
def scene(control_plane: ControlPlane, argocd: ArgoCD, git_server: GitServer) -> Iterator[MovePlane]:
    with moving(control_plane, argocd, git_server, "paced-handover", pace=PACE) as found:
        yield found
        found.hub.delete("v1/ConfigMap", MOVES_SCORE, namespace=HUB_NAMESPACE)
        for name in CLUSTERS:
            found.hub.delete(SCORES, MOVES_SCORE, namespace=name)


def ledger(scene: MovePlane) -> Ledger:
    found = scene.hub.find("v1/ConfigMap", MOVES_SCORE, namespace=HUB_NAMESPACE) or {}
    return read_moves(found.get("data")).ledger


def leading(scene: MovePlane) -> AbstractContextManager[Reconciler]:
    return reconciling(scene.plane, spec={"pace": PACE}, name="handover-reconciler", speed=FAST)


def phases(scene: MovePlane) -> list[Phase]:
    return [each.phase for each in ledger(scene).moves if each.admitted]


def test_a_paced_move_with_its_handover(scene: MovePlane) -> None:
    """The scores change while nobody reconciles, and nothing moves. Then it is admitted, OCM follows, and the
    move lasts until the old copy is gone.
    """
    for cluster, value in (("cluster1", 90), ("cluster2", 5)):
        publish(scene.hub, cluster, RESOURCE, {SCORE: value})
    wait_for(lambda: scene.decision_of(NAME) == ["cluster1"], what="a first decision")
    with leading(scene):
        wait_for(lambda: list(scene.copies(NAME)) == ["cluster1"], what="a first copy")
    scene.report(NAME, "cluster1", GOOD, health="Healthy")
    for cluster, value in (("cluster1", 5), ("cluster2", 90)):
        publish(scene.hub, cluster, RESOURCE, {SCORE: value})
    hold_for(lambda: scene.decision_of(NAME) == ["cluster1"], what="nobody admits a move", seconds=3)
    with leading(scene):
        wait_for(
            lambda: scene.decision_of(NAME) == ["cluster2"], what="OCM follows", seen=lambda: ledger(scene)
        )
        wait_for(lambda: phases(scene) == [Phase.HANDOVER], what="the handover", seen=lambda: ledger(scene))
        wait_for(lambda: sorted(scene.copies(NAME)) == list(CLUSTERS), what="a second copy")
        hold_for(lambda: phases(scene) == [Phase.HANDOVER], what="the new copy is not healthy", seconds=3)
        scene.report(NAME, "cluster2", GOOD, health="Healthy")
        scene.become(NAME, "cluster2")
        wait_for(lambda: Phase.HANDOVER not in phases(scene), what="the end", seen=lambda: ledger(scene))
    taint = {"spec": {"taints": [{"key": "test.example.com/lost", "effect": "NoSelect"}]}}
    scene.hub.patch(MANAGED_CLUSTER, "cluster2", taint)
    try:
        wait_for(lambda: scene.decision_of(NAME) == ["cluster1"], what="the lost cluster is left")
    finally:
        scene.hub.patch(MANAGED_CLUSTER, "cluster2", {"spec": {"taints": None}})
