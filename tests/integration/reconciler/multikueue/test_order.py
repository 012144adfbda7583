"""The order of clusters for Kueue, written in virtual time.

Jobs follow the scores, and no job that runs is lost.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gitops_dsf.reconciler.loop import INTERVAL_SECONDS
from tests.integration.reconciler.multikueue.kueuehub import (
    CONFIG,
    CONFIGS,
    MANAGED_BY,
    NAMESPACE,
    OURS,
    REORDER_SECONDS,
    KueueHub,
    leading,
)
from tests.integration.reconciler.replica import in_time
from tests.support.apiserver import failure
from tests.support.hubobjects import HUB


async def listed(hub: KueueHub, names: str) -> None:
    await in_time(lambda: hub.listed() == names.split(), what=f"{names}, not {hub.listed()}")


@asynccontextmanager
async def a_before_b() -> AsyncIterator[KueueHub]:
    """A hub whose list is a, b, and a replica that follows it."""
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub):
            await listed(hub, "a b")
            yield hub


async def burst(hub: KueueHub) -> None:
    """50 jobs in two minutes on three clusters."""
    hub.fleet(a=90, b=70, c=50)
    async with leading(hub):
        await listed(hub, "a b c")
        for number in range(50):
            hub.job(f"job-{number}")
            await asyncio.sleep(2.4)


async def test_the_clusters_are_listed_best_first_and_the_config_is_ours() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=10, b=90, c=40)
        async with leading(hub) as replica:
            await listed(hub, "b c a")
            config = hub.config()
            assert config is not None
            assert config["metadata"]["labels"] == {MANAGED_BY: OURS}
            written = hub.stored().written
            assert written.placement == "kueue-system/gpu-jobs"
            assert written.points == {"a": 10.0, "b": 90.0, "c": 40.0}
            assert written.reason == "b joined; c joined; a joined"
            assert hub.writes.count("POST MultiKueueConfig gpu-jobs") == 1
            await asyncio.sleep(30)
            assert replica.metric("multikueue_first", config=CONFIG, cluster="b") == 1
            assert replica.metric("multikueue_left_out", config=CONFIG) == 0
            await replica.events_written()
        assert hub.events("ClustersOrdered") == [
            "MultiKueueConfig gpu-jobs has the clusters b, c, a: b joined; c joined; a joined"
        ]
        event = next(item for key, item in hub.objects.items() if key[0] == "events")
        assert event["metadata"]["namespace"] == NAMESPACE
        assert event["involvedObject"]["uid"] == "uid-gpu-jobs"


async def test_when_the_score_turns_the_next_job_goes_elsewhere_and_the_first_one_runs_on() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub) as replica:
            await listed(hub, "a b")
            assert hub.job("first") == "a"
            hub.score("a", 10)
            await listed(hub, "b a")
            assert hub.job("second") == "b"
            assert hub.where("first") == "a"
            assert replica.metric("multikueue_reorders_total", config=CONFIG) == 2
        assert hub.killed == []
        assert hub.broken == []


async def test_a_list_that_is_right_is_looked_at_every_ten_seconds() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=80, b=50)
        async with leading(hub):
            await listed(hub, "a b")
            # Until the list may be ordered again.
            await asyncio.sleep(REORDER_SECONDS)
            hub.asked.clear()
            await asyncio.sleep(600)
            assert 55 <= hub.asked.count(f"GET {CONFIGS}/{CONFIG}") <= 61
            hub.score("b", 95)
            await asyncio.sleep(INTERVAL_SECONDS + 1)
            assert hub.listed() == ["b", "a"]
        assert hub.broken == []


async def test_scores_that_flap_within_the_stickiness_change_nothing() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=45, c=40)
        async with leading(hub):
            await listed(hub, "a b c")
            for number in range(100):
                hub.score("b", 59 if number % 2 else 41)
                await asyncio.sleep(20)
        assert hub.lists == [("a", "b", "c")]


async def test_scores_that_turn_all_the_time_order_once_in_the_time() -> None:
    async with KueueHub(demand=0) as hub:
        hub.fleet(a=50, b=45)
        async with leading(hub):
            await listed(hub, "a b")
            for number in range(120):
                hub.score("a", 100 if number % 2 else -100)
                await asyncio.sleep(5)
        assert hub.broken == []
        assert 2 <= len(hub.lists) <= 11


@pytest.mark.parametrize("what", ["tainted", "less good", "without a MultiKueueCluster"])
async def test_a_cluster_with_jobs_stays_listed(what: str) -> None:
    async with a_before_b() as hub:
        hub.job("long", where="a")
        if what == "tainted":
            hub.eligible("b")
        elif what == "less good":
            hub.score("a", -100)
        else:
            hub._forget(("multikueueclusters", "", "a"))
        await listed(hub, "b a")
        await asyncio.sleep(600)
        assert hub.listed() == ["b", "a"]
        if what == "tainted":
            hub.finish("long")
            await listed(hub, "b")
            hub.eligible("a", "b")
            await listed(hub, "a b")
    assert hub.killed == []
    assert hub.broken == []


async def test_a_cluster_leaves_when_its_managedcluster_is_gone_and_its_jobs_go_elsewhere() -> None:
    async with a_before_b() as hub:
        hub.job("long", where="a")
        hub._forget(("managedclusters", "", "a"))
        hub.eligible("b")
        await listed(hub, "b")
    assert hub.where("long") == "b"
    assert hub.broken == []


@pytest.mark.parametrize("absent", ["decision", "empty decision", "scores", "MultiKueueClusters"])
async def test_absence_keeps_the_list(absent: str) -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=40, c=10)
        async with leading(hub):
            await listed(hub, "a b c")
            if absent == "decision":
                hub._forget(("placementdecisions", NAMESPACE, "gpu-jobs-decision-1"))
            elif absent == "empty decision":
                hub.eligible()
            elif absent == "scores":
                hub.score("a", 90, seconds=-1)
            else:
                for name in "abc":
                    hub._forget(("multikueueclusters", "", name))
            await asyncio.sleep(600)
            assert hub.listed() == ["a", "b", "c"]
        assert len(hub.lists) == 1


async def test_a_burst_of_jobs_spreads_by_what_the_scores_have_room_for() -> None:
    # Each job takes 5 points that no score shows for an hour.
    async with KueueHub(delay=3600, stickiness=0, reorder_seconds=5) as hub:
        await burst(hub)
        spread = Counter(hub.running().values())
        # By the headroom: 90, 70 and 50 points less 5 for each job, all equal in the end.
        assert all(
            abs(spread[name] - count) <= 2 for name, count in (("a", 21), ("b", 17), ("c", 13))
        )
        assert hub.broken == []


async def test_without_a_demand_a_burst_queues_on_the_best_cluster() -> None:
    async with KueueHub(demand=0, delay=3600, stickiness=0, reorder_seconds=5) as hub:
        await burst(hub)
        assert Counter(hub.running().values()) == {"a": 50}


async def test_jobs_that_wait_for_one_cluster_count_as_well() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=90, b=70)
        async with leading(hub):
            await listed(hub, "a b")
            for number in range(7):
                hub.nominate(f"job-{number}", "a")
            await listed(hub, "b a")
            for number in range(7):
                hub.nominate(f"job-{number}", "a", "b")
            await listed(hub, "a b")


async def test_a_cluster_that_kueue_does_not_reach_is_last_at_once_and_keeps_its_jobs() -> None:
    async with KueueHub(reorder_seconds=600) as hub:
        hub.fleet(a=90, b=40)
        async with leading(hub):
            await listed(hub, "a b")
            hub.job("long", where="a")
            hub.lose("a")
            await asyncio.sleep(15)
            assert hub.listed() == ["b", "a"]
            hub.lose("a", returns=True)
            await asyncio.sleep(60)
            assert hub.listed() == ["b", "a"]
            await asyncio.sleep(600)
            assert hub.listed() == ["a", "b"]
        assert hub.killed == []
        assert hub.broken == []


async def test_a_cluster_for_which_a_job_waits_stays_listed() -> None:
    async with a_before_b() as hub:
        hub.nominate("waits", "a")
        hub.eligible("b")
        await asyncio.sleep(600)
        assert hub.listed() == ["b", "a"]
        hub.nominate("waits", "b")
        await listed(hub, "b")


async def test_jobs_whose_check_was_deleted_keep_their_cluster_listed() -> None:
    async with a_before_b() as hub:
        hub.job("long", where="a")
        hub._forget(("admissionchecks", "", "multikueue"))
        hub.eligible("b")
        await asyncio.sleep(600)
        assert hub.listed() == ["b", "a"]
    assert hub.killed == []


async def test_a_new_cluster_is_listed_at_once_and_rises_when_it_is_time() -> None:
    async with KueueHub(reorder_seconds=600) as hub:
        hub.fleet(a=50, b=40)
        async with leading(hub):
            await listed(hub, "a b")
            hub.cluster("new", 90)
            hub.eligible("a", "b", "new")
            await asyncio.sleep(30)
            assert hub.listed() == ["a", "b", "new"]
            await asyncio.sleep(600)
            assert hub.listed() == ["new", "a", "b"]
        assert hub.broken == []


async def test_of_more_than_twenty_clusters_the_best_are_listed_and_the_others_told() -> None:
    async with KueueHub() as hub:
        hub.fleet(**{f"c{number:02}": 100 - number for number in range(23)})
        async with leading(hub) as replica:
            await in_time(lambda: len(hub.listed()) == 20, what="twenty clusters")
            await asyncio.sleep(30)
            assert hub.listed() == [f"c{number:02}" for number in range(20)]
            assert replica.metric("multikueue_left_out", config=CONFIG) == 3
            await replica.events_written()
        assert hub.events("ClustersLeftOut") == [
            (
                "MultiKueueConfig gpu-jobs has no room for 3 eligible clusters (c20, c21, c22):"
                " Kueue allows 20 clusters"
            )
        ]


async def test_what_somebody_edits_is_set_right_and_told() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=45, c=40)
        async with leading(hub) as replica:
            await listed(hub, "a b c")
            hub.job("long", where="b")
            await asyncio.sleep(100)
            hub.edit("c", "b")
            await asyncio.sleep(60)
            assert hub.listed() == ["a", "b", "c"]
            await replica.events_written()
        assert hub.events("MultiKueueConfigEdited", "Warning") == [
            (
                "somebody else changed spec.clusters of MultiKueueConfig gpu-jobs; the reconciler"
                " restores the list, because it alone writes it"
            )
        ]
        assert hub.broken == []


async def test_somebody_who_edits_all_the_time_is_answered_once_in_the_time() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=45)
        async with leading(hub):
            await listed(hub, "a b")
            for _ in range(120):
                hub.edit("b", "a")
                await asyncio.sleep(5)
        assert hub.broken == []
        assert 5 <= hub.lists.count(("a", "b")) <= 11


async def test_a_deleted_config_comes_back_with_the_clusters_that_have_jobs() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=40, c=30)
        async with leading(hub):
            await listed(hub, "a b c")
            hub.job("long", where="c")
            hub.eligible("a", "b")
            await listed(hub, "a b c")
            hub.delete_config()
            await in_time(hub.listed, what="the config")
            assert hub.listed() == ["a", "b", "c"]
        assert hub.killed == []


async def test_a_config_of_somebody_else_is_never_written_and_told_once() -> None:
    async with KueueHub() as hub:
        hub.put(CONFIGS, CONFIG, spec={"clusters": ["c", "a"]})
        hub.fleet(a=50, b=40, c=30)
        async with leading(hub) as replica:
            await asyncio.sleep(600)
            assert hub.listed() == ["c", "a"]
            assert replica.metric("multikueue_refused", config=CONFIG) == 1
            await replica.events_written()
            assert [word for word in hub.writes if "MultiKueueConfig" in word] == []
            assert hub.events("MultiKueueConfigNotOurs", "Warning") == [
                (
                    "MultiKueueConfig gpu-jobs belongs to another program, so its clusters are not"
                    " ordered: it does not have the label"
                    " app.kubernetes.io/managed-by=gitops-dsf-reconciler; name another config in"
                    " spec.multiKueue, or set the label"
                )
            ]
            assert "PATCH" not in "".join(hub.writes)
            hub.someone_else = True
            hub.put(
                CONFIGS, CONFIG, metadata={"labels": {MANAGED_BY: OURS}}, spec={"clusters": ["c"]}
            )
            hub.someone_else = False
            await asyncio.sleep(60)
            assert hub.listed()[0] == "a"
            assert replica.metric("multikueue_refused", config=CONFIG) is None


async def test_of_two_placements_one_orders_the_config() -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=40)
        async with leading(hub) as replica:
            await listed(hub, "a b")
            hub.want("another")
            hub.eligible("b", name="another")
            await asyncio.sleep(600)
            assert hub.listed() == ["a", "b"]
            assert replica.metric("multikueue_refused", config=CONFIG) == 1
            await replica.events_written()
        assert hub.events("MultiKueueConfigTaken", "Warning") == [
            (
                "MultiKueueConfig gpu-jobs is ordered by Placement kueue-system/gpu-jobs, so this"
                " Placement orders nothing; name another config in spec.multiKueue"
            )
        ]


async def test_a_hub_without_kueue_gets_one_event_and_its_order_when_kueue_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with KueueHub() as hub:
        hub.fleet(a=50, b=40)
        hub.list_scorers(HUB)
        has_kueue = False
        caplog.set_level("INFO")
        hub.before = lambda seen: (
            failure(404, "not found") if "kueue.x-k8s.io" in seen.path and not has_kueue else None
        )
        async with leading(hub) as replica:
            await asyncio.sleep(3600)
            await replica.events_written()
            assert hub.events("KueueMissing", "Warning") == [
                (
                    "MultiKueueConfig gpu-jobs is not written: the hub does not serve"
                    " kueue.x-k8s.io/v1beta2; install Kueue 0.19 or newer"
                )
            ]
            lines = [
                record.getMessage()
                for record in caplog.records
                if record.name.startswith("gitops_dsf") and "kueue.x-k8s.io" in record.getMessage()
            ]
            assert len(lines) == 1
            assert replica.view.waits_for == ""
            has_kueue = True
            await listed(hub, "a b")
            has_kueue = False
            hub.tell_watches("workloads", {"type": "ERROR", "object": {"code": 410}})
            await asyncio.sleep(300)
            assert "workloads" not in hub.watching
            assert replica.metric("watch_broken", resource="workloads") is None
        assert hub.lists == [("a", "b")]


async def test_a_hub_without_such_a_placement_is_not_asked_for_kueue() -> None:
    async with KueueHub() as hub:
        hub.cluster("a", 50)
        async with leading(hub):
            await asyncio.sleep(3600)
        assert not [seen for seen in hub.seen if "kueue.x-k8s.io" in seen.path]
