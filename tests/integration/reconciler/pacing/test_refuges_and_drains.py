"""Refuges and maintenance by the reconciler, over the simulator's OCM in virtual time."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_TAINT
from gitops_dsf.hub.pace import DRAW
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.items import items_of
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.pacing.stored import read_moves
from gitops_dsf.reconciler.pacing.publisher import ItemPublisher, ShownItems
from gitops_dsf.repository.model.reconciler import Pace
from gitops_dsf.show.status.moves import queue_lines
from gitops_dsf.views.status.queue import queue_view
from gitops_dsf.views.status.verification import VerifierFacts
from tests.integration.reconciler.pacing.pacehub import PACE, PaceHub, herd, leading
from tests.integration.reconciler.replica import in_time
from tests.support.hubobjects import ARGOCD, HUB
from tests.support.virtual_time import wall

SPREAD = 10.0
REPLAN_SECONDS = 300.0

EVEN = {"c1": 90, "c2": 62, "c3": 58, "c4": 55}
"""Nobody wants to leave c1, and the others are nearly equal."""
NO_NEW: dict[str, Any] = {"taints": [{"key": "test", "effect": "NoSelectIfNew"}]}


def refuges(hub: PaceHub) -> dict[str, str]:
    return {
        name.removeprefix(f"{ARGOCD}/"): cluster
        for cluster, items in hub.items().items()
        for name, value in items.items()
        if value == DRAW
    }


def lose(hub: PaceHub, cluster: str) -> None:
    hub.put(
        "managedclusters",
        cluster,
        kind="ManagedCluster",
        spec={
            "taints": [
                {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
            ]
        },
    )


async def test_a_lost_cluster_is_left_for_the_refuges_without_a_reconciler() -> None:
    """Ten applications are spread evenly, and nothing moved before."""
    async with PaceHub(demand=2) as hub:
        herd(hub, EVEN, count=10, on="c1", refuges=True)
        async with leading(hub):
            await in_time(lambda: len(refuges(hub)) == 10, what="ten refuges")
            await asyncio.sleep(60)
            assert hub.moved == []
        planned = refuges(hub)
        lose(hub, "c1")
        assert {name: hub.where(name) for name in planned} == planned
        counts = Counter(planned.values())
        left = [EVEN[name] - 2 * counts[name] for name in ("c2", "c3", "c4")]
        assert max(left) - min(left) <= SPREAD
        async with leading(hub):
            await in_time(
                lambda: (
                    all(hub.where(name) != to for name, to in refuges(hub).items())
                    and len(refuges(hub)) == 10
                ),
                what="refuges for where they are now",
            )
        assert hub.broken == []


async def test_the_cause_of_a_move_from_a_lost_cluster_is_the_cluster() -> None:
    async with PaceHub(demand=2) as hub:
        herd(hub, EVEN, count=2, on="c1", refuges=True)
        hub.maintain(window("Cordon", "c4"))
        async with leading(hub):
            await in_time(lambda: len(refuges(hub)) == 2, what="two refuges")
            await asyncio.sleep(30)
            lose(hub, "c1")
            await in_time(lambda: len(list(hub.ledger().under_way)) == 2, what="two arrivals")
            view = queue_view(
                read_moves(hub.configmap()),
                placements=None,
                cluster=None,
                facts=VerifierFacts(now=wall()),
                hub_namespace=HUB,
            )
            assert view is not None
            lines = list(queue_lines(view, everything=True))
            await asyncio.sleep(30)
        way = f"app-0: c1 -> {hub.where('app-0')}: Handover since "
        assert [
            line
            for line in lines
            if way in line and line.endswith(", lost cluster: OCM does not reach c1")
        ]
        causes = {message.partition(": ")[2] for message in hub.events("Moved", "Warning")}
        assert causes == {"lost cluster: OCM does not reach c1"}
        assert hub.events("MoveAdmitted") == []


async def test_another_leader_writes_nothing_again() -> None:
    """Also when all are planned again, while no cluster became clearly better."""
    async with PaceHub() as hub:
        herd(hub, EVEN, count=4, on="c1", refuges=True)
        async with leading(hub):
            await in_time(lambda: len(refuges(hub)) == 4, what="refuges")
        planned = refuges(hub)
        hub.score("c4", 59)
        before = len(hub.writes)
        async with leading(hub):
            await asyncio.sleep(2 * REPLAN_SECONDS)
        assert refuges(hub) == planned
        assert len(hub.writes) == before
        assert hub.broken == []


async def test_a_refuge_is_renewed() -> None:
    """At once if its cluster is cordoned; after a while if another became clearly better."""
    async with PaceHub() as hub:
        herd(hub, EVEN, count=1, on="c1", refuges=True)
        async with leading(hub):
            await in_time(lambda: refuges(hub) == {"app-0": "c2"}, what="the best one")
            hub.put("managedclusters", "c2", kind="ManagedCluster", spec=NO_NEW)
            await asyncio.sleep(15)
            assert refuges(hub) == {"app-0": "c3"}
            hub.score("c4", 80)
            await asyncio.sleep(60)
            assert refuges(hub) == {"app-0": "c3"}
            await asyncio.sleep(REPLAN_SECONDS)
            assert refuges(hub) == {"app-0": "c4"}
        assert hub.moved == []


async def test_a_placement_without_a_refuge_gets_one_when_there_is_a_cluster_for_it() -> None:
    """At once, and not with the next plan of all."""
    async with PaceHub() as hub:
        herd(hub, {"c1": 90, "c2": 62}, count=1, on="c1", refuges=True)
        hub.put("managedclusters", "c2", kind="ManagedCluster", spec=NO_NEW)
        async with leading(hub):
            await in_time(lambda: bool(hub.ledger().decided), what="a first look")
            await asyncio.sleep(30)
            assert refuges(hub) == {}
            hub.put("managedclusters", "c2", kind="ManagedCluster", spec={"hubAcceptsClient": True})
            await asyncio.sleep(15)
            assert refuges(hub) == {"app-0": "c2"}
        assert hub.moved == []


async def test_without_refuges_they_are_taken_away() -> None:
    """The annotation of a Placement says so, or there is no pace any more."""
    async with PaceHub() as hub:
        herd(hub, EVEN, count=2, on="c1", refuges=True)
        async with leading(hub):
            await in_time(lambda: len(refuges(hub)) == 2, what="refuges")
            hub.place("app-0", "c1")
            await in_time(lambda: refuges(hub).keys() == {"app-1"}, what="one refuge")
        async with leading(hub, pace=None):
            await in_time(lambda: not hub.items(), what="no refuge")
        assert hub.moved == []


async def test_a_refuge_that_the_view_does_not_show_yet_is_taken_away_before_the_push() -> None:
    """Else the Placement could go to it instead of the target."""
    seen: list[dict[str, dict[str, int]]] = []
    async with PaceHub() as hub, hub.api() as api:
        publisher, refuge = ItemPublisher(api), {"ns/a": "c3"}
        nothing = ShownItems(items={}, versions={})
        await publisher.publish(nothing, items_of([], refuge))
        hub.between = lambda _: seen.append(hub.items()) if hub.items() not in seen else None
        move = LedgerMove(placement="ns/a", source="c1", target="c2", since=0)
        await publisher.publish(nothing, items_of([move], refuge))
        seen.append(hub.items())
    at_refuge, at_target = {"c3": {"ns/a": DRAW}}, {"c2": {"ns/a": DRAW}}
    assert seen == [
        at_refuge,
        {**at_refuge, **at_target},
        at_target,
        {**at_target, "c1": {"ns/a": -100}},
    ]


FREE = {"c1": 90, "c2": 40, "c3": 38}
OURS = {"key": MAINTENANCE_TAINT, "effect": "NoSelectIfNew"}
THEIRS = {
    "key": "example.com/kept",
    "effect": "PreferNoSelect",
    "timeAdded": "2026-01-01T00:00:00Z",
}
HOUR = 3600.0


def window(
    action: str, *clusters: str, opens: float = -60.0, closes: float = HOUR
) -> dict[str, Any]:
    """`opens` and `closes` are seconds from now."""
    return {
        "name": action.lower(),
        "action": action,
        "clusters": list(clusters),
        "start": timestamp_of(wall() + opens),
        "end": timestamp_of(wall() + closes),
    }


async def test_a_drain_empties_a_cluster_within_the_pace() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=5, on="c1")
        hub.maintain(window("Drain", "c1"))
        async with leading(hub) as replica:
            await in_time(lambda: len(hub.moved) == 5, what="all have left")
            await asyncio.sleep(60)
            assert {hub.where(f"app-{number}") for number in range(5)} == {"c2", "c3"}
            assert hub.taints("c1") == [OURS]
            assert [(each.first, each.count, each.late) for each in hub.maintenance().drains] == [
                (5, 0, False)
            ]
            assert replica.samples("maintenance_left", "cluster") == {"c1": 0.0}
        assert hub.broken == []
        assert hub.events("DrainDone") == ["c1 (drain): all paced Placements have left"]
        assert hub.events("DrainLate") == []
        causes = {message.partition(": ")[2] for message in hub.events("MoveAdmitted")}
        assert causes == {"drain: c1 (drain)"}, "not the points, which are none"


async def test_a_drain_that_will_not_be_done_says_so_once_and_breaks_nothing() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=9, on="c1")
        hub.maintain(window("Drain", "c1", closes=120.0))
        async with leading(hub) as replica:
            await asyncio.sleep(100)
            assert replica.samples("maintenance_late", "cluster") == {"c1": 1.0}
            await asyncio.sleep(60)
            assert replica.samples("maintenance_late", "cluster") == {}
            assert hub.taints("c1") == []
        assert hub.broken == []
        (message,) = hub.events("DrainLate")
        assert message.endswith("the pace is kept all the same")
        assert 0 < len(hub.moved) < 9


async def test_a_freeze_holds_a_drain_until_it_ends() -> None:
    async with PaceHub() as hub:
        herd(hub, FREE, count=2, on="c1")
        hub.maintain(window("Drain", "c1"), window("Freeze", "c1", closes=300.0))
        async with leading(hub):
            await asyncio.sleep(280)
            assert hub.moved == []
            assert hub.taints("c1") == [OURS]
            await in_time(lambda: len(hub.moved) == 2, what="both have left")
        assert hub.broken == []


async def test_taints_of_others_are_never_touched() -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 0, "c2": 0, "c3": 0}, count=0, on="c1")
        hub.cluster("c1", 0, taints=[THEIRS])
        hub.cluster("c2", 0, taints=[OURS, THEIRS])
        hub.cluster("c3", 0, taints=[{**OURS, "effect": "NoSelect"}])
        hub.maintain(window("Cordon", "c1", opens=100.0, closes=200.0))
        async with leading(hub):
            await asyncio.sleep(50)
            # A taint of ours that no document asks for goes.
            assert [hub.taints(name) for name in ("c1", "c2", "c3")] == [[THEIRS], [THEIRS], []]
            await asyncio.sleep(80)
            assert hub.taints("c1") == [THEIRS, OURS]
            await asyncio.sleep(100)
            assert hub.taints("c1") == [THEIRS]


async def test_without_the_configmap_taints_stay() -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 0}, count=0, on="c1")
        hub.cluster("c1", 0, taints=[OURS])
        del hub.objects["configmaps", HUB, MAINTENANCE_CONFIGMAP]
        async with leading(hub):
            await asyncio.sleep(120)
            assert hub.taints("c1") == [OURS]


@pytest.mark.parametrize("pace", [PACE, None])
async def test_a_cordon_needs_no_pace(pace: Pace | None) -> None:
    async with PaceHub() as hub:
        herd(hub, {"c1": 0}, count=0, on="c1")
        hub.maintain(window("Cordon", "c1"))
        async with leading(hub, pace=pace):
            await in_time(lambda: hub.taints("c1") == [OURS], what="the cordon")


async def test_a_cluster_that_goes_while_another_gets_its_taint_ends_nothing() -> None:
    async with PaceHub() as hub:
        herd(hub, EVEN, count=1, on="c1")
        hub.maintain(window("Cordon", "c2", "c3", "c4"))

        def between(word: str) -> None:
            if (
                word == "PATCH managedclusters"
                and (gone := hub.get("managedclusters", "c3")) is not None
            ):
                hub.remove({"kind": "ManagedCluster", "metadata": gone["metadata"]})

        hub.between = between
        async with leading(hub) as replica:
            await in_time(lambda: hub.taints("c4"), what="the taint of the last one")
            assert hub.taints("c2")
            assert hub.get("managedclusters", "c3") is None
            assert replica.metric("duty_failures_total", duty="maintenance") is None


async def test_a_taint_that_is_refused_is_tried_ever_more_rarely_and_holds_up_no_other() -> None:
    async with PaceHub() as hub:
        herd(hub, EVEN, count=1, on="c1")
        hub.maintain(window("Cordon", "c2", "c3"))
        hub.refused["PATCH ManagedCluster c2"] = 403
        async with leading(hub):
            await in_time(lambda: hub.taints("c3"), what="the taint of the other")
            # Changes of clusters wake the controller: heartbeats and claims of agents.
            for number in range(300):
                with hub.nobody_decides():
                    hub.put(
                        "managedclusters",
                        "busy",
                        kind="ManagedCluster",
                        spec={},
                        status={"n": number},
                    )
                await asyncio.sleep(2)
            assert 5 <= hub.asked.count("PATCH managedclusters/c2") <= 12
            hub.refused.clear()
            await in_time(lambda: hub.taints("c2"), what="it is tried again")


async def test_maintenance_that_nobody_can_read_for_long_is_not_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A window that freezes moves may have been merged meanwhile. A short fault changes nothing."""
    async with PaceHub() as hub:
        herd(hub, EVEN, count=3, on="c1")
        async with leading(hub):
            await asyncio.sleep(60)
            hub.refusals[f"GET configmaps/{MAINTENANCE_CONFIGMAP}"] = [403] * 4
            await asyncio.sleep(125)
            assert hub.refusals[f"GET configmaps/{MAINTENANCE_CONFIGMAP}"] == []
            assert "gitops-dsf-maintenance could not be read" not in caplog.text
            hub.refusals[f"GET configmaps/{MAINTENANCE_CONFIGMAP}"] = [403] * 1000
            await asyncio.sleep(200)
            assert (
                "ConfigMap gitops-dsf-maintenance could not be read for more than 150 s"
                in caplog.text
            )
            for name in ("c2", "c3", "c4"):
                hub.score(name, 95)
            hub.score("c1", 10)
            await asyncio.sleep(120)
            assert hub.moved == []
            assert hub.admitted() == []
            hub.refusals.clear()
            await in_time(lambda: hub.moved, what="a move, when it is known again")
        assert hub.broken == []


async def test_a_taint_stays_while_nobody_can_read_the_windows() -> None:
    async with PaceHub() as hub:
        herd(hub, EVEN, count=1, on="c1")
        hub.maintain(window("Cordon", "c2", closes=300.0))
        async with leading(hub):
            await in_time(lambda: hub.taints("c2"), what="the taint")
            hub.refusals[f"GET configmaps/{MAINTENANCE_CONFIGMAP}"] = [403] * 1000
            await asyncio.sleep(600)
            assert hub.taints("c2"), "it may have been prolonged"
            hub.refusals.clear()
            await in_time(lambda: not hub.taints("c2"), what="it goes when they are known again")
