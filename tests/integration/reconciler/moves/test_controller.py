"""The controller over informers of an API server.

What it deletes and when, what it reports while copies wait, and how a new leader starts.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Self

import pytest

from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.hub.moves.waiting import WaitingCopy, read_waits
from gitops_dsf.reconciler.moves import controller
from gitops_dsf.reconciler.moves.controller import MoveController
from tests.integration.reconciler.moves.movehub import (
    APPLICATIONS,
    CLUSTERS,
    NAMESPACE,
    PROGRESSING,
    MoveHub,
)
from tests.integration.reconciler.replica import Replica, read_again, running
from tests.support.hubobjects import HUB
from tests.support.objecthub import FixedClaim
from tests.support.waiting import until

DEBOUNCE_SECONDS = 5.0
NEWS_SECONDS = 10.0
HOLD_SECONDS = 180.0
INTERVAL_SECONDS = 10.0
FIRST_RETRY, MAX_RETRY = 5.0, 60.0


class Counted(MoveController):
    passes = 0

    async def _reconcile(self) -> float:
        pause = await super()._reconcile()
        self.passes += 1
        return pause


class MoveLeader(Replica):
    """One leader's controller."""

    def __init__(self, scene: MoveHub) -> None:
        self.hub, self.claim, self.ticks = scene.hub, FixedClaim(), 0
        super().__init__(scene.hub.api(claim=self.claim))
        self.controller = Counted(self.context, pause=0.01)

    async def __aenter__(self) -> Self:
        self.stack = AsyncExitStack()
        await self.stack.enter_async_context(self.context.api)
        self.task = await self.stack.enter_async_context(running(self.controller))
        await self.after(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stack.aclose()

    async def after(self, seconds: float) -> None:
        """Moves the clock, refreshes the informers, and waits until the controller has seen all of
        that, and the results of its own writes.
        """
        self.now += seconds
        # Of two looks the second began after the informers were read. Twice: it may delete, and
        # until the informers see that, it is "Gone".
        for look in range(4):
            if look % 2 == 0:
                await read_again(self.view)
            passes = self.controller.passes
            self.ticks += 1
            # Something that concerns nobody wakes it.
            self.hub.put(CLUSTERS, "somewhere", metadata={"labels": {"tick": str(self.ticks)}})
            await self.view.clusters.refresh()
            await until(lambda passes=passes: self.controller.passes > passes or self.task.done())

    def waits(self) -> dict[str, float]:
        return self.samples("moves_waiting", "reason")


async def test_a_move_from_beginning_to_end(scene: MoveHub) -> None:
    scene.copy("a")
    async with MoveLeader(scene) as leader:
        await leader.after(60)
        assert leader.waits() == {}
        scene.decide("b")
        await leader.after(0)
        assert leader.waits() == {"DecisionUnsettled": 1}
        await leader.after(DEBOUNCE_SECONDS)
        assert leader.waits() == {"NewCopyMissing": 1}
        scene.copy("b", status=PROGRESSING)
        await leader.after(1)
        assert leader.waits() == {"NewCopyNotHealthy": 1}
        assert scene.hub.events("MoveWaits") == []
        await leader.after(NEWS_SECONDS)
        assert scene.hub.events("MoveWaits") == [
            "web-a on a is still there: web-b is Progressing/Synced (NewCopyNotHealthy)"
        ]
        assert (
            leader.metric("moves_waiting_seconds", applicationset="web")
            == DEBOUNCE_SECONDS + 1 + NEWS_SECONDS
        )
        assert scene.copies() == ["web-a", "web-b"]
        scene.copy("b")
        await leader.after(1)
        assert scene.copies() == ["web-b"]
        assert leader.waits() == {}
        assert leader.metric("moves_waiting_seconds", applicationset="web") is None
        assert leader.metric("copies_removed_total", applicationset="web") == 1
        assert scene.hub.events("CopyRemoved") == ["web-a on a is deleted: b is Healthy and Synced"]
        assert leader.metric("decision_changes_total", placement="web") == 1
        assert leader.metric("decision_clusters", placement="web") == 1


async def test_the_hub_is_told_why_a_copy_is_still_there(scene: MoveHub) -> None:
    """Where `status` reads it: the reason of the reconciler, and since when, over several
    leaders.
    """
    scene.available("a", "Unknown")
    scene.moved()
    async with MoveLeader(scene) as leader:
        leader.context.causes["argocd/web"] = MoveCause("ClusterLost", "OCM does not reach a")
        await leader.after(DEBOUNCE_SECONDS)
        assert told(scene) == [], "it may pass in a moment"
        await leader.after(NEWS_SECONDS)
        (wait,) = told(scene)
        assert (wait.application_set, wait.application, wait.cluster) == ("web", "web-a", "a")
        assert wait.reason == "ClusterUnreachable"
        assert wait.message == "OCM does not reach a, so its workload could not be deleted now"
        assert str(wait.cause) == "lost cluster: OCM does not reach a"
        writes = [word for word in scene.hub.asked if word.startswith("PUT configmaps")]
        await leader.after(100)
        await leader.after(100)
        assert [word for word in scene.hub.asked if word.startswith("PUT configmaps")] == writes
    await asyncio.sleep(60)
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS + NEWS_SECONDS)
        await leader.after(NEWS_SECONDS)
        assert told(scene) == [wait], "the next leader goes on with what was told"
        scene.available("a")
        await leader.after(1)
        await leader.after(HOLD_SECONDS + 1)
        await leader.after(NEWS_SECONDS)
        assert scene.copies() == ["web-b"]
        assert told(scene) == []


