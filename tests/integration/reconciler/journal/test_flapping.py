"""An application that moves back and forth: the metric, the Events, and what the condition of the scorer
says.
"""

import asyncio

from tests.integration.reconciler.journal.journalhub import JournalHub, Leader

SPAN_SECONDS = 86_400.0

WORDS = (
    "moved back and forth 2 times within a day between cluster1 and cluster2, most of all because of cpu;"
    " gitops-dsf backtest --advise tells which stickiness would hold it"
)


async def flaps(replica: Leader) -> None:
    """From cluster1 to cluster2, back, and to cluster2 again, which always has 60: it leads by 40, then
    trails by 20.
    """
    for cluster, score in (("cluster2", 20), ("cluster1", 80), ("cluster2", 20)):
        await replica.moves(cluster, cluster1=score)
        await asyncio.sleep(300)


async def test_a_noisy_score_is_named(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        calm = replica.flapping.settled("cpu")
        assert calm is not None
        assert (calm.status, calm.reason) == ("True", "NoFlapping")
        await flaps(replica)
        assert replica.returns() == {"cpu": 2.0}
        assert scene.hub.events("Flapping") == [f"it {WORDS}"]
        cpu, mem = (replica.flapping.settled(name) for name in ("cpu", "mem"))
        assert cpu is not None
        assert mem is not None
        assert (cpu.status, cpu.reason, cpu.message) == ("False", "Flapping", f"argocd/guestbook {WORDS}")
        assert mem.status == "True"
        await asyncio.sleep(SPAN_SECONDS)
        assert replica.returns() == {}
        assert len(scene.hub.events("FlappingEnded")) == 1
    assert replica.returns() == {}


async def test_moves_of_a_placement_that_was_deleted_are_not_those_of_the_next_one(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        await replica.moves("cluster2")
        await replica.moves("cluster3")
        placement = scene.hub.objects.pop(("placements", "argocd", "guestbook"))
        scene.hub.objects.pop(("placementdecisions", "argocd", "guestbook-decision-1"))
        await replica.sees()
        await asyncio.sleep(900)
        await replica.sees()
        placement["metadata"]["uid"] = "another"
        scene.hub.objects["placements", "argocd", "guestbook"] = placement
        for cluster in ("cluster3", "cluster1", "cluster2"):
            await replica.moves(cluster)
        await asyncio.sleep(5)
        assert replica.returns() == {}
        await replica.moves("cluster1")
        await replica.moves("cluster2")
        await asyncio.sleep(5)
        assert list(replica.returns().values()) == [2.0], "the new one's own moves back and forth count"
        await replica.pushed(8)
    assert [record.number for record in scene.branch().records] == [1, 2, 3, 1, 2, 3, 4, 5]
