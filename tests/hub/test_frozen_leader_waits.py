"""What keeps a copy while a leader does not know enough: a Lease that was deleted by hand, a watch that the
hub refuses, and a cluster that returned.
"""

from collections.abc import Iterator

import pytest

from gitops_dsf.render.reconciler.names import NAME
from tests.hub.controlplane.plane import ControlPlane
from tests.hub.controlplane.waiting import hold_for, wait_for
from tests.hub.scenario.frozenleader import (
    HUB,
    LEASE,
    A,
    B,
    FrozenLeaderPlane,
    frozen_leader_plane,
)
from tests.hub.scenario.reconciling import Reconciler

pytestmark = [pytest.mark.family("kubernetes", "ocm", "argocd"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def scene(control_plane: ControlPlane, argocd: object) -> Iterator[FrozenLeaderPlane]:
    with frozen_leader_plane(control_plane) as scene:
        yield scene


@pytest.fixture(autouse=True)
def _proxy_forgets(scene: FrozenLeaderPlane) -> Iterator[None]:
    yield
    scene.proxy.forget()


def waits(reconciler: Reconciler, reason: str) -> bool:
    return reason in reconciler.waits_for("web")


def test_a_lease_that_is_deleted_by_hand_costs_no_copy(scene: FrozenLeaderPlane) -> None:
    """Two lead for a moment: the old one until it renews, and the new one."""
    with scene.replicas() as (first, _):
        scene.hub.delete(LEASE, NAME, namespace=HUB)
        scene.move(decided=A)
        wait_for(
            lambda: scene.copies() == [A], what="the copy that nobody wants goes", seen=first.process.tail
        )
        hold_for(lambda: scene.copies() == [A], what="the other one stays", seconds=3)


def test_nothing_goes_while_the_watch_of_clusters_is_refused(scene: FrozenLeaderPlane) -> None:
    role = "rbac.authorization.k8s.io/v1/ClusterRole"
    rules = scene.hub.get(role, "gitops-dsf:reconciler")["rules"]
    fewer = [
        {**rule, "verbs": ["list"]} if rule["resources"] == ["managedclusters"] else rule for rule in rules
    ]
    assert fewer != rules
    scene.move()
    scene.lease_is_free()
    scene.hub.patch(role, "gitops-dsf:reconciler", {"rules": fewer})
    try:
        with scene.replica("frozen-first") as first:
            wait_for(
                lambda: first.leads and waits(first, "InformerBroken"),
                what="it waits",
                seen=first.process.tail,
            )
            assert "managedclusters" in first.get("/readyz")
            assert first.metric("watch_broken", resource="managedclusters") == 1
            assert scene.copies() == [A, B]
            scene.hub.patch(role, "gitops-dsf:reconciler", {"rules": rules})
            wait_for(lambda: scene.copies() == [B], what="with the right it goes on", seen=first.process.tail)
            wait_for(lambda: first.ready, what="it is ready")
    finally:
        scene.hub.patch(role, "gitops-dsf:reconciler", {"rules": rules})


def test_a_cluster_that_returns_keeps_its_copy_until_ocm_has_decided(scene: FrozenLeaderPlane) -> None:
    scene.move()
    scene.plane.set_available(A, "Unknown")
    scene.lease_is_free()
    with scene.replica("frozen-first") as first:
        wait_for(
            lambda: first.leads and waits(first, "ClusterUnreachable"),
            what="it waits",
            seen=first.process.tail,
        )
        scene.plane.set_available(A, "True", since=0.0)
        wait_for(lambda: waits(first, "ClusterReturned"), what="it waits on", seen=first.process.tail)
        hold_for(lambda: scene.copies() == [A, B], what="both stay", seconds=5)
        scene.decide(A)
        wait_for(
            lambda: scene.copies() == [A],
            what="OCM has decided for the one that returned",
            seen=first.process.tail,
        )
