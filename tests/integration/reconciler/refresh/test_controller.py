"""The controller over informers of an API server.

When it refreshes an ApplicationSet, and what it does when the hub refuses.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.refresh import RefreshController
from tests.integration.reconciler.moves.movehub import NAMESPACE, SETS, MoveHub
from tests.integration.reconciler.replica import Replica, running
from tests.support.objecthub import ObjectHub
from tests.support.waiting import until

DEBOUNCE_SECONDS = 5.0
REPEAT_AFTER_SECONDS = 30.0

ANNOTATION = "argocd.argoproj.io/application-set-refresh"
ASKED = f"PATCH {SETS}/web"


class RefreshLeader(Replica):
    """One leader's controller."""

    def __init__(self, hub: ObjectHub, api: HubApi) -> None:
        super().__init__(api)
        self.hub = hub

    async def after(self, seconds: float) -> None:
        """Time goes by, and the informers see what there is; that an ApplicationSet changed wakes
        the controller.
        """
        self.now += seconds
        item = self.hub.get(SETS, "web", namespace=NAMESPACE)
        assert item is not None
        # Another time-out concerns moves alone.
        item["metadata"]["annotations"]["gitops-dsf.io/moves-timeout-seconds"] = str(int(self.now))
        await self.view.decisions.refresh()
        await self.view.sets.refresh()

    def asked(self) -> int:
        return self.hub.asked.count(ASKED)


@asynccontextmanager
async def leading() -> AsyncIterator[tuple[MoveHub, RefreshLeader]]:
    async with ObjectHub() as hub, hub.api() as api:
        scene, leader = MoveHub(hub), RefreshLeader(hub, api)
        async with running(RefreshController(leader.context)):
            await leader.after(0)
            yield scene, leader


async def test_it_asks_once_when_a_decision_held_still_and_never_for_an_empty_one() -> None:
    async with leading() as (scene, leader):
        await leader.after(DEBOUNCE_SECONDS - 1)
        await asyncio.sleep(0.3)
        assert leader.asked() == 0
        await leader.after(1)
        await until(lambda: leader.metric("refreshes_total") == 1)
        assert leader.metric("refresh_delay_seconds_sum") == DEBOUNCE_SECONDS
        scene.decide()
        await leader.after(1)
        await leader.after(60)
        await asyncio.sleep(0.3)
        assert leader.asked() == 1
        assert leader.metric("decision_clusters", placement="web") == 0
        scene.decide("b")
        await leader.after(1)
        await leader.after(DEBOUNCE_SECONDS)
        await until(lambda: leader.asked() == 2)


async def test_what_the_hub_refuses_is_asked_again_and_one_that_was_made_anew_is_another() -> None:
    async with leading() as (scene, leader):
        scene.hub.refusals[f"PATCH {SETS}"] = [503, 0]
        await leader.after(DEBOUNCE_SECONDS)
        await until(lambda: leader.metric("refreshes_total") == 1)
        assert leader.asked() == 3
        scene.decide("b")
        await leader.after(1)
        scene.application_set(uid="set-2")
        # The informer still has the old one; that a page changed wakes the controller.
        leader.now += 60
        scene.decide("b", owner="placement-2")
        await leader.view.decisions.refresh()
        await until(lambda: leader.asked() > 3)
        await asyncio.sleep(0.3)
        assert leader.metric("refreshes_total") == 1, "refused by its UID"


async def test_an_annotation_that_stays_is_written_with_another_value() -> None:
    async with leading() as (scene, leader):
        await leader.after(DEBOUNCE_SECONDS)
        await until(lambda: leader.metric("refreshes_total") == 1)
        # ObjectHub keeps metadata of a patch out; Argo CD has not looked.
        item = scene.hub.get(SETS, "web", namespace=NAMESPACE)
        assert item is not None
        item["metadata"]["annotations"][ANNOTATION] = "earlier"
        await leader.after(REPEAT_AFTER_SECONDS - 1)
        await asyncio.sleep(0.3)
        assert leader.asked() == 1
        await leader.after(1)
        await until(lambda: leader.asked() == 2)


async def test_a_refusal_that_lasts_is_asked_ever_more_rarely_and_holds_up_no_other() -> None:
    """Without rights for one ApplicationSet, for instance by an admission policy."""
    async with leading() as (scene, leader):
        scene.hub.refused["PATCH ApplicationSet web"] = 403
        web = scene.hub.get(SETS, "web", namespace=NAMESPACE)
        assert web is not None
        metadata = {"uid": "set-2", "annotations": dict(web["metadata"]["annotations"])}
        scene.hub.put(SETS, "api", namespace=NAMESPACE, metadata=metadata, spec=web["spec"])
        await leader.after(DEBOUNCE_SECONDS)
        await until(lambda: f"PATCH {SETS}/api" in scene.hub.asked)
        for _ in range(120):
            await leader.after(5)
            await asyncio.sleep(5)
        assert 5 <= leader.asked() <= 15
        assert "PATCH ApplicationSet web" not in scene.hub.writes
        scene.hub.refused.clear()
        await asyncio.sleep(200)
        assert "PATCH ApplicationSet web" in scene.hub.writes, "it is asked again"
