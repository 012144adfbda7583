"""Items of moves that the hub does not take, or of which nobody knows whether it took them.

What one cluster refuses stops no move of the others, and nothing moves that was not admitted.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterable

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.hub.pace import MOVES_SCORE
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.items import MoveItems, items_of
from gitops_dsf.pacing.ledger import LedgerMove
from gitops_dsf.reconciler.pacing.publisher import ItemPublisher, ShownItems
from tests.integration.reconciler.pacing.pacehub import PaceHub, herd, leading
from tests.integration.reconciler.replica import in_time
from tests.support.agent.http import PeerFault, RecordedRequest, SentReply
from tests.support.apiserver import failure
from tests.support.virtual_time import wall

FREE = {"c1": 40, "c2": 62, "c3": 58, "c4": 20}
SCORES = "addonplacementscores"


def is_write_of(seen: RecordedRequest, clusters: Iterable[str]) -> bool:
    """Whether a request writes the items of one of these clusters."""
    if seen.method == "GET" or SCORES not in seen.path:
        return False
    name = json.loads(seen.body)["metadata"].get("name") if seen.method == "POST" else ""
    return any(f"/namespaces/{each}/" in seen.path for each in clusters) and (
        name == MOVES_SCORE or MOVES_SCORE in seen.path
    )


def refuse(hub: PaceHub, *clusters: str, status: int = 403) -> None:
    def before(seen: RecordedRequest) -> SentReply | PeerFault | None:
        return failure(status, "a webhook denies it") if is_write_of(seen, clusters) else None

    hub.before = before


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_a_cluster_that_refuses_its_items_stops_no_other_move(status: int) -> None:
    """c2 is the best one. What would go there goes to the next one, and everything is reported."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=3, on="c1")
        refuse(hub, "c2", status=status)
        async with leading(hub) as replica:
            await in_time(lambda: len(hub.moved) == 1, what="a move to c3")
            await asyncio.sleep(600)
            assert replica.metric("paced_moves_refused_clusters") == 1
            assert hub.moved == [("app-1", "c1", "c3")]
            assert hub.events("MoveAdmitted")[:2] == [
                "c1 -> c2: pace: +22.0 points by the written weights",
                "c1 -> c3: pace: +13.0 points by the written weights",
            ]
            assert len(hub.events("MoveEnded")) == 1
            assert replica.metric("paced_moves_under_way") == 0
            hub.before = lambda _: None
            await in_time(lambda: len(hub.moved) == 2, what="the hub takes the items of c2 again")
            await asyncio.sleep(60)
            assert replica.metric("paced_moves_refused_clusters") == 0
        assert hub.moved == [("app-1", "c1", "c3"), ("app-0", "c1", "c2")]
        assert hub.broken == []


async def test_refusals_of_many_clusters_are_counted_and_told() -> None:
    """A move that was admitted is told, counted and shown as waiting, although no item could be
    written.
    """
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        refuse(hub, "c1", "c2", "c3", "c4")
        async with leading(hub) as replica:
            await in_time(
                lambda: bool(hub.events("MoveAdmitted")), what="the Event of an admission"
            )
            assert hub.events("MoveAdmitted") == [
                "c1 -> c2: pace: +22.0 points by the written weights"
            ]
            assert replica.metric("paced_moves_admitted_total") == 1
            assert replica.metric("paced_moves_under_way") == 1
            await in_time(lambda: bool(hub.events("MoveWithdrawn")), what="it is withdrawn")
            (words,) = hub.events("MoveWithdrawn")
            assert words.startswith("c1 -> c2: ")
            assert words.endswith("403 a webhook denies it")
        assert hub.moved == []
        assert hub.broken == []


async def test_a_source_that_refuses_keeps_its_applications_and_holds_no_place() -> None:
    """`concurrent` is 2: two applications that cannot leave c1 do not hold up those of c4."""
    async with PaceHub() as hub:
        herd(hub, {"c1": 10, "c2": 90, "c3": 88, "c4": 40}, count=2, on="c1")
        hub.place("app-8", "c4")
        hub.place("app-9", "c4")
        refuse(hub, "c1")
        async with leading(hub):
            await in_time(lambda: len(hub.moved) == 2, what="the applications of c4 move")
            await asyncio.sleep(60)
            assert {name for name, _, _ in hub.moved} == {"app-8", "app-9"}
        assert hub.broken == []


