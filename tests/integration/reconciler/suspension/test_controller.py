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
from tests.integration.reconciler.replica import Replica, from_now, read_again, running
from tests.support import virtual_time
from tests.support.hubobjects import HUB
from tests.support.objecthub import ObjectHub
from tests.support.waiting import until

LIST = "gitops-dsf-suspended"
INTERVAL = 0.02
"""Seconds between probes, and between passes."""
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}


class SuspensionHub:
    """Three scorers, `cpu` on four clusters, and a clock that a test moves."""

    def __init__(self, server: ObjectHub) -> None:
        self.server = server
        self.now = 1_000.0
        self.health = {name: Health(status=HealthStatus.ACTIVE) for name in ("cpu", "mem", "net")}
        for name in self.health:
            scoring = {"params": {"name": f"{name}_score", "interval": 1}}
            spec = {"configURL": f"http://{name}:8000/config", "scoring": scoring, "scoreTTLSeconds": 60}
            self.server.put("dynamicscorers", name, namespace=HUB, spec=spec)
        for number in range(4):
            self.server.put("managedclusters", f"c{number}")
            self.agent(f"c{number}", "True")
            self.score(f"c{number}", "cpu", -5)

    def agent(self, cluster: str, available: str) -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.server.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(self, cluster: str, scorer: str, seconds: float) -> None:
        status = {"validUntil": from_now(seconds), "scores": [{"name": "all", "value": 1}]}
        self.server.put("addonplacementscores", f"{scorer}-score", namespace=cluster, status=status)

    def says(self, scorer: str, status: HealthStatus) -> None:
        self.health[scorer] = Health(status=status)

    def write(self, text: str, **labels: str) -> None:
        data = {"scorers": text, "note": "theirs"}
        self.server.put("configmaps", LIST, namespace=HUB, metadata={"labels": labels}, data=data)

    @property
    def item(self) -> Any:
        return self.server.get("configmaps", LIST, namespace=HUB)

    @property
    def listed(self) -> Any:
        return self.item and json.loads(self.item["data"]["scorers"])

    @asynccontextmanager
    async def suspending(self, *, enabled: bool = True) -> AsyncIterator[Replica]:
        async with self.server.api() as api:
            replica = Replica(api, clock=lambda: self.now)
            controller = SuspensionController(
                replica.shared,
                health=self.health,
                settings=Suspension(enabled=enabled, quorum_percent=50),
                probe_interval=INTERVAL,
            )
            async with running(controller):
                if enabled:
                    await read_again(replica.view)
                yield replica

    async def passes(self, number: int = 3) -> None:
        """Waits until so many passes have begun, so that all but the last are complete."""
        seen = self.server.asked.count(f"GET configmaps/{LIST}")
        await until(lambda: self.server.asked.count(f"GET configmaps/{LIST}") >= seen + number)


@pytest.fixture
async def hub() -> AsyncIterator[SuspensionHub]:
    async with ObjectHub() as server:
        yield SuspensionHub(server)


async def suspend(hub: SuspensionHub) -> None:
    """Both speak against `cpu`."""
    hub.says("cpu", HealthStatus.INACTIVE)
    await hub.passes()
    hub.now += 3 * INTERVAL
    await until(lambda: hub.listed == ["cpu_score"])


async def test_down_suspended_back_lifted(hub: SuspensionHub) -> None:
    async with hub.suspending() as leader:
        await hub.passes()
        assert hub.listed is None, "nothing is written while nothing is suspended"
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        assert hub.listed is None, "it may be a restart"
        await suspend(hub)
        await until(lambda: hub.server.events("Suspended"))
        assert leader.metric("suspended", scorer="cpu") == 1
        assert leader.metric("suspended", scorer="mem") == 0
        assert hub.item["metadata"]["labels"] == OURS
        version = hub.item["metadata"]["resourceVersion"]
        await hub.passes()
        assert hub.item["metadata"]["resourceVersion"] == version
        hub.says("cpu", HealthStatus.ACTIVE)
        await until(lambda: hub.listed == [])
        await until(lambda: hub.server.events("Resumed"))
    (message,) = hub.server.events("Suspended")
    assert message.startswith("agents no longer call it: the hub's probes have failed for ")
    assert message.endswith("and 4 of 4 clusters with a running agent have no fresh score")
    assert hub.server.events("Resumed") == ["agents may call it again: its API answers the hub"]


