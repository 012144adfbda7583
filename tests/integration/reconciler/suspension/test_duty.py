"""The suspension duty against an API server over HTTP: what it writes, what it leaves, and on its
bad days.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.health import Health, HealthStatus
from gitops_dsf.reconciler.settings import SuspensionSettings
from gitops_dsf.reconciler.suspension.circuit import TRIAL_EVERY, TRIAL_SECONDS
from gitops_dsf.reconciler.suspension.duty import SuspensionDuty
from tests.support import virtual_time
from tests.support.objecthub import ObjectHub
from tests.support.waiting import until

NAMESPACE, LIST = "hub", "gitops-dsf-suspended"
INTERVAL = 0.02
"""Of the probes, in seconds; a look comes as often."""
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}


class Scene:
    """Three scorers, `cpu` on four clusters, and a clock that a test moves."""

    def __init__(self, hub: ObjectHub) -> None:
        self.hub = hub
        self.now = 1_000.0
        self.health: dict[str, Health] = {}
        self.metrics = Metrics()
        for name in ("cpu", "mem", "net"):
            self.scorer(name)
            self.says(name, HealthStatus.ACTIVE)
        for number in range(4):
            self.hub.put("managedclusters", f"c{number}")
            self.agent(f"c{number}", "True")
            self.score(f"c{number}", "cpu", -5)

    def scorer(self, name: str, **spec: Any) -> None:
        scoring = {"params": {"name": f"{name}_score", "interval": 1}}
        self.hub.put(
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
        self.hub.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(self, cluster: str, scorer: str, seconds: float) -> None:
        until = datetime.fromtimestamp(int(time.time() + seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"validUntil": until, "scores": [{"name": "all", "value": 1}]}
        self.hub.put("addonplacementscores", f"{scorer}-score", namespace=cluster, status=status)

    def says(self, scorer: str, status: HealthStatus) -> None:
        self.health[scorer] = Health(status=status)

    def write(self, text: str, **labels: str) -> None:
        self.hub.put(
            "configmaps",
            LIST,
            namespace=NAMESPACE,
            metadata={"labels": labels},
            data={"scorers": text, "note": "theirs"},
        )

    @property
    def text(self) -> str | None:
        item = self.hub.get("configmaps", LIST, namespace=NAMESPACE)
        return None if item is None else str(item["data"]["scorers"])

    @property
    def listed(self) -> Any:
        return None if self.text is None else json.loads(self.text)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)

    @asynccontextmanager
    async def duty(self, *, enabled: bool = True) -> AsyncIterator[HubView]:
        async with self.hub.api() as api:
            view = HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace="argocd")
            duty = SuspensionDuty(
                api=api,
                view=view,
                metrics=self.metrics,
                events=Events(api=api, metrics=self.metrics.events),
                health=self.health,
                settings=SuspensionSettings(enabled=enabled, quorum_percent=50),
                probe_interval=INTERVAL,
                clock=lambda: self.now,
            )
            task = asyncio.create_task(duty.run())
            try:
                if enabled:
                    assert not duty.ready
                    await self.read(view)
                assert duty.ready
                yield view
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @staticmethod
    async def read(view: HubView) -> None:
        for source in (view.scorers, view.scores, view.clusters, view.addons, view.masks):
            await source.refresh()

    async def looks(self, number: int = 3) -> None:
        """So many looks have begun since: what one of them would do is done."""
        seen = self.hub.asked.count(f"GET configmaps/{LIST}")
        await until(lambda: self.hub.asked.count(f"GET configmaps/{LIST}") >= seen + number)


def play(test: Callable[[Scene], Awaitable[None]]) -> None:
    async def go() -> None:
        async with ObjectHub() as hub:
            await test(Scene(hub))

    virtual_time.run(go())


async def suspend(scene: Scene) -> None:
    """Both speak against `cpu`."""
    scene.says("cpu", HealthStatus.INACTIVE)
    await scene.looks()
    scene.now += 3 * INTERVAL
    await until(lambda: scene.listed == ["cpu_score"])


def test_down_suspended_back_lifted() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty():
            await scene.looks()
            assert scene.listed is None, "nothing is written while nothing is suspended"
            scene.says("cpu", HealthStatus.INACTIVE)
            await scene.looks()
            assert scene.listed is None, "it may be a restart"
            await suspend(scene)
            await until(lambda: scene.hub.events("Suspended"))
            assert scene.metric("suspended", scorer="cpu") == 1
            assert scene.metric("suspended", scorer="mem") == 0
            item = scene.hub.get("configmaps", LIST, namespace=NAMESPACE)
            assert item is not None
            assert item["metadata"]["labels"] == OURS
            version = item["metadata"]["resourceVersion"]
            await scene.looks()
            assert item["metadata"]["resourceVersion"] == version
            scene.says("cpu", HealthStatus.ACTIVE)
            await until(lambda: scene.listed == [])
            await until(lambda: scene.hub.events("Resumed"))
        (message,) = scene.hub.events("Suspended")
        assert message.startswith("agents no longer call it: down for the hub since ")
        assert message.endswith("and 4 of 4 clusters with a living agent have no fresh score")
        assert scene.hub.events("Resumed") == ["agents may call it again: its API answers the hub"]
        assert scene.metric("suspended", scorer="cpu") is None, "another leader tells"

    play(test)


def test_probes_alone_suspend_nothing() -> None:
    async def test(scene: Scene) -> None:
        for cluster in ("c0", "c1", "c2"):
            scene.score(cluster, "cpu", 600)
        async with scene.duty() as view:
            scene.says("cpu", HealthStatus.INACTIVE)
            await scene.looks()
            scene.now += 1_000
            await scene.looks()
            assert scene.listed is None
            # Agents that are away cannot testify, neither for nor against.
            for cluster in ("c0", "c1"):
                scene.agent(cluster, "Unknown")
            await scene.read(view)
            await scene.looks()
            assert scene.listed is None, "one stale cluster is no quorum"
            scene.score("c2", "cpu", -5)
            await scene.read(view)
            await until(lambda: scene.listed == ["cpu_score"])

    play(test)


def test_stale_agents_alone_suspend_nothing() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty():
            for status in (HealthStatus.UNKNOWN, HealthStatus.ACTIVE):
                scene.says("cpu", status)
                scene.now += 1_000
                await scene.looks()
            del scene.health["cpu"]
            scene.now += 1_000
            await scene.looks()
            assert scene.listed is None

    play(test)


def test_a_new_leader_keeps_the_list_until_its_own_probes_have_spoken() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty():
            await suspend(scene)
        scene.health.clear()
        async with scene.duty():
            await scene.looks()
            assert scene.listed == ["cpu_score"]
            scene.says("cpu", HealthStatus.INACTIVE)
            await scene.looks()
            assert scene.listed == ["cpu_score"]
            scene.says("cpu", HealthStatus.ACTIVE)
            await until(lambda: scene.listed == [])

    play(test)


def test_a_trial_every_hour() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty():
            await suspend(scene)
            await scene.looks()
            scene.now += TRIAL_EVERY
            await until(lambda: scene.listed == [])
            await scene.looks()
            assert scene.listed == []
            scene.now += TRIAL_SECONDS
            await until(lambda: scene.listed == ["cpu_score"])

    play(test)


def test_most_down_at_once_is_said_and_suspends_nothing() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty():
            for name in ("cpu", "mem"):
                scene.says(name, HealthStatus.INACTIVE)
            await scene.looks()
            scene.now += 1_000
            await until(lambda: scene.metric("suspensions_held_back") == 1)
            await scene.looks()
            assert scene.listed is None
            assert len(scene.hub.events("SuspensionHeldBack")) == 1
            scene.says("mem", HealthStatus.ACTIVE)
            await until(lambda: scene.listed == ["cpu_score"])
            await until(lambda: scene.metric("suspensions_held_back") == 0)

    play(test)


def test_what_people_wrote_is_put_right_and_the_rest_of_the_object_stays() -> None:
    async def test(scene: Scene) -> None:
        for text in ('["cpu_score", "no-such-score"]', "not json", '{"a": 1}', '[""]', "[1]"):
            scene.write(text, team="ours")
            async with scene.duty():
                await until(lambda: scene.text == "[]")
            item = scene.hub.get("configmaps", LIST, namespace=NAMESPACE)
            assert item is not None
            assert item["data"]["note"] == "theirs"
            assert item["metadata"]["labels"] == {"team": "ours", **OURS}

    play(test)


def test_who_writes_in_between_is_read_first() -> None:
    async def test(scene: Scene) -> None:
        scene.write("[]", **OURS)
        written = 0

        def somebody(word: str) -> None:
            nonlocal written
            if word == "PUT configmaps" and written < 2:
                written += 1
                scene.write('["no-such-score"]', **OURS)

        scene.hub.between = somebody
        async with scene.duty():
            await suspend(scene)
            assert written == 2
            await until(lambda: scene.hub.events("Suspended"))
            assert len(scene.hub.events("Suspended")) == 1

    play(test)


def test_two_that_create_it_at_once() -> None:
    async def test(scene: Scene) -> None:
        def somebody(word: str) -> None:
            if word == "POST configmaps":
                scene.hub.between = lambda _: None
                scene.write("[]", **OURS)

        scene.hub.between = somebody
        async with scene.duty():
            await suspend(scene)

    play(test)


def test_a_hub_that_refuses_or_is_away_is_asked_again_and_nothing_is_said_that_is_not_so() -> None:
    async def test(scene: Scene) -> None:
        scene.hub.refusals = {"GET configmaps": [0, 403, 500], "POST configmaps": [403, 0]}
        async with scene.duty():
            scene.says("cpu", HealthStatus.INACTIVE)
            await until(lambda: not scene.hub.refusals["GET configmaps"])
            await scene.looks()
            scene.now += 1_000
            await until(lambda: not scene.hub.refusals["POST configmaps"])
            await until(lambda: scene.listed == ["cpu_score"])
            await until(lambda: scene.hub.events("Suspended"))
            assert len(scene.hub.events("Suspended")) == 1

    play(test)


def test_without_the_hubs_time_nobody_is_stale() -> None:
    async def test(scene: Scene) -> None:
        scene.hub.clock = None
        async with scene.duty():
            scene.says("cpu", HealthStatus.INACTIVE)
            await scene.looks()
            scene.now += 1_000
            await scene.looks()
            assert scene.listed is None
            scene.hub.clock = lambda: time.time() - 600
            await scene.looks()
            assert scene.listed is None, "by the hub's clock the scores are fresh"
            scene.hub.clock = time.time
            await until(lambda: scene.listed == ["cpu_score"])

    play(test)


def test_switched_off_it_empties_its_own_list_once_and_leaves_peoples() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty(enabled=False):
            await until(lambda: scene.hub.asked)
            await asyncio.sleep(0.2)
        assert scene.hub.asked == [f"GET configmaps/{LIST}"], "there is none, and none is made"
        scene.write('["by-hand"]')
        async with scene.duty(enabled=False):
            await until(lambda: len(scene.hub.asked) == 2)
            await asyncio.sleep(0.2)
        assert scene.listed == ["by-hand"]
        scene.write('["cpu_score"]', **OURS)
        scene.hub.refusals = {"PUT configmaps": [409]}
        async with scene.duty(enabled=False):
            await until(lambda: scene.listed == [])
            scene.write('["by-hand"]', **OURS)
            await asyncio.sleep(0.2)
            assert scene.listed == ["by-hand"]

    play(test)
