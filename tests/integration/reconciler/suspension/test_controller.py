"""The suspension controller against an API server over HTTP: what it writes, what it leaves alone, and how it
copes with faults.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.health import Health, HealthStatus
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.reconciler.suspension.circuitbreaker import TRIAL_EVERY, TRIAL_SECONDS
from gitops_dsf.reconciler.suspension.controller import SuspensionController
from gitops_dsf.repository.model.reconciler import Suspension
from tests.support import virtual_time
from tests.support.objecthub import ObjectHub
from tests.support.waiting import until

NAMESPACE, LIST = "hub", "gitops-dsf-suspended"
INTERVAL = 0.02
"""Seconds between probes, and between passes."""
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}


class SuspensionHub:
    """Three scorers, `cpu` on four clusters, and a clock that a test moves."""

    def __init__(self, server: ObjectHub) -> None:
        self.server = server
        self.now = 1_000.0
        self.health: dict[str, Health] = {}
        self.metrics = Metrics()
        for name in ("cpu", "mem", "net"):
            self.scorer(name)
            self.says(name, HealthStatus.ACTIVE)
        for number in range(4):
            self.server.put("managedclusters", f"c{number}")
            self.agent(f"c{number}", "True")
            self.score(f"c{number}", "cpu", -5)

    def scorer(self, name: str, **spec: Any) -> None:
        scoring = {"params": {"name": f"{name}_score", "interval": 1}}
        self.server.put(
            "dynamicscorers",
            name,
            namespace=NAMESPACE,
            spec={
                "configURL": f"http://{name}:8000/config",
                "scoring": scoring,
                "scoreTTLSeconds": 60,
                **spec,
            },
        )

    def agent(self, cluster: str, available: str) -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.server.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(self, cluster: str, scorer: str, seconds: float) -> None:
        until = datetime.fromtimestamp(int(virtual_time.wall() + seconds), tz=UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
        status = {"validUntil": until, "scores": [{"name": "all", "value": 1}]}
        self.server.put("addonplacementscores", f"{scorer}-score", namespace=cluster, status=status)

    def says(self, scorer: str, status: HealthStatus) -> None:
        self.health[scorer] = Health(status=status)

    def write(self, text: str, **labels: str) -> None:
        self.server.put(
            "configmaps",
            LIST,
            namespace=NAMESPACE,
            metadata={"labels": labels},
            data={"scorers": text, "note": "theirs"},
        )

    @property
    def text(self) -> str | None:
        item = self.server.get("configmaps", LIST, namespace=NAMESPACE)
        return None if item is None else str(item["data"]["scorers"])

    @property
    def listed(self) -> Any:
        return None if self.text is None else json.loads(self.text)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)

    @asynccontextmanager
    async def suspending(self, *, enabled: bool = True) -> AsyncIterator[HubView]:
        async with self.server.api() as api:
            shared = Shared(
                api=api,
                metrics=self.metrics,
                hub_namespace=NAMESPACE,
                argocd_namespace="argocd",
                clock=lambda: self.now,
            )
            view = shared.view
            controller = SuspensionController(
                shared,
                health=self.health,
                settings=Suspension(enabled=enabled, quorum_percent=50),
                probe_interval=INTERVAL,
            )
            task = asyncio.create_task(controller.run())
            try:
                if enabled:
                    await self.read(view)
                yield view
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @staticmethod
    async def read(view: HubView) -> None:
        for source in (view.scorers, view.scores, view.clusters, view.addons, view.masks):
            await source.refresh()

    async def passes(self, number: int = 3) -> None:
        """Waits until so many passes have begun, so that all but the last are complete."""
        seen = self.server.asked.count(f"GET configmaps/{LIST}")
        await until(lambda: self.server.asked.count(f"GET configmaps/{LIST}") >= seen + number)


def play(test: Callable[[SuspensionHub], Awaitable[None]]) -> None:
    async def go() -> None:
        async with ObjectHub() as server:
            await test(SuspensionHub(server))

    virtual_time.run(go())


async def suspend(hub: SuspensionHub) -> None:
    """Both speak against `cpu`."""
    hub.says("cpu", HealthStatus.INACTIVE)
    await hub.passes()
    hub.now += 3 * INTERVAL
    await until(lambda: hub.listed == ["cpu_score"])


def test_down_suspended_back_lifted() -> None:
    async def test(hub: SuspensionHub) -> None:
        async with hub.suspending():
            await hub.passes()
            assert hub.listed is None, "nothing is written while nothing is suspended"
            hub.says("cpu", HealthStatus.INACTIVE)
            await hub.passes()
            assert hub.listed is None, "it may be a restart"
            await suspend(hub)
            await until(lambda: hub.server.events("Suspended"))
            assert hub.metric("suspended", scorer="cpu") == 1
            assert hub.metric("suspended", scorer="mem") == 0
            item = hub.server.get("configmaps", LIST, namespace=NAMESPACE)
            assert item is not None
            assert item["metadata"]["labels"] == OURS
            version = item["metadata"]["resourceVersion"]
            await hub.passes()
            assert item["metadata"]["resourceVersion"] == version
            hub.says("cpu", HealthStatus.ACTIVE)
            await until(lambda: hub.listed == [])
            await until(lambda: hub.server.events("Resumed"))
        (message,) = hub.server.events("Suspended")
        assert message.startswith("agents no longer call it: the hub's probes have failed for ")
        assert message.endswith("and 4 of 4 clusters with a running agent have no fresh score")
        assert hub.server.events("Resumed") == ["agents may call it again: its API answers the hub"]

    play(test)


def test_probes_alone_suspend_nothing() -> None:
    async def test(hub: SuspensionHub) -> None:
        for cluster in ("c0", "c1", "c2"):
            hub.score(cluster, "cpu", 600)
        async with hub.suspending() as view:
            hub.says("cpu", HealthStatus.INACTIVE)
            await hub.passes()
            hub.now += 1_000
            await hub.passes()
            assert hub.listed is None
            # Agents that are away cannot testify, neither for nor against.
            for cluster in ("c0", "c1"):
                hub.agent(cluster, "Unknown")
            await hub.read(view)
            await hub.passes()
            assert hub.listed is None, "one stale cluster is no quorum"
            hub.score("c2", "cpu", -5)
            await hub.read(view)
            await until(lambda: hub.listed == ["cpu_score"])

    play(test)


def test_stale_agents_alone_suspend_nothing() -> None:
    async def test(hub: SuspensionHub) -> None:
        async with hub.suspending():
            for status in (HealthStatus.UNKNOWN, HealthStatus.ACTIVE):
                hub.says("cpu", status)
                hub.now += 1_000
                await hub.passes()
            del hub.health["cpu"]
            hub.now += 1_000
            await hub.passes()
            assert hub.listed is None

    play(test)


def test_a_new_leader_keeps_the_list_until_its_own_probes_have_spoken() -> None:
    async def test(hub: SuspensionHub) -> None:
        async with hub.suspending():
            await suspend(hub)
        hub.health.clear()
        async with hub.suspending():
            await hub.passes()
            assert hub.listed == ["cpu_score"]
            hub.says("cpu", HealthStatus.INACTIVE)
            await hub.passes()
            assert hub.listed == ["cpu_score"]
            hub.says("cpu", HealthStatus.ACTIVE)
            await until(lambda: hub.listed == [])

    play(test)


def test_a_trial_every_hour() -> None:
    async def test(hub: SuspensionHub) -> None:
        async with hub.suspending():
            await suspend(hub)
            await hub.passes()
            hub.now += TRIAL_EVERY
            await until(lambda: hub.listed == [])
            await hub.passes()
            assert hub.listed == []
            hub.now += TRIAL_SECONDS
            await until(lambda: hub.listed == ["cpu_score"])

    play(test)


def test_what_people_wrote_is_put_right_and_the_rest_of_the_object_stays() -> None:
    async def test(hub: SuspensionHub) -> None:
        for text in ('["cpu_score", "no-such-score"]', "not json", '{"a": 1}', '[""]', "[1]"):
            hub.write(text, team="ours")
            async with hub.suspending():
                await until(lambda: hub.text == "[]")
            item = hub.server.get("configmaps", LIST, namespace=NAMESPACE)
            assert item is not None
            assert item["data"]["note"] == "theirs"
            assert item["metadata"]["labels"] == {"team": "ours", **OURS}

    play(test)


def test_who_writes_in_between_is_read_first() -> None:
    async def test(hub: SuspensionHub) -> None:
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

    play(test)


def test_two_that_create_it_at_once() -> None:
    async def test(hub: SuspensionHub) -> None:
        def somebody(word: str) -> None:
            if word == "POST configmaps":
                hub.server.between = lambda _: None
                hub.write("[]", **OURS)

        hub.server.between = somebody
        async with hub.suspending():
            await suspend(hub)

    play(test)


def test_a_hub_that_refuses_or_is_away_is_asked_again_and_nothing_is_said_that_is_not_so() -> None:
    async def test(hub: SuspensionHub) -> None:
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

    play(test)


def test_without_the_hubs_time_nobody_is_stale() -> None:
    async def test(hub: SuspensionHub) -> None:
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

    play(test)


def test_switched_off_it_empties_its_own_list_once_and_leaves_peoples() -> None:
    async def test(hub: SuspensionHub) -> None:
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

    play(test)
