"""The suspension controller against an API server over HTTP: what it writes, what it leaves alone, and how it
copes with faults.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gitops_dsf.reconciler.scorers.probes import Health, HealthStatus
from gitops_dsf.reconciler.suspension import SuspensionController
from gitops_dsf.repository.model.reconciler import Suspension
from tests.integration.reconciler.replica import Replica, read_again, running
from tests.integration.reconciler.scorerhub import ScorerHub
from tests.support import virtual_time
from tests.support.hubobjects import HUB
from tests.support.waiting import until

LIST = "gitops-dsf-suspended"
INTERVAL = 0.02
"""Seconds between probes, and between passes."""
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}


class SuspensionHub(ScorerHub):
    """Three scorers, `cpu` on four clusters, which a test can make stale."""

    def __init__(self) -> None:
        super().__init__()
        self.health = {name: Health(status=HealthStatus.ACTIVE) for name in ("cpu", "mem", "net")}
        for name in self.health:
            self.scorer(name, score=f"{name}_score", ttl=60)
        self.joined("c0", "c1", "c2", "c3")
        self.scored("c0", "c1", "c2", "c3", seconds=-5)

    def scored(self, *clusters: str, seconds: float) -> None:
        for cluster in clusters:
            self.score(cluster, "cpu-score", seconds=seconds)

    def says(self, scorer: str, status: HealthStatus) -> None:
        self.health[scorer] = Health(status=status)

    def write(self, text: str, **labels: str) -> None:
        data = {"scorers": text, "note": "theirs"}
        self.put("configmaps", LIST, namespace=HUB, metadata={"labels": labels}, data=data)

    @property
    def item(self) -> Any:
        return self.get("configmaps", LIST, namespace=HUB)

    @property
    def listed(self) -> Any:
        return self.item and json.loads(self.item["data"]["scorers"])

    async def passes(self, number: int = 3) -> None:
        """Waits until so many passes have begun, so that all but the last are complete."""
        seen = self.asked.count(f"GET configmaps/{LIST}")
        await until(lambda: self.asked.count(f"GET configmaps/{LIST}") >= seen + number)


@asynccontextmanager
async def suspending(hub: SuspensionHub, *, enabled: bool = True) -> AsyncIterator[Replica]:
    async with hub.api() as api:
        replica = Replica(api)
        controller = SuspensionController(
            replica.shared,
            health=hub.health,
            settings=Suspension(enabled=enabled, quorum_percent=50),
            probe_interval=INTERVAL,
        )
        async with running(controller):
            if enabled:
                await read_again(replica.view)
            yield replica


@pytest.fixture
async def hub() -> AsyncIterator[SuspensionHub]:
    async with SuspensionHub() as hub:
        yield hub


async def suspend(hub: SuspensionHub, leader: Replica) -> None:
    """Both speak against `cpu`."""
    hub.says("cpu", HealthStatus.INACTIVE)
    await hub.passes()
    leader.now += 3 * INTERVAL
    await until(lambda: hub.listed == ["cpu_score"])


async def test_down_suspended_back_lifted(hub: SuspensionHub) -> None:
    hub.scored("c0", "c1", "c2", seconds=600)
    async with suspending(hub) as leader:
        await hub.passes()
        assert hub.listed is None, "nothing is written while nothing is suspended"
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        leader.now += 1_000
        await hub.passes()
        assert hub.listed is None, "one stale cluster is no quorum"
        hub.says("cpu", HealthStatus.ACTIVE)
        hub.scored("c0", "c1", "c2", seconds=-5)
        await read_again(leader.view)
        leader.now += 1_000
        await hub.passes()
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        assert hub.listed is None, "it may be a restart"
        await suspend(hub, leader)
        await until(lambda: hub.events("Suspended"))
        assert leader.metric("suspended", scorer="cpu") == 1
        assert leader.metric("suspended", scorer="mem") == 0
        assert hub.item["metadata"]["labels"] == OURS
        version = hub.item["metadata"]["resourceVersion"]
        await hub.passes()
        assert hub.item["metadata"]["resourceVersion"] == version
        hub.says("cpu", HealthStatus.ACTIVE)
        await until(lambda: hub.listed == [])
        await until(lambda: hub.events("Resumed"))
    (message,) = hub.events("Suspended")
    assert message.startswith("agents no longer call it: the hub's probes have failed for ")
    assert message.endswith("and 4 of 4 clusters with a running agent have no fresh score")
    assert hub.events("Resumed") == ["agents may call it again: its API answers the hub"]


async def test_what_people_wrote_is_put_right_and_the_rest_of_the_object_stays(
    hub: SuspensionHub,
) -> None:
    for text in ('["cpu_score", "no-such-score"]', "not json", '{"a": 1}', '[""]', "[1]"):
        hub.write(text, team="ours")
        async with suspending(hub):
            await until(lambda: hub.listed == [])
        assert hub.item["data"]["note"] == "theirs"
        assert hub.item["metadata"]["labels"] == {"team": "ours", **OURS}


async def test_who_writes_in_between_is_read_first(hub: SuspensionHub) -> None:
    hub.write("[]", **OURS)
    written = 0

    def somebody(word: str) -> None:
        nonlocal written
        if word == "PUT configmaps" and written < 2:
            written += 1
            hub.write('["no-such-score"]', **OURS)

    hub.between = somebody
    async with suspending(hub) as leader:
        await suspend(hub, leader)
        assert written == 2
        await until(lambda: hub.events("Suspended"))
        assert len(hub.events("Suspended")) == 1


async def test_a_hub_that_refuses_or_is_away_is_asked_again_and_nothing_is_said_that_is_not_so(
    hub: SuspensionHub,
) -> None:
    hub.refusals = {"GET configmaps": [0, 403, 500], "POST configmaps": [403, 0]}
    async with suspending(hub) as leader:
        hub.says("cpu", HealthStatus.INACTIVE)
        await until(lambda: not hub.refusals["GET configmaps"])
        await hub.passes()
        leader.now += 1_000
        await until(lambda: not hub.refusals["POST configmaps"])
        await until(lambda: hub.listed == ["cpu_score"])
        await until(lambda: hub.events("Suspended"))
        assert len(hub.events("Suspended")) == 1


async def test_without_the_hubs_time_nobody_is_stale(hub: SuspensionHub) -> None:
    hub.clock = None
    async with suspending(hub) as leader:
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        leader.now += 1_000
        await hub.passes()
        assert hub.listed is None
        hub.clock = lambda: virtual_time.wall() - 600
        await hub.passes()
        assert hub.listed is None, "by the hub's clock the scores are fresh"
        hub.clock = virtual_time.wall
        await until(lambda: hub.listed == ["cpu_score"])


async def test_switched_off_it_empties_its_own_list_once_and_leaves_peoples(
    hub: SuspensionHub,
) -> None:
    async with suspending(hub, enabled=False):
        await until(lambda: hub.asked)
        await asyncio.sleep(0.2)
    assert hub.asked == [f"GET configmaps/{LIST}"], "there is none, and none is made"
    hub.write('["by-hand"]')
    async with suspending(hub, enabled=False):
        await until(lambda: len(hub.asked) == 2)
        await asyncio.sleep(0.2)
    assert hub.listed == ["by-hand"]
    hub.write('["cpu_score"]', **OURS)
    hub.refusals = {"PUT configmaps": [409]}
    async with suspending(hub, enabled=False):
        await until(lambda: hub.listed == [])
        hub.write('["by-hand"]', **OURS)
        await asyncio.sleep(0.2)
        assert hub.listed == ["by-hand"]


async def test_outdated_informers_suspend_nothing_and_probes_still_lift(
    hub: SuspensionHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an informer that hears of no renewal every score expires."""
    async with suspending(hub) as leader:
        await suspend(hub, leader)
        monkeypatch.setattr(type(leader.view.scores), "broken", "the watch of scores is refused")
        hub.says("cpu", HealthStatus.ACTIVE)
        await until(lambda: hub.listed == [])
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        leader.now += 1_000
        await hub.passes()
        assert hub.listed == []
        monkeypatch.undo()
        await until(lambda: hub.listed == ["cpu_score"])
