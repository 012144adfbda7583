"""Maintenance by the reconciler, over the simulator's OCM in virtual time."""

import asyncio
from typing import Any

import pytest

from gitops_dsf.hub.metadata import timestamp_of
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_TAINT
from gitops_dsf.repository.model.reconciler import Pace
from tests.integration.reconciler.pacing.pacehub import PACE, PaceHub, herd, leading
from tests.integration.reconciler.replica import in_time
from tests.support.hubobjects import HUB
from tests.support.virtual_time import wall

FREE = {"c1": 90, "c2": 40, "c3": 38}
OURS = {"key": MAINTENANCE_TAINT, "effect": "NoSelectIfNew"}
THEIRS = {"key": "example.com/kept", "effect": "PreferNoSelect", "timeAdded": "2026-01-01T00:00:00Z"}
HOUR = 3600.0


def window(action: str, *clusters: str, opens: float = -60.0, closes: float = HOUR) -> dict[str, Any]:
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
        assert hub.events("DrainDone") == ["c1 (drain): no paced Placement is left"]
        assert hub.events("DrainLate") == []


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
        assert message.endswith("nothing is broken to keep that")
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
