"""The order of clusters for Kueue while processes die, two of them lead, and watches are behind.

No job that runs is lost, and the list ends as the scores say.
"""

import asyncio
from itertools import cycle

import pytest

from tests.integration.reconciler.multikueue.kueuehub import (
    CONFIG,
    NAMESPACE,
    KueueHub,
    leading,
)
from tests.integration.reconciler.replica import in_time
from tests.support import virtual_time
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.apiserver import failure
from tests.support.heldrequest import HeldRequest
from tests.support.laws import every

REQUESTS = 12
"""Of a leader from its first look until the list is ordered twice, at least."""


def turned(hub: KueueHub) -> bool:
    return hub.listed() == ["b", "a"]


async def turn(hub: KueueHub) -> None:
    """The list is written, a job runs on its first cluster, and then the scores turn."""
    await in_time(lambda: hub.listed() == ["a", "b"], what="the first list")
    if not hub.where("long"):
        hub.job("long", where="a")
    hub.eligible("b")
    hub.score("a", -50)
    await in_time(lambda: turned(hub), what="the second list")


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_leader_that_dies_at_any_request_costs_no_job(takes_effect: bool) -> None:
    async def go(number: int) -> int:
        async with KueueHub() as hub:
            hub.fleet(a=90, b=40)
            last = HeldRequest(number, besides=("WATCH",))
            if takes_effect:
                last.release.set()
            async with leading(hub):
                hub.arrives = last
                await last.interrupts(turn(hub))
            hub.arrives = None
            async with leading(hub):
                if not turned(hub):
                    await turn(hub)
            assert hub.killed == []
            assert hub.broken == []
            return last.arrived

    number = 1
    while virtual_time.run(go(number)) == number:
        number += every(4)
    assert number >= REQUESTS


def test_a_write_of_a_frozen_leader_that_arrives_late_is_refused() -> None:
    async def go() -> None:
        async with KueueHub() as hub:
            hub.fleet(a=90, b=40, c=10)
            held, release = asyncio.Event(), asyncio.Event()

            async def hold(word: str) -> None:
                if word.startswith("PUT multikueueconfigs") and not held.is_set():
                    held.set()
                    await release.wait()

            async with leading(hub):
                await in_time(lambda: hub.listed() == ["a", "b", "c"], what="the first list")
                await asyncio.sleep(100)
                hub.arrives = hold
                # The first leader wants to take c away, and is frozen.
                hub.eligible("a", "b")
                await held.wait()
                async with leading(hub) as second:
                    hub.eligible("a", "b", "c")
                    hub.score("c", 100)
                    await in_time(lambda: hub.listed() == ["c", "a", "b"], what="the new list")
                    hub.job("long")
                    release.set()
                    await asyncio.sleep(300)
                    assert second.metric("conflicts_total", resource="multikueueconfigs") is None
            assert hub.where("long") == "c"
            assert hub.killed == []
            assert hub.broken == []

    virtual_time.run(go())


@pytest.mark.parametrize("delays", [(0.0, 2.0), (3.0, 0.1, 0.1), (1.0,), (0.0, 0.0, 4.9, 0.5)])
async def test_two_leaders_that_write_at_the_same_time_break_no_law(
    delays: tuple[float, ...],
) -> None:
    async with KueueHub(reorder_seconds=5) as hub:
        hub.fleet(a=90, b=40, c=10)
        pauses = cycle(delays)
        hub.request_seconds = max(delays)

        async def arrives(word: str) -> None:
            if not word.startswith("WATCH"):
                await asyncio.sleep(next(pauses))

        hub.arrives = arrives
        async with leading(hub), leading(hub):
            await in_time(hub.listed, what="the first list")
            hub.job("long", where="a")
            for round_number in range(8):
                hub.score("abc"[round_number % 3], 100 - 20 * round_number)
                await asyncio.sleep(11)
                hub.eligible("b", "c") if round_number % 2 else hub.eligible("a", "b", "c")
                await asyncio.sleep(7)
            hub.eligible("b", "c")
            hub.score("b", 100)
            hub.score("c", 0)
            await in_time(lambda: hub.listed() == ["b", "c", "a"], what="the last list")
        assert hub.where("long") == "a"
        assert hub.killed == []
        assert hub.broken == []