async def test_a_hub_that_refuses_the_configmap_stops_no_move(scene: MoveHub) -> None:
    scene.decide("b")
    scene.copy("a")
    scene.copy("b", status=PROGRESSING)
    async with MoveLeader(scene) as leader:
        scene.hub.refusals["POST configmaps"] = [403] * 20
        await leader.after(DEBOUNCE_SECONDS)
        await leader.after(NEWS_SECONDS)
        await leader.after(NEWS_SECONDS)
        assert told(scene) == []
        scene.copy("b")
        await leader.after(1)
        assert scene.copies() == ["web-b"]


async def test_nothing_is_written_where_no_copy_waits(scene: MoveHub) -> None:
    scene.copy("a")
    async with MoveLeader(scene) as leader:
        await leader.after(100)
        await leader.after(100)
    assert not [
        word for word in scene.hub.asked if "configmaps" in word and not word.startswith("GET")
    ]


def told(scene: MoveHub) -> list[WaitingCopy]:
    """What the ConfigMap tells."""
    found = scene.hub.get("configmaps", "gitops-dsf-moves", namespace=HUB)
    return list(read_waits((found or {}).get("data")))


async def test_a_new_leader_waits_for_the_decision_and_the_time_out_anew(scene: MoveHub) -> None:
    scene.decide("b")
    scene.copy("a")
    scene.copy("b", status={"health": {"status": "Healthy"}, "sync": {"status": "OutOfSync"}})
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS + 59)
        assert leader.waits() == {"NewCopyNotHealthy": 1}
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS - 1)
        assert leader.waits() == {"DecisionUnsettled": 1}
        await leader.after(60)
        assert leader.waits() == {"NewCopyNotHealthy": 1}
        await leader.after(1)
        assert scene.copies() == ["web-b"]
        assert scene.hub.events("CopyRemoved") == [
            "web-a on a is deleted: the time-out is over, and b is no less healthy"
        ]


async def test_a_copy_that_was_healthy_during_the_wait_is_not_given_up_while_it_rolls_out_a_change(
    scene: MoveHub,
) -> None:
    scene.decide("b")
    scene.copy("a")
    scene.copy("b", status=PROGRESSING)
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        scene.copy("a", status=PROGRESSING)
        await leader.after(60)
        assert leader.waits() == {"TimedOut": 1}
        await leader.after(1000)
        assert scene.deletions() == []


async def test_a_decision_that_is_empty_or_gone_removes_nothing(scene: MoveHub) -> None:
    scene.copy("a")
    scene.copy("b")
    scene.decide()
    async with MoveLeader(scene) as leader:
        await leader.after(1000)
        assert leader.waits() == {"DecisionEmpty": 2}
        scene.hub.objects.pop(("placementdecisions", NAMESPACE, "web-decision-1"))
        await leader.after(1000)
        assert leader.waits() == {"DecisionEmpty": 2}
        scene.hub.objects.pop(("placements", NAMESPACE, "web"))
        await leader.after(1000)
        assert leader.waits() == {"PlacementGone": 2}
    assert scene.deletions() == []


