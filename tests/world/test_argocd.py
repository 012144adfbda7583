"""The model of Argo CD's application controller, where no fault-free sequence leads to."""

import asyncio
from typing import Any

from tests.support.waiting import until
from tests.world.apiserver import WorldApiServer
from tests.world.argocd import Applications
from tests.world.fleet import ARGOCD
from tests.world.loop import WorldLoop

NAME = "app-00-c00"
FINALIZER = "resources-finalizer.argocd.argoproj.io"


def made(hub: WorldApiServer) -> None:
    item: Any = {
        "metadata": {"labels": {"gitops-dsf.io/application": "app-00"}, "finalizers": [FINALIZER]},
        "spec": {"destination": {"name": "c00"}},
    }
    hub.write("argocd-applicationset", "applications", NAME, item, namespace=ARGOCD)


def status_of(hub: WorldApiServer) -> Any:
    return (hub.objects["applications", ARGOCD, NAME].get("status") or {}).get("health")


def test_health_that_a_restored_etcd_says_is_corrected_within_three_minutes(
    loop: WorldLoop,
) -> None:
    async def main() -> list[Any]:
        hub = WorldApiServer()
        Applications(hub, seed=1, reachable=lambda _cluster: True)
        made(hub)
        await until(lambda: status_of(hub) == {"status": "Progressing"})
        backup = hub.backup()
        await asyncio.sleep(300.0)
        before = status_of(hub)
        hub.restore(backup)
        restored = status_of(hub)
        await asyncio.sleep(180.0)
        return [before, restored, status_of(hub)]

    healthy, progressing = {"status": "Healthy"}, {"status": "Progressing"}
    assert loop.run_until_complete(main()) == [healthy, progressing, healthy]


def test_a_copy_of_a_lost_cluster_keeps_its_health_until_the_cluster_is_back(
    loop: WorldLoop,
) -> None:
    async def main() -> list[Any]:
        lost: set[str] = set()
        hub = WorldApiServer()
        Applications(hub, seed=1, reachable=lambda cluster: cluster not in lost)
        made(hub)
        await until(lambda: status_of(hub) == {"status": "Progressing"})
        backup = hub.backup()
        await asyncio.sleep(300.0)
        lost.add("c00")
        hub.restore(backup)
        await asyncio.sleep(1000.0)
        while_lost = status_of(hub)
        lost.clear()
        await asyncio.sleep(180.0)
        return [while_lost, status_of(hub)]

    assert loop.run_until_complete(main()) == [{"status": "Progressing"}, {"status": "Healthy"}]


def test_a_deletion_that_a_restored_etcd_forgot_does_not_go_on(loop: WorldLoop) -> None:
    async def main() -> list[Any]:
        hub = WorldApiServer()
        applications = Applications(hub, seed=1, reachable=lambda _cluster: True)
        made(hub)
        await asyncio.sleep(300.0)
        backup = hub.backup()
        hub.erase("people", "applications", NAME, namespace=ARGOCD)
        going = "deletionTimestamp" in hub.objects["applications", ARGOCD, NAME]["metadata"]
        hub.restore(backup)
        await asyncio.sleep(300.0)
        metadata = hub.objects["applications", ARGOCD, NAME]["metadata"]
        return [going, metadata["finalizers"], sorted(applications.workloads)]

    assert loop.run_until_complete(main()) == [True, [FINALIZER], [("app-00", "c00")]]


def test_a_status_that_a_restored_etcd_does_not_have_comes_by_a_comparison(
    loop: WorldLoop,
) -> None:
    async def main() -> list[Any]:
        hub = WorldApiServer()
        Applications(hub, seed=1, reachable=lambda _cluster: True)
        made(hub)
        backup = hub.backup()
        await asyncio.sleep(300.0)
        hub.restore(backup)
        before = hub.objects["applications", ARGOCD, NAME].get("status")
        await asyncio.sleep(60.0)
        return [before, hub.objects["applications", ARGOCD, NAME]["status"]]

    healthy = {"health": {"status": "Healthy"}, "sync": {"status": "Synced"}}
    assert loop.run_until_complete(main()) == [None, healthy]