@pytest.mark.parametrize("behind", ["workloads", "placementdecisions", "managedclusters"])
async def test_a_watch_that_is_behind_takes_no_cluster_away(behind: str) -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub):
            await in_time(lambda: hub.listed() == ["a", "b"], what="the first list")
            await asyncio.sleep(100)
            # From now on this watch is open, has its bookmarks, and tells nothing.
            silent = [watch for watch in hub._watching if watch.plural == behind]
            if behind == "workloads":
                for watch in silent:
                    hub._watching.remove(watch)
                hub.job("long", where="a")
                hub.eligible("b")
            elif behind == "placementdecisions":
                hub.eligible("b")
                for watch in silent:
                    hub._watching.remove(watch)
                hub.eligible("a", "b")
                hub.job("long", where="a")
            else:
                item = hub.get("managedclusters", "a")
                assert item is not None
                hub.job("long", where="a")
                hub._forget(("managedclusters", "", "a"))
                for watch in silent:
                    hub._watching.remove(watch)
                hub.objects["managedclusters", "", "a"] = item
            await asyncio.sleep(100)
            assert "a" in hub.listed()
            for watch in silent:
                hub._watching.append(watch)
        assert hub.where("long") == "a"
        assert hub.killed == []
        assert hub.broken == []


async def test_a_watch_that_is_broken_keeps_the_list_and_the_order_returns_with_it() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub) as replica:
            await in_time(lambda: hub.listed() == ["a", "b"], what="the first list")
            hub.refused["workloads"] = 403
            hub.tell_watches("workloads", {"type": "ERROR", "object": {"code": 410}})
            await asyncio.sleep(60)
            hub.score("a", -100)
            hub.eligible("b")
            await asyncio.sleep(900)
            assert hub.listed() == ["a", "b"]
            assert replica.metric("watch_broken", resource="workloads") == 1
            del hub.refused["workloads"]
            await in_time(lambda: hub.listed() == ["b"], what="the list by the decision")
        assert hub.broken == []


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
async def test_a_right_that_is_missing_is_told_and_not_tried_all_the_time(verb: str) -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)

        def refuse(seen: RecordedRequest) -> SentReply | None:
            if "/multikueueconfigs" in seen.path and seen.method == verb:
                return failure(403, "multikueueconfigs is forbidden")
            return None

        async with leading(hub) as replica:
            if verb == "PUT":
                await in_time(hub.listed, what="the first list")
                hub.score("a", -100)
            hub.before = refuse
            await asyncio.sleep(3600)
            await replica.events_written()
            tries = [
                seen
                for seen in hub.seen
                if seen.method == verb and "multikueueconfigs" in seen.path
            ]
            assert len(tries) <= 30
            assert replica.metric("multikueue_refused", config=CONFIG) == 1
            events = hub.events("MultiKueueConfigRefused", "Warning")
            assert len(events) == 1
            assert events[0].startswith(
                "the clusters of MultiKueueConfig gpu-jobs are not ordered:"
            )
            assert "403" in events[0]
            hub.before = lambda _seen: None
            wanted = ["b", "a"] if verb == "PUT" else ["a", "b"]
            await in_time(lambda: hub.listed() == wanted, what="the list")
            await asyncio.sleep(30)
            assert replica.metric("multikueue_refused", config=CONFIG) is None


async def test_an_order_that_cannot_be_read_orders_nothing() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        hub.put(
            "placements",
            "broken",
            namespace=NAMESPACE,
            kind="Placement",
            metadata={"annotations": {"gitops-dsf.io/multikueue": '{"config": 7}'}},
            spec={},
        )
        async with leading(hub):
            await in_time(lambda: hub.listed() == ["a", "b"], what="the list of the other one")