async def test_a_hub_that_refuses_is_asked_again_later_and_said_so(scene: MoveHub) -> None:
    scene.moved()
    scene.hub.refusals["DELETE applications"] = [403, 403]
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        assert leader.waits() == {"Refused": 1}
        assert len(scene.deletions()) == 1
        await leader.after(FIRST_RETRY / 2)
        assert len(scene.deletions()) == 1
        await leader.after(NEWS_SECONDS)
        assert len(scene.deletions()) == 2
        assert [text[:46] for text in scene.hub.events("MoveWaits")] == [
            "web-a on a is still there: DELETE /apis/argopr"
        ]
        await leader.after(FIRST_RETRY * 2)
        assert scene.copies() == ["web-b"]


async def test_a_hub_that_goes_on_refusing_is_asked_ever_more_rarely(scene: MoveHub) -> None:
    """After 5 s, then 10 s, and so on, up to a minute."""
    scene.moved()
    scene.hub.refusals["DELETE applications"] = [403] * 7
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        assert len(scene.deletions()) == 1
        for attempt, pause in enumerate((5, 10, 20, 40, 60, 60), start=1):
            await leader.after(pause - 1)
            assert len(scene.deletions()) == attempt
            await leader.after(1)
            assert len(scene.deletions()) == attempt + 1
        await leader.after(60)
        assert scene.copies() == ["web-b"]


@pytest.mark.parametrize(
    ("informer", "change"),
    [
        ("sets", lambda scene: scene.application_set(uid="set-2")),
        ("applications", lambda scene: scene.copy("a", status=PROGRESSING)),
        ("placements", lambda scene: scene.decide("a", wanted=1)),
        ("clusters", lambda scene: scene.available("a", "Unknown")),
        ("decisions", lambda scene: scene.decide("b")),
    ],
)
async def test_a_change_is_looked_at_at_once(
    scene: MoveHub, informer: str, change: Callable[[MoveHub], None]
) -> None:
    """And what did not change is looked at every ten seconds."""
    scene.copy("a")
    async with MoveLeader(scene) as leader:
        await asyncio.sleep(INTERVAL_SECONDS + 1)
        passes = leader.controller.passes
        await asyncio.sleep(INTERVAL_SECONDS - 2)
        assert leader.controller.passes == passes
        change(scene)
        await getattr(leader.view, informer).refresh()
        await asyncio.sleep(0.5)
        assert leader.controller.passes == passes + 1


async def test_a_hub_that_does_not_answer_is_left_in_peace_for_a_while(scene: MoveHub) -> None:
    scene.moved()
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS - 1)
        scene.hub.refusals["GET applicationsets/web"] = [0]
        await leader.after(1)
        assert leader.waits() == {"HubSilent": 1}
        asked = scene.hub.asked.count("GET applicationsets/web")
        await leader.after(FIRST_RETRY - 1)
        assert scene.hub.asked.count("GET applicationsets/web") == asked == 1
        await leader.after(1)
        assert scene.copies() == ["web-b"]


@pytest.mark.parametrize("word", ["GET applicationsets", "GET placements"])
async def test_a_claim_that_ends_while_a_removal_reads_costs_no_copy(
    scene: MoveHub, word: str
) -> None:
    """As when the process is stopped at that await, and another replica leads by the time that it
    goes on.
    """
    scene.moved()
    async with MoveLeader(scene) as leader:

        def meanwhile(asked: str) -> None:
            if asked == word and scene.hub.asked.count("GET applicationsets/web") == 1:
                leader.claim.seconds = 0.0
                scene.decide("a")

        await leader.after(DEBOUNCE_SECONDS - 1)
        scene.hub.between = meanwhile
        leader.now += 1
        await until(lambda: leader.waits() in ({"HubSilent": 1}, {"DecisionUnsettled": 1}))
        assert scene.deletions() == []
        assert scene.copies() == ["web-a", "web-b"]