async def test_a_cluster_without_a_namespace_repels_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody can be drawn to c2, so nobody is pushed away for it: OCM would choose by the
    scores.
    """
    async with PaceHub() as hub:
        herd(hub, FREE, count=1, on="c1")
        hub.namespaces = {"c1", "c3", "c4", "argocd", "gitops-dsf"}
        async with leading(hub):
            await in_time(lambda: bool(hub.moved), what="a move to another cluster")
            await asyncio.sleep(300)
        assert hub.moved == [("app-0", "c1", "c3")]
        assert hub.broken == []
    assert (
        "the items of moves of cluster c2 are not written: cluster c2 has no namespace"
        in caplog.text
    )
    assert caplog.text.count("cluster c2 has no namespace") < 3


async def test_the_oldest_wait_goes_on_to_grow_while_looks_fail() -> None:
    """The alert for moves that are stuck looks at it."""
    async with PaceHub() as hub:
        herd(hub, FREE, count=6, on="c1")
        async with leading(hub) as replica:
            await in_time(
                lambda: (replica.metric("paced_moves_waiting_seconds") or 0) > 0, what="one waits"
            )
            hub.refused["configmaps"] = 403
            before = replica.metric("paced_moves_waiting_seconds") or 0
            await asyncio.sleep(1000)
            assert (replica.metric("paced_moves_waiting_seconds") or 0) > before + 900


async def test_an_admission_whose_answer_is_lost_is_told() -> None:
    """The write of the ledger took effect, but nobody said so. The next look finds the move."""
    async with PaceHub() as hub:
        herd(hub, {"c1": 50, "c2": 50}, count=1, on="c1")
        lost = False

        def before(seen: RecordedRequest) -> SentReply | PeerFault | None:
            nonlocal lost
            if seen.method != "PUT" or b'\\"from\\"' not in seen.body:
                return None
            lost, hub.before = True, lambda _: None
            hub.answered(seen)
            return PeerFault()

        async with leading(hub) as replica:
            await in_time(lambda: len(hub.ledger().decided) == 1, what="a first look")
            hub.before = before
            hub.score("c2", 99)
            await in_time(lambda: bool(hub.events("MoveEnded")), what="a move")
            assert lost
            assert len(hub.events("MoveAdmitted")) == 1
            assert replica.metric("paced_moves_admitted_total") == 1
        assert hub.broken == []


def shown(hub: PaceHub) -> ShownItems:
    """What an informer that is up to date shows."""
    return ShownItems(
        items=hub.items(),
        versions={
            namespace: item["metadata"]["resourceVersion"]
            for (plural, namespace, name), item in hub.objects.items()
            if plural == SCORES and name == MOVES_SCORE
        },
    )


NOTHING = ShownItems(items={}, versions={})
MOVE = LedgerMove(placement="ns/a", source="c1", target="c2", since=0)
PUSHED = {"c1": {"ns/a": -100}, "c2": {"ns/a": 50}}


def check_draws(hub: PaceHub) -> None:
    """While ns/a is pushed away, it is drawn to c2 and to no other cluster."""
    items = hub.items()
    if items.get("c1", {}).get("ns/a") == -100:
        assert {cluster for cluster, values in items.items() if values.get("ns/a") == 50} == {"c2"}


async def test_an_informer_that_is_looks_behind_repels_nobody_to_an_old_refuge() -> None:
    async with PaceHub() as hub, hub.api() as api:
        hub.between = lambda _: check_draws(hub)
        publisher, refuge = ItemPublisher(api), {"ns/a": "c3"}
        for _ in range(3):
            await publisher.publish(NOTHING, items_of([], refuge))
        await publisher.publish(NOTHING, items_of([MOVE], refuge))
        assert hub.items() == PUSHED
        check_draws(hub)


async def test_a_list_of_the_past_does_not_count_as_a_push_that_is_taken_away() -> None:
    """An API server that is behind says of c1 what was there before ns/a was pushed away."""
    async with PaceHub() as hub, hub.api() as api:
        hub.between = lambda _: check_draws(hub)
        publisher, others = ItemPublisher(api), {"ns/b": "c1"}
        await publisher.publish(NOTHING, items_of([], others))
        old: list[SentReply] = []

        def before(seen: RecordedRequest) -> SentReply | PeerFault | None:
            if seen.method != "GET" or f"/namespaces/c1/{SCORES}" not in seen.path:
                return None
            if not old:
                hub.before = lambda _: None
                answer = hub.answered(seen)
                assert isinstance(answer, SentReply)
                old.append(answer)
                hub.before = before
            return old[0] if behind else None

        behind = False
        hub.before = before
        await publisher.publish(shown(hub), items_of([MOVE], others))
        pushed = {"c1": {"ns/a": -100, "ns/b": 50}, "c2": {"ns/a": 50}}
        assert hub.items() == pushed
        behind = True
        wanted = items_of([], {"ns/a": "c3", **others})
        await publisher.publish(shown(hub), wanted)
        assert hub.items() == pushed, "nothing is drawn elsewhere while ns/a may be pushed away"
        behind = False
        await publisher.publish(shown(hub), wanted)
        assert hub.items() == {"c1": {"ns/b": 50}, "c3": {"ns/a": 50}}


async def test_it_asks_no_more_once_the_informer_shows_what_was_written() -> None:
    """The healthy twin: a look that changes nothing sends nothing."""
    async with PaceHub() as hub, hub.api() as api:
        publisher, wanted = ItemPublisher(api), items_of([], {"ns/a": "c3", "ns/b": "c2"})
        await publisher.publish(NOTHING, wanted)
        await publisher.publish(shown(hub), wanted)
        count = len(hub.asked)
        await publisher.publish(shown(hub), wanted)
        assert len(hub.asked) == count


async def test_what_another_program_wrote_since_is_read_and_not_assumed() -> None:
    async with PaceHub() as hub, hub.api() as api:
        publisher, wanted = ItemPublisher(api), items_of([], {"ns/a": "c3"})
        await publisher.publish(NOTHING, wanted)
        hub.put(
            SCORES, MOVES_SCORE, namespace="c3", kind="AddOnPlacementScore", status={"scores": []}
        )
        await publisher.publish(NOTHING, wanted)
        assert hub.items() == {"c3": {"ns/a": 50}}


@pytest.mark.parametrize("takes_effect", [False, True])
@pytest.mark.parametrize("number", range(1, 8))
async def test_after_a_write_without_an_answer_nobody_is_repelled_to_another_cluster(
    number: int, *, takes_effect: bool
) -> None:
    """The answer to the write of this number is lost. The informer shows nothing of all that."""
    async with PaceHub() as hub, hub.api() as api:
        hub.between = lambda _: check_draws(hub)
        publisher, refuge = ItemPublisher(api), {"ns/a": "c3"}
        writes = 0

        def before(seen: RecordedRequest) -> SentReply | PeerFault | None:
            nonlocal writes
            if not is_write_of(seen, ("c1", "c2", "c3")):
                return None
            writes += 1
            if writes != number:
                return None
            if takes_effect:
                hub.before = lambda _: None
                hub.answered(seen)
                hub.before = before
            return PeerFault()

        hub.before = before
        for wanted in (items_of([], refuge), items_of([MOVE], refuge), items_of([MOVE], refuge)):
            await attempt(publisher, wanted)
            check_draws(hub)
        await attempt(publisher, items_of([MOVE], refuge))
        assert hub.items() == PUSHED


async def attempt(publisher: ItemPublisher, wanted: MoveItems) -> None:
    with contextlib.suppress(ApiError):
        await publisher.publish(NOTHING, wanted)


async def test_a_hub_that_does_not_answer_is_asked_once() -> None:
    """Each request of a silent hub takes 20 s."""
    async with PaceHub() as hub, hub.api() as api:
        publisher = ItemPublisher(api)
        hub.before = lambda seen: PeerFault() if seen.method != "GET" else None
        with pytest.raises(ApiError, match="does not answer"):
            await publisher.publish(
                NOTHING, items_of([], {f"ns/{n}": f"c{n}" for n in range(1, 9)})
            )
        assert len([seen for seen in hub.seen if seen.method == "POST"]) == 1


async def test_a_silent_hub_is_asked_once_a_look_for_the_taints_of_a_maintenance() -> None:
    """Ten clusters are cordoned.

    One that refuses its taint does not stop the others; a silent hub does.
    """
    async with PaceHub() as hub:
        herd(hub, {f"c{number}": 0 for number in range(10)}, count=0, on="c1")
        names = [f"c{number}" for number in range(10)]
        start, end = timestamp_of(wall() - 60), timestamp_of(wall() + 3600)
        hub.maintain(
            {"name": "m", "action": "Cordon", "clusters": names, "start": start, "end": end}
        )
        attempts: list[str] = []

        def silent(seen: RecordedRequest) -> SentReply | PeerFault | None:
            if seen.method != "PATCH" or "/managedclusters/" not in seen.path:
                return None
            attempts.append(seen.path.rpartition("/")[2])
            return PeerFault()

        hub.before = silent
        async with leading(hub):
            await asyncio.sleep(35)
            assert set(attempts) == {"c0"}
            hub.before = lambda seen: (
                failure(403, "denied")
                if seen.method == "PATCH" and seen.path.endswith("/c0")
                else None
            )
            await in_time(lambda: bool(hub.taints("c9")), what="the others are cordoned")
            assert [name for name in names if not hub.taints(name)] == ["c0"]
