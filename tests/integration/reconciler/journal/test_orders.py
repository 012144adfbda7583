"""Lists of clusters for Kueue in the journal: each one once, between the changes of decisions."""

import asyncio

import pytest

from gitops_dsf.journal.record import Record, RecordedOrder
from gitops_dsf.reconciler.context import WrittenList
from tests.integration.reconciler.journal.journalhub import INTERVAL, JournalHub, JournalLeader
from tests.integration.reconciler.multikueue.kueuehub import KueueHub, leading
from tests.integration.reconciler.replica import in_time
from tests.support.virtual_time import wall

JOBS = "kueue-system/gpu-jobs"


def written(leader: JournalLeader, *names: str, placement: str = JOBS, uid: str = "uid-1") -> None:
    """The controller wrote a list."""
    order = RecordedOrder(
        config="gpu-jobs", before=("a", "b"), after=names, points={"a": 40.5}, reason="b joined"
    )
    leader.context.orders.append(WrittenList(placement=placement, uid=uid, at=wall(), order=order))
    leader.context.order_written()


def orders(records: tuple[Record, ...]) -> list[tuple[int, tuple[str, ...]]]:
    return [(record.number, record.order.after) for record in records if record.order is not None]


async def test_lists_are_recorded_in_order_and_by_every_leader_on(scene: JournalHub) -> None:
    async with scene.replica() as first:
        await first.pushed(1)
        written(first, "a", "b")
        written(first, "b", "a")
        await first.pushed(3)
        # Longer than after which a deleted Placement is forgotten.
        await asyncio.sleep(900)
        written(first, "a")
        await first.pushed(4)
    async with scene.replica() as second:
        written(second, "b")
        await second.pushed(5)
    records = scene.branch().records
    assert orders(records) == [(1, ("a", "b")), (2, ("b", "a")), (3, ("a",)), (4, ("b",))]
    assert {record.kind for record in records if record.order is not None} == {"Ordered"}
    assert records[1].order == RecordedOrder(
        config="gpu-jobs",
        before=("a", "b"),
        after=("a", "b"),
        points={"a": 40.5},
        reason="b joined",
    )


@pytest.mark.parametrize("uid", ["placements-guestbook", "another"])
async def test_a_placement_of_argo_cd_keeps_its_decisions(scene: JournalHub, uid: str) -> None:
    async with scene.replica() as leader:
        await leader.pushed(1)
        placement = leader.view.placements.items["guestbook"]
        uid = placement.uid if uid != "another" else uid
        written(leader, "b", "a", placement="argocd/guestbook", uid=uid)
        await leader.pushed(2)
        await leader.moves("cluster2", cluster1=35)
        await asyncio.sleep(3 * INTERVAL)
    records = scene.branch().records
    if uid == "another":
        # Of a Placement that was deleted meanwhile; the next life begins anew.
        assert [record.kind for record in records][:2] == ["Start", "Ordered"]
        assert records[-1].to == ("cluster2",)
    else:
        assert [record.kind for record in records] == ["Start", "Ordered", "Change"]
        assert (records[-1].from_, records[-1].number) == (("cluster1",), 3)


async def test_of_two_replicas_no_list_is_lost(scene: JournalHub) -> None:
    async with scene.replica() as one:
        await one.pushed(1)
        async with scene.replica() as two:
            written(one, "a")
            written(two, "b")
            await asyncio.sleep(4 * INTERVAL)
    records = scene.branch().records
    assert sorted(orders(records)) in (
        [(1, ("a",)), (2, ("b",))],
        [(1, ("b",)), (2, ("a",))],
    )


async def test_the_controller_hands_over_what_it_wrote() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub) as replica:
            await in_time(lambda: len(replica.context.orders) == 1, what="the first list")
            hub.score("a", -10)
            await in_time(lambda: len(replica.context.orders) == 2, what="the second list")
            assert set(replica.context.ordering()) == {JOBS}
            _, second = replica.context.orders
    assert (second.placement, second.uid) == (JOBS, "uid-gpu-jobs")
    assert second.order == RecordedOrder(
        config="gpu-jobs",
        before=("a", "b"),
        after=("b", "a"),
        points={"a": -10.0, "b": 40.0},
        reason="b leads a by 50.0 points",
    )