async def test_many_copies_go_one_by_one_and_not_faster_than_the_limit(
    scene: MoveHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = 4
    monkeypatch.setattr(controller, "MAX_PER_MINUTE", limit)
    old = [f"old-{number}" for number in range(limit + 2)]
    scene.decide("b")
    for name in ("b", *old):
        scene.copy(name)
    async with MoveLeader(scene) as leader:
        for _ in range(limit):
            await leader.after(DEBOUNCE_SECONDS)
        await leader.after(1)
        assert len(scene.deletions()) == limit
        assert scene.copies() == ["web-b", f"web-{old[-2]}", f"web-{old[-1]}"]
        assert leader.waits() == {"RateLimited": 1, "Queued": 1}
        passes = leader.controller.passes
        await asyncio.sleep(INTERVAL_SECONDS - 1)
        assert leader.controller.passes == passes, "nothing can change before the limit ends"
        await leader.after(60)
        await leader.after(MAX_RETRY)
        assert scene.copies() == ["web-b"]
        assert len(scene.deletions()) == limit + 2


async def test_a_cluster_that_ocm_does_not_see_keeps_its_copy_and_for_a_while_after_its_return(
    scene: MoveHub,
) -> None:
    scene.available("a", "Unknown")
    scene.moved()
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        assert leader.waits() == {"ClusterUnreachable": 1}
        scene.available("a", "True")
        await leader.after(HOLD_SECONDS - 1)
        await leader.after(HOLD_SECONDS - 1)
        assert leader.waits() == {"ClusterReturned": 1}
        assert scene.deletions() == []
        await leader.after(1)
        assert scene.copies() == ["web-b"]


async def test_a_cluster_that_lost_a_taint_keeps_its_copy_until_ocm_has_decided(
    scene: MoveHub,
) -> None:
    scene.available("a", taints=("maintenance",))
    scene.decide("b")
    scene.copy("a")
    scene.copy("b", status=PROGRESSING)
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        scene.available("a")
        await leader.after(0)
        scene.copy("b")
        await leader.after(5)
        assert leader.waits() == {"ClusterReturned": 1}
        scene.decide("a")
        await leader.after(0)
        await leader.after(DEBOUNCE_SECONDS)
        assert scene.copies() == ["web-a"], "OCM wanted it back; the other one is nobody's"


async def test_a_watch_that_the_hub_refuses_stops_every_deletion_until_it_is_back(
    scene: MoveHub,
) -> None:
    scene.moved()
    async with MoveLeader(scene) as leader:
        # The list is answered, and the watch is not.
        scene.hub.refusals["WATCH managedclusters"] = [403] * 1000
        async with running(leader.view.clusters):
            await until(lambda: leader.view.clusters.broken)
            await leader.after(DEBOUNCE_SECONDS)
            assert leader.waits() == {"InformerBroken": 1}
            await leader.after(NEWS_SECONDS)
            assert "GET applicationsets/web" not in scene.hub.asked
            (words,) = scene.hub.events("MoveWaits")
            assert "what it depends on may be outdated: WATCH /apis/cluster" in words
            assert "v1/managedclusters: 403" in words
            assert leader.view.waits_for
            assert leader.metric("watch_broken", resource="managedclusters") == 1
            scene.hub.refusals.clear()
            await until(lambda: not leader.view.clusters.broken)
            await leader.after(1)
            assert scene.copies() == ["web-b"]
            assert leader.metric("watch_broken", resource="managedclusters") == 0


async def test_what_is_not_understood_whole_is_left_alone_and_said(scene: MoveHub) -> None:
    selector = {"matchLabels": {"cluster.open-cluster-management.io/placement": "web"}}
    generator = {"clusterDecisionResource": {"configMapRef": "x", "labelSelector": selector}}
    scene.application_set(generators=[generator, generator])
    scene.moved()
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        await leader.after(NEWS_SECONDS)
        assert leader.waits() == {"Generators": 1}
        assert leader.metric("moves_waiting_seconds", applicationset="web") is None, (
            "it will never end by itself"
        )
        assert scene.hub.events("MoveWaits")[0].endswith(
            "with the label of one Placement (Generators)"
        )
        scene.application_set(syncPolicy={"applicationsSync": "sync"})
        await leader.after(1)
        assert leader.waits() == {}
    assert scene.deletions() == []


async def test_a_deletion_that_takes_long_is_shown_and_not_repeated(scene: MoveHub) -> None:
    scene.decide("b")
    scene.copy("a", deletionTimestamp="2026-01-01T00:00:00Z")
    scene.copy("b")
    scene.copy("c")
    async with MoveLeader(scene) as leader:
        await leader.after(DEBOUNCE_SECONDS)
        await leader.after(NEWS_SECONDS)
        assert leader.waits() == {"Going": 2}
        assert scene.hub.events("MoveWaits") == [
            "web-a on a is still there: Argo CD is deleting it and its workload (Going)"
        ]
        scene.hub.objects.pop((APPLICATIONS, NAMESPACE, "web-a"))
        await leader.after(1)
        assert scene.copies() == ["web-b"]
        assert scene.deletions() == ["DELETE applications/web-c"]
