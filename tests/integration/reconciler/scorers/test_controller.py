"""The scorer controller against an API server over HTTP.

What it writes, and how it copes with faults.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dsf_runtime.apiserver import ApiError
from gitops_dsf.reconciler.hub.view import HubView
from tests.integration.reconciler.replica import from_now, read_again, running
from tests.integration.reconciler.scorerhub import (
    LONG_AGO,
    NAMESPACE,
    ScorerHub,
    ScorerLeader,
    leading,
)
from tests.support import hubobjects
from tests.support.apiserver import Object
from tests.support.objecthub import ObjectHub
from tests.support.pageserver import Answer, ConfigPageServer
from tests.support.virtual_time import wall


async def test_a_score_that_was_never_published_is_missing_until_it_is(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu")
    hub.joined("c1", "c2")
    hub.score("c1")
    hub.masks("[]")
    assert await leader.once() == 1
    assert hub.condition("cpu") == (
        "False",
        "Missing",
        "fresh on 1 cluster; missing on 1 cluster (c2)",
    )
    assert leader.metric("scored_clusters", scorer="cpu", state="missing") == 1
    assert leader.metric("score_not_fresh", scorer="cpu", cluster="c2", state="missing") == 1
    assert await leader.once() == 0
    assert hub.events_about("DynamicScorer") == [("cpu", "Missing", 1)]
    hub.score("c2")
    assert await leader.once() == 1
    assert hub.condition("cpu")[:2] == ("True", "Fresh")
    assert leader.metric("scored_clusters", scorer="cpu", state="missing") == 0
    assert leader.metric("score_not_fresh", scorer="cpu", cluster="c2", state="missing") is None
    assert hub.events_about("DynamicScorer") == [("cpu", "Missing", 1), ("cpu", "Fresh", 1)]
    hub.unpublish("c2")
    await leader.once()
    assert hub.condition("cpu")[1] == "Missing", "what was there and is gone is missing, too"


async def test_a_query_scorer_is_not_probed_and_judged_by_its_scores(
    hub: ScorerHub, leader: ScorerLeader, pages: ConfigPageServer
) -> None:
    """Its configURL, which an older version of it had, is not asked either.

    A scoring API that it gets later is probed.
    """
    query = {"type": "Query", "params": {"name": "cpu", "interval": 5}}
    hub.scorer("cpu", scoring=query, configSyncMode="Full")
    hub.joined("c1")
    hub.masks("[]")
    assert await leader.once() == 1
    item = hub.get("dynamicscorers", "cpu", namespace=NAMESPACE)
    assert item is not None
    assert item["status"]["healthStatus"] == "Inactive"
    assert hub.condition("cpu")[:2] == ("False", "NoScores")
    assert "no scoring API" in hub.condition("cpu")[2]
    assert hub.condition("cpu", "Healthy") == hub.condition("cpu", "ConfigSynced") == ("", "", "")
    assert leader.controller.prober.health == {}
    assert leader.metric("scorer_healthy", scorer="cpu") is None
    hub.score("c1")
    assert await leader.once() == 1
    item = hub.get("dynamicscorers", "cpu", namespace=NAMESPACE)
    assert item is not None
    assert item["status"]["healthStatus"] == "Active"
    assert not pages.asked
    hub.scorer("cpu")
    await leader.once()
    assert pages.asked["/healthz"] == 1
    assert hub.condition("cpu", "Healthy")[:2] == ("True", "Answers")


async def test_masks_selectors_and_add_ons_say_where_scores_are_expected(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu", clusterSelector={"matchLabels": {"zone": "x"}})
    hub.joined("c1", "c2", zone="x")
    hub.joined("c3", zone="y")
    hub.cluster("no-agent", zone="x")
    hub.score("c1")
    await leader.once()
    status, reason, message = hub.condition("cpu")
    assert (status, reason) == ("True", "Fresh")
    assert message.startswith(
        "fresh on 1 cluster; missing or masked on 1 cluster (c2): ConfigMap"
        " gitops-dsf-masks is missing"
    )
    hub.masks('[{"clusterName": "c?", "scoreName": "mem"}]')
    await leader.once()
    assert hub.condition("cpu")[1:] == ("Missing", "fresh on 1 cluster; missing on 1 cluster (c2)")
    hub.masks('[{"clusterName": "*2", "scoreName": "cpu"}]')
    await leader.once()
    assert hub.condition("cpu")[1:] == ("Fresh", "fresh on 1 cluster")
    for text in ("not JSON", '[{"scoreName": "cpu"}]'):
        hub.masks(text)
        await leader.once()
        assert hub.condition("cpu")[1] == "Fresh", "the masks that were read last still count"
    hub.refusals["GET configmaps"] = [403]
    await leader.once()
    assert hub.condition("cpu")[1] == "Fresh"


async def test_the_reasons_of_agents_are_counted_in_status_metrics_and_event(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu")
    hub.masks("[]")
    hub.joined("ap-2", "eu-1", "eu-3", "eu-9", "us-1")
    hub.score("eu-1")
    hub.score("us-1")
    at_12 = "parse error at char 12\x1b[2J"
    hub.failing("eu-3", "QueryFailed", at_12)
    hub.failing("eu-9", "QueryFailed", at_12, scored=True)
    hub.failing("ap-2", "FromTheFuture", "x" * 5000)
    assert await leader.once() == 1
    status, reason, message = hub.condition("cpu")
    assert (status, reason) == ("False", "Missing")
    assert message.startswith(
        "scores on 2 of 5 clusters; 2 QueryFailed (eu-3, eu-9): parse error at char 12\\x1b[2J;"
        " 1 FromTheFuture (ap-2): xxx"
    )
    assert message.endswith("x...; the last score still counts on 1 of them")
    assert leader.metric("failing_clusters", scorer="cpu", reason="QueryFailed") == 2
    assert leader.metric("failing_clusters", scorer="cpu", reason="Other") == 1
    assert await leader.once() == 0, "nothing changed"
    for name in ("ap-2", "eu-3", "eu-9"):
        hub.score(name)
    assert await leader.once() == 1
    assert hub.condition("cpu") == ("True", "Fresh", "fresh on 5 clusters")
    assert leader.metric("failing_clusters", scorer="cpu", reason="QueryFailed") is None


async def test_an_object_that_only_says_why_there_is_no_score_is_no_score(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    """Neither expired nor empty, and a Placement counts the cluster as 0 as one without any."""
    hub.scorer("cpu")
    hub.masks("[]")
    hub.joined("c1", "c2")
    hub.score("c1")
    hub.failing("c2", "NoSeries")
    hub.placement("web", decided="c1 c2")
    await leader.once()
    assert hub.condition("cpu")[2].startswith("scores on 1 of 2 clusters; 1 NoSeries (c2)")
    assert leader.metric("scored_clusters", scorer="cpu", state="missing") == 1
    assert leader.metric("scored_clusters", scorer="cpu", state="expired") == 0
    assert leader.metric("placement_missing_scores", placement="web", scorer="cpu") == 1


async def test_what_comes_to_be_expected_has_time(hub: ScorerHub, leader: ScorerLeader) -> None:
    hub.scorer("cpu")
    hub.joined("c1", "c2")
    hub.joined("new", created=from_now(0))
    hub.score("c1")
    hub.masks('[{"clusterName": "c2", "scoreName": "cpu"}]')
    await leader.once()
    assert hub.condition("cpu")[1:] == (
        "Fresh",
        "fresh on 1 cluster; not published yet on 1 cluster (new)",
    )
    hub.masks("[]")
    await asyncio.sleep(60)
    await leader.once()
    assert (
        hub.condition("cpu")[2] == "fresh on 1 cluster; not published yet on 2 clusters (c2, new)"
    )
    hub.placement("web", decided="c1 new")
    await leader.once()
    assert leader.metric("placement_missing_scores", placement="web", scorer="cpu") == 0, "no news"


async def test_counts_that_change_in_each_pass_are_written_once_a_minute(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    """As while a fleet loses its scores. A pass comes every 15 s."""
    clusters = [f"c{number:02}" for number in range(49)]
    hub.scorer("cpu")
    hub.joined(*clusters)
    hub.masks("[]")
    for cluster in clusters:
        hub.score(cluster)
    await leader.once()
    assert hub.condition("cpu")[1] == "Fresh"
    writes: list[int] = []
    for number, cluster in enumerate(clusters[:48]):
        hub.failing(cluster, "SourceUnreachable", scored=True)
        if await leader.once():
            writes.append(number * 15)
        await asyncio.sleep(15)
    assert writes == [60 * minute for minute in range(12)]
    await asyncio.sleep(60)
    assert await leader.once() == 1
    assert "48 SourceUnreachable" in hub.condition("cpu")[2], "the last state is not lost"


async def test_a_new_reason_or_status_is_written_in_the_next_pass(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu")
    hub.joined("c1", "c2")
    hub.masks("[]")
    hub.score("c1")
    hub.score("c2")
    await leader.once()
    for turn, reason in enumerate(["Failing", "Fresh", "Failing", "Fresh"]):
        if turn % 2:
            hub.score("c1")
        else:
            hub.failing("c1", "NoSeries", scored=True)
        assert await leader.once() == 1
        assert hub.condition("cpu")[1] == reason
    hub.scorer("cpu", description="edited")
    assert await leader.once() == 1, "a new generation"


async def test_placements_that_rank_by_a_missing_score_are_named(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu")
    hub.joined("c1", "c2", "c3")
    hub.masks("[]")
    for cluster in ("c1", "c2", "c3"):
        hub.score(cluster)
    hub.placement("web", decided="c1")
    hub.placement("typo", dimension="al", decided="c1")
    await leader.once()
    assert leader.metric("placement_missing_scores", placement="web", scorer="cpu") == 0
    assert leader.metric("placement_missing_scores", placement="typo", scorer="cpu") == 3
    message = "fresh on 3 clusters. Placement typo counts 3 clusters as 0"
    assert hub.condition("cpu") == ("True", "Fresh", message)
    hub.unpublish("c2")
    hub.score("c3", seconds=-5)
    for _ in range(2):
        await leader.once()
    assert leader.metric("placement_missing_scores", placement="web", scorer="cpu") == 2
    assert hub.condition("cpu")[2].endswith(
        ". Placement typo counts 3 clusters as 0; Placement web counts 2 clusters as 0"
    )
    assert hub.events_about("Placement") == [
        ("typo", "ScoresMissing", 1),
        ("web", "ScoresMissing", 1),
    ]
    hub.score("c2")
    hub.score("c3")
    await leader.once()
    assert hub.events_about("Placement")[-1] == ("web", "ScoresComplete", 1)
    messages = hub.events("ScoresMissing")
    assert messages[1].startswith("ranks by cpu, and counts 2 clusters (c2, c3) as 0")


async def test_items_of_moves_are_no_missing_scores_of_a_paced_placement(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    """OCM reads them as a score, and most clusters have none."""
    hub.scorer("cpu")
    hub.joined("c1", "c2", "c3")
    hub.masks("[]")
    for cluster in ("c1", "c2", "c3"):
        hub.score(cluster)
    plain = hubobjects.placement("web", "cpu")
    (term,) = plain["spec"]["prioritizerPolicy"]["configurations"]
    term["scoreCoordinate"]["addOn"]["scoreName"] = "all"
    item = hubobjects.paced(plain)
    hub.put(
        "placements",
        "web",
        namespace=hubobjects.ARGOCD,
        metadata=item["metadata"],
        spec=item["spec"],
    )
    hub.decide("web", "c1")
    await leader.once()
    assert hub.events_about("Placement") == []
    assert set(leader.samples("placement_missing_scores", "scorer")) == {"cpu"}
    hub.unpublish("c2")
    await leader.once()
    (message,) = hub.events("ScoresMissing")
    assert message.startswith("ranks by cpu, and counts 1 cluster (c2) as 0"), (
        "a score that is missing is told"
    )


async def test_what_a_placement_may_choose_changes_with_clusters_decisions_and_the_placement(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu", clusterSelector={"matchLabels": {"runs": "yes"}})
    hub.joined("c1", "c2", runs="yes", zone="x")
    hub.joined("c3", zone="y")
    gone = {"labels": {"runs": "yes", "zone": "x"}, "deletionTimestamp": LONG_AGO}
    hub.put("managedclusters", "gone", metadata=gone)
    hub.score("gone", seconds=-5)
    hub.masks("[]")
    zone_x = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"zone": "x"}}}}
    hub.placement("web", predicates=[zone_x])

    async def counted() -> float | None:
        await leader.once()
        return leader.metric("placement_missing_scores", placement="web", scorer="cpu")

    assert await counted() == 2
    assert await counted() == 2
    hub.joined("c2", runs="yes", zone="y")
    assert await counted() == 1
    hub.placement("web", decided="c2 c3")
    assert await counted() == 3
    hub.score("c3")
    assert await counted() == 2
    hub.score("c3", seconds=-1)
    assert await counted() == 3
    del hub.objects["placements", "argocd", "web"]
    hub.placement("web")
    assert await counted() == 3, "without a predicate it may choose all three"


async def test_a_status_that_the_hub_refuses_does_not_stop_the_others(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    for name in ("a", "b", "c", "d"):
        hub.scorer(name)
    hub.refusals["PATCH dynamicscorers"] = [403, 409, 500]
    assert await leader.once() == 1
    assert hub.patched() == ["a", "b", "c", "d"]
    assert leader.metric("status_patch_failures_total") == 3
    assert await leader.once() == 0, "those that were refused wait before they are tried again"


async def test_a_hub_that_does_not_answer_ends_the_pass(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    for number in range(20):
        hub.scorer(f"s{number:02}")
    hub.refusals["PATCH dynamicscorers"] = [0]
    with pytest.raises(ApiError, match="does not answer"):
        await leader.once()
    assert hub.patched() == ["s00"]
    hub.refusals["PATCH dynamicscorers"] = [503] * 20
    with pytest.raises(ApiError, match="503"):
        await leader.once()
    assert len(hub.patched()) == 2
    hub.refusals.clear()
    assert await leader.once() == 20


async def test_a_leader_that_stops_in_the_middle_leaves_the_rest_to_the_next_and_nothing_twice(
    hub: ScorerHub, pages: ConfigPageServer
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        hub.scorer(name)
        hub.joined("c1")
    pages.pages["/healthz"] = Answer(status=500)
    async with leading(hub) as first:
        work = asyncio.create_task(first.once())
        hub.between = lambda word: (
            work.cancel() if word.startswith("PATCH") and len(hub.patched()) == 3 else None
        )  # type: ignore[func-returns-value]
        await asyncio.gather(work, return_exceptions=True)
        assert work.cancelled()
    hub.between = lambda _: None
    written = hub.patched()
    assert written == ["a", "b", "c"]
    async with leading(hub) as second:
        assert await second.once() == 2
    assert hub.patched() == [*written, "d", "e"]
    # The Event of the one that was under way is lost, not doubled; its condition tells.
    said = [name for name, _, count in hub.events_about("DynamicScorer") for _ in range(count)]
    assert sorted(said) == ["a", "b", "d", "e"]


async def test_the_hubs_clock_decides(pages: ConfigPageServer) -> None:
    for ahead, reason in ((600, "Expired"), (0, "Fresh"), (-600, "Fresh")):
        async with ScorerHub(pages.url) as hub, leading(hub) as leader:
            hub.clock = lambda ahead=ahead: wall() + ahead  # type: ignore[misc]
            hub.scorer("cpu")
            hub.joined("c1")
            hub.score("c1", seconds=300)
            await leader.once()
            assert hub.condition("cpu")[1] == reason
            assert leader.metric("clock_offset_seconds") == pytest.approx(ahead, abs=30)


NOBODY = "http://127.0.0.1:1/config"


def change(hub: ObjectHub, name: str, **spec: object) -> None:
    """As Argo CD does it: the object stays the same one, and has another generation."""
    item: Object | None = hub.get("dynamicscorers", name, namespace=NAMESPACE)
    assert item is not None
    item["spec"] |= spec
    item["metadata"]["generation"] += 1
    hub.list_scorers(NAMESPACE)


@asynccontextmanager
async def probing(hub: ObjectHub) -> AsyncIterator[HubView]:
    """A controller that runs. It learns of changes by `read_again`."""
    async with leading(hub, interval=1000.0) as leader:
        await read_again(leader.view)
        work = asyncio.create_task(leader.controller.run())
        try:
            yield leader.view
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


async def asked(pages: ConfigPageServer, page: str, times: int) -> None:
    async with asyncio.timeout(60):
        while pages.asked[page] < times:  # noqa: ASYNC110 - a counter has no event
            await asyncio.sleep(0.02)


async def test_a_change_of_one_scorer_is_no_probe_of_the_others(
    hub: ScorerHub, pages: ConfigPageServer
) -> None:
    for name in ("one", "two"):
        hub.scorer(name, configURL=f"{pages.url}/{name}", configSyncMode="Full")
    async with probing(hub) as view:
        await asked(pages, "/one", 1)
        await asked(pages, "/two", 1)
        for times in (2, 3):
            change(hub, "one", suspend=times == 2)
            await read_again(view)
            await asked(pages, "/one", times)
        hub.scorer("three", configURL=f"{pages.url}/three", configSyncMode="Full")
        await read_again(view)
        await asked(pages, "/three", 1)
        # Three failures in a row within seconds would be hysteresis in name alone.
        assert (pages.asked["/one"], pages.asked["/two"]) == (3, 1)


async def test_an_api_that_nobody_ever_reached_is_unknown_whatever_the_one_before_it_was(
    hub: ScorerHub, leader: ScorerLeader
) -> None:
    hub.scorer("cpu")
    await leader.once()
    assert hub.condition("cpu", "Healthy")[0] == "True"
    change(hub, "cpu", configURL=NOBODY)
    await leader.once()
    status, reason, message = hub.condition("cpu", "Healthy")
    assert (status, reason) == ("Unknown", "Connection")
    assert message.startswith("never reached from the hub")


async def test_a_new_leader_takes_over_a_verdict_about_this_spec_and_none_about_another(
    pages: ConfigPageServer,
) -> None:
    for generation, status in ((1, "False"), (2, "Unknown")):
        async with ScorerHub(pages.url) as hub:
            hub.scorer("cpu")
            async with leading(hub) as first:
                await first.once()
            # With the same generation: as if the API had stopped.
            change(hub, "cpu", configURL=NOBODY)
            (hub.get("dynamicscorers", "cpu", namespace=NAMESPACE) or {})["metadata"][
                "generation"
            ] = generation
            async with leading(hub) as second:
                await second.once()
            assert hub.condition("cpu", "Healthy")[0] == status


async def test_an_outdated_informer_changes_no_condition_and_no_metric(
    hub: ScorerHub, leader: ScorerLeader, pages: ConfigPageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an informer that hears of no renewal every score expires.

    What probes say is still written.
    """
    query = {"type": "Query", "params": {"name": "mem", "interval": 5}}
    hub.scorer("cpu")
    hub.scorer("mem", scoring=query)
    hub.joined("c1")
    hub.score("c1", seconds=800)
    hub.score("c1", "mem", seconds=800)
    hub.masks("[]")
    hub.placement("web", decided="c1")
    await leader.once()
    scored, mem = hub.condition("cpu"), hub.condition("mem")
    assert scored == ("True", "Fresh", "fresh on 1 cluster")
    assert hub.condition("cpu", "Healthy")[0] == "True"
    hub.ahead += 850
    pages.pages["/healthz"] = Answer(status=503)
    monkeypatch.setattr(type(leader.view.scores), "broken", "the watch of scores is refused")
    assert await leader.once() == 1
    assert hub.condition("cpu", "Healthy")[0] == "False", "probes need no scores"
    assert (hub.condition("cpu"), hub.condition("mem")) == (scored, mem)
    assert leader.metric("scored_clusters", scorer="cpu", state="expired") == 0
    assert hub.events_about("Placement") == []
    hub.scorer("new")
    await leader.once()
    assert hub.condition("new") == (
        "Unknown",
        "NotKnown",
        "what it depends on may be outdated: the watch of scores is refused",
    )
    monkeypatch.undo()
    await leader.once()
    assert hub.condition("cpu")[:2] == ("False", "Expired")
    assert hub.condition("mem")[:2] == ("False", "Expired")
    assert leader.metric("scored_clusters", scorer="cpu", state="expired") == 1


async def test_statuses_of_outdated_scorers_are_not_written(
    hub: ScorerHub, leader: ScorerLeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.scorer("cpu")
    hub.joined("c1")
    monkeypatch.setattr(type(leader.view.scorers), "broken", "the watch is refused")
    await read_again(leader.view)
    async with running(leader.controller):
        await asyncio.sleep(30)
        assert hub.patched() == []
        monkeypatch.undo()
        await asyncio.sleep(30)
        assert hub.patched() != []