async def test_probes_alone_suspend_nothing(hub: SuspensionHub) -> None:
    for cluster in ("c0", "c1", "c2"):
        hub.score(cluster, "cpu", 600)
    async with hub.suspending() as leader:
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        hub.now += 1_000
        await hub.passes()
        assert hub.listed is None
        # Agents that are away cannot testify, neither for nor against.
        for cluster in ("c0", "c1"):
            hub.agent(cluster, "Unknown")
        await read_again(leader.view)
        await hub.passes()
        assert hub.listed is None, "one stale cluster is no quorum"
        hub.score("c2", "cpu", -5)
        await read_again(leader.view)
        await until(lambda: hub.listed == ["cpu_score"])


async def test_what_people_wrote_is_put_right_and_the_rest_of_the_object_stays(hub: SuspensionHub) -> None:
    for text in ('["cpu_score", "no-such-score"]', "not json", '{"a": 1}', '[""]', "[1]"):
        hub.write(text, team="ours")
        async with hub.suspending():
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

    hub.server.between = somebody
    async with hub.suspending():
        await suspend(hub)
        assert written == 2
        await until(lambda: hub.server.events("Suspended"))
        assert len(hub.server.events("Suspended")) == 1


async def test_a_hub_that_refuses_or_is_away_is_asked_again_and_nothing_is_said_that_is_not_so(
    hub: SuspensionHub,
) -> None:
    hub.server.refusals = {"GET configmaps": [0, 403, 500], "POST configmaps": [403, 0]}
    async with hub.suspending():
        hub.says("cpu", HealthStatus.INACTIVE)
        await until(lambda: not hub.server.refusals["GET configmaps"])
        await hub.passes()
        hub.now += 1_000
        await until(lambda: not hub.server.refusals["POST configmaps"])
        await until(lambda: hub.listed == ["cpu_score"])
        await until(lambda: hub.server.events("Suspended"))
        assert len(hub.server.events("Suspended")) == 1


async def test_without_the_hubs_time_nobody_is_stale(hub: SuspensionHub) -> None:
    hub.server.clock = None
    async with hub.suspending():
        hub.says("cpu", HealthStatus.INACTIVE)
        await hub.passes()
        hub.now += 1_000
        await hub.passes()
        assert hub.listed is None
        hub.server.clock = lambda: virtual_time.wall() - 600
        await hub.passes()
        assert hub.listed is None, "by the hub's clock the scores are fresh"
        hub.server.clock = virtual_time.wall
        await until(lambda: hub.listed == ["cpu_score"])


async def test_switched_off_it_empties_its_own_list_once_and_leaves_peoples(hub: SuspensionHub) -> None:
    async with hub.suspending(enabled=False):
        await until(lambda: hub.server.asked)
        await asyncio.sleep(0.2)
    assert hub.server.asked == [f"GET configmaps/{LIST}"], "there is none, and none is made"
    hub.write('["by-hand"]')
    async with hub.suspending(enabled=False):
        await until(lambda: len(hub.server.asked) == 2)
        await asyncio.sleep(0.2)
    assert hub.listed == ["by-hand"]
    hub.write('["cpu_score"]', **OURS)
    hub.server.refusals = {"PUT configmaps": [409]}
    async with hub.suspending(enabled=False):
        await until(lambda: hub.listed == [])
        hub.write('["by-hand"]', **OURS)
        await asyncio.sleep(0.2)
        assert hub.listed == ["by-hand"]
