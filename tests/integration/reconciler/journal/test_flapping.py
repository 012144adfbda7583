"""An application that moves back and forth.

The metric, the Events, and what the condition of the scorer says.
"""

import asyncio

from gitops_dsf.pacing.ledger import Ledger
from tests.integration.reconciler.journal.journalhub import DRAIN, JournalHub, JournalLeader
from tests.integration.reconciler.replica import put
from tests.support import hubobjects

SPAN_SECONDS = 86_400.0

WORDS = (
    "moved back and forth 2 times within a day between cluster1 and cluster2, mostly"
    " because of cpu;"
    " gitops-dsf backtest --advise shows which stickiness would prevent it"
)


async def flaps(replica: JournalLeader) -> None:
    """From cluster1 to cluster2, back, and to cluster2 again, which always has 60: it leads by 40,
    then trails by 20.
    """
    for cluster, score in (("cluster2", 20), ("cluster1", 80), ("cluster2", 20)):
        await replica.moves(cluster, cluster1=score)
        await asyncio.sleep(300)


async def test_a_noisy_score_is_named(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        calm = replica.flapping.settled_condition("cpu")
        assert calm is not None
        assert (calm.status, calm.reason) == ("True", "NoFlapping")
        await flaps(replica)
        assert replica.returns() == {"cpu": 2.0}
        assert scene.hub.events("Flapping") == [f"it {WORDS}"]
        cpu, mem = (replica.flapping.settled_condition(name) for name in ("cpu", "mem"))
        assert cpu is not None
        assert mem is not None
        assert (cpu.status, cpu.reason, cpu.message) == (
            "False",
            "Flapping",
            f"argocd/guestbook {WORDS}",
        )
        assert mem.status == "True"
        await asyncio.sleep(SPAN_SECONDS)
        assert replica.returns() == {}
        assert len(scene.hub.events("FlappingEnded")) == 1
    assert replica.returns() == {}


def reachable(scene: JournalHub, cluster: str, status: str) -> None:
    """OCM reaches the cluster (True), or not (Unknown)."""
    item = hubobjects.cluster(cluster)
    item["status"]["conditions"][-1]["status"] = status
    taint = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
    item["spec"] |= {"taints": [taint] if status == "Unknown" else []}
    put(scene.hub, item)


async def is_lost_and_returns(
    scene: JournalHub, replica: JournalLeader, cluster: str, refuge: str
) -> None:
    for status, decided in (("Unknown", refuge), ("True", cluster)):
        reachable(scene, cluster, status)
        await replica.view.clusters.refresh()
        await replica.moves(decided)
        await asyncio.sleep(300)


async def test_a_drain_and_a_lost_cluster_blame_no_scorer(scene: JournalHub) -> None:
    """cluster1 is drained and chosen again, and is lost and chosen again, within an hour."""
    async with scene.replica() as replica:
        await replica.pushed(1)
        replica.context.ledger = Ledger((DRAIN,))
        await replica.moves("cluster2", cluster1=78)
        replica.context.ledger = Ledger()
        await asyncio.sleep(300)
        await replica.moves("cluster1", cluster1=80)
        await is_lost_and_returns(scene, replica, "cluster1", "cluster2")
        assert scene.hub.events("Flapping") == []
        assert replica.returns() == {}
        settled = replica.flapping.settled_condition("cpu")
        assert settled is not None
        assert settled.status == "True"
        await replica.pushed(5)
    kinds = [record.cause.kind for record in scene.branch().records if record.cause is not None]
    assert kinds == ["Drain", "Score", "ClusterLost", "Score"]


async def test_a_cluster_that_is_lost_again_and_again_is_blamed_itself(scene: JournalHub) -> None:
    async with scene.replica() as replica:
        await replica.pushed(1)
        for _ in range(2):
            await is_lost_and_returns(scene, replica, "cluster1", "cluster2")
        (told,) = scene.hub.events("Flapping")
        assert told == (
            "it moved back and forth 2 times within a day between cluster1 and cluster2,"
            " mostly because of this: lost cluster: cluster1"
        )
        assert replica.returns() == {"": 2.0}
        settled = replica.flapping.settled_condition("cpu")
        assert settled is not None
        assert settled.status == "True"


async def test_moves_of_a_placement_that_was_deleted_are_not_those_of_the_next_one(
    scene: JournalHub,
) -> None:
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
        assert list(replica.returns().values()) == [2.0], (
            "the new one's own moves back and forth count"
        )
        await replica.pushed(8)
    assert [record.number for record in scene.branch().records] == [1, 2, 3, 1, 2, 3, 4, 5]
