"""Score garbage collection against an API server over HTTP: which scores it deletes, how many, and what it
reads again before each deletion.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.fence import QUIET_SECONDS
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scoregc.controller import CONFIRM_SECONDS, FOREIGN_SECONDS, ScoreGarbageCollector
from gitops_dsf.reconciler.scoregc.limit import DAY
from tests.support import virtual_time
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.waiting import for_a_while, until

NAMESPACE, SCORE = "hub", "cpu-score"
INTERVAL = 0.02
TTL = 100.0
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}


class DeadScoreHub:
    """Twenty clusters without the agent's add-on, whose scores of `cpu` expired long ago; and a clock that a
    test moves.
    """

    def __init__(self, server: ObjectHub) -> None:
        self.server = server
        self.now = 1_000.0
        self.claim = FixedClaim()
        self.metrics = Metrics()
        scoring = {"params": {"name": "cpu_score"}}
        self.server.put(
            "dynamicscorers",
            "cpu",
            namespace=NAMESPACE,
            spec={"scoring": scoring, "scoreTTLSeconds": int(TTL)},
        )
        for number in range(20):
            self.cluster(f"c{number:02}")
            self.score(f"c{number:02}", -TTL - 100 + number)

    def cluster(self, name: str, available: str = "True") -> None:
        status = {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": available}]}
        self.server.put("managedclusters", name, status=status)

    def agent(self, cluster: str, available: str = "True") -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.server.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(
        self, cluster: str, seconds: float, *, name: str = SCORE, labels: dict[str, str] = OURS
    ) -> None:
        """It expires so many seconds from now."""
        until = datetime.fromtimestamp(int(virtual_time.wall() + seconds), tz=UTC).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
        status = {"validUntil": until, "scores": [{"name": "all", "value": 1}]}
        self.server.put(
            "addonplacementscores", name, namespace=cluster, metadata={"labels": labels}, status=status
        )

    def left(self, name: str = SCORE) -> list[str]:
        return sorted(
            place
            for kind, place, each in self.server.objects
            if kind == "addonplacementscores" and each == name
        )

    def removed(self) -> list[str]:
        return sorted({f"c{number:02}" for number in range(20)} - set(self.left()))

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)

    @property
    def dead(self) -> float | None:
        """Dead scores in the last pass."""
        return self.metric("dead_scores", scorer="cpu")

    @property
    def deletions(self) -> list[str]:
        return [word for word in self.server.asked if word.startswith("DELETE")]

    @asynccontextmanager
    async def collecting(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Runs the collector. The function it yields reads the lists anew, and lets several passes go by."""
        async with self.server.api(claim=self.claim, clock=lambda: self.now) as api:
            view = self.view = HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace="argocd")
            events = Events(api=api, metrics=self.metrics.events)
            collector = ScoreGarbageCollector(
                api=api,
                view=view,
                metrics=self.metrics.scoregc,
                events=events,
                interval=INTERVAL,
                clock=lambda: self.now,
            )

            async def again() -> None:
                for source in (view.scorers, view.scores, view.clusters, view.addons):
                    await source.refresh()
                await for_a_while(10 * INTERVAL)

            task = asyncio.create_task(collector.run())
            try:
                assert not collector.ready
                await again()
                assert collector.ready
                yield again
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def play(test: Callable[[DeadScoreHub], Awaitable[None]]) -> None:
    async def go() -> None:
        async with ObjectHub() as server:
            await test(DeadScoreHub(server))

    virtual_time.run(go())


def test_a_tenth_per_ttl_the_oldest_first_and_never_more_after_a_restart() -> None:
    async def test(hub: DeadScoreHub) -> None:
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += TTL - 1
            await again()
            assert hub.removed() == []
            hub.now += 1
            await until(lambda: hub.removed() == ["c00", "c01"])
            hub.now += TTL - 1
            await again()
            assert hub.removed() == ["c00", "c01"]
        assert hub.dead is None, "another leader tells"
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 18)
            hub.now += TTL - 1
            await again()
            assert hub.removed() == ["c00", "c01"], "what the one before it removed is not known"
            hub.now += 1
            await until(lambda: len(hub.server.events("DeadScoresRemoved")) == 2)
            await again()
            assert hub.removed() == ["c00", "c01", "c02"], "a tenth of 18 is one"
            assert hub.dead == 17
            assert hub.metric("dead_scores_removed_total", scorer="cpu") == 3
        why = "(the agent's add-on is not installed)"
        assert hub.server.events("DeadScoresRemoved") == [
            f"deleted expired scores that no agent renews: c00 {why}, c01 {why}",
            f"deleted expired scores that no agent renews: c02 {why}",
        ]

    play(test)


def test_what_lives_is_left() -> None:
    async def test(hub: DeadScoreHub) -> None:
        for number in range(20):
            hub.agent(f"c{number:02}")
        hub.score("c03", 600)
        hub.score("c04", -1)
        for name in ("c03", "c04"):
            hub.agent(name, "False")
        async with hub.collecting() as again:
            hub.now += 10 * TTL
            await again()
            assert (hub.removed(), hub.dead) == ([], None)
            hub.agent("c05", "Unknown")
            await again()
            await until(lambda: hub.dead == 1)
            assert hub.removed() == [], "the add-on may be back in a moment"
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.removed() == ["c05"])
            hub.cluster("c06", "Unknown")
            await again()
            await until(lambda: hub.dead == 1)
            hub.now += TTL
            await until(lambda: hub.removed() == ["c05", "c06"])
            await again()
            assert (hub.removed(), hub.dead) == (["c05", "c06"], None)

    play(test)


def test_what_changed_since_the_lists_is_left() -> None:
    async def test(hub: DeadScoreHub) -> None:
        def renewed() -> None:
            hub.score("c00", 600)

        def back() -> None:
            for cluster in hub.left():
                hub.agent(cluster)

        for change in (renewed, back):
            async with hub.collecting():
                await until(lambda: hub.dead)
                change()  # the lists are not read again
                before = len(hub.removed())
                hub.now += TTL
                await for_a_while(10 * INTERVAL)
                assert "c00" not in hub.removed()
                if change is back:
                    assert len(hub.removed()) == before
        assert hub.removed() == ["c01", "c02"]

    play(test)


def test_the_hub_removes_what_was_read_or_nothing() -> None:
    async def test(hub: DeadScoreHub) -> None:
        def somebody(word: str) -> None:
            if word == "DELETE addonplacementscores":
                for cluster in hub.left():
                    hub.score(cluster, 600)

        hub.server.between = somebody
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += TTL
            await until(lambda: hub.deletions)
            await again()
        assert hub.removed() == []
        assert hub.metric("dead_scores_removed_total", scorer="cpu") is None

    play(test)


def test_scores_of_others_are_left_for_ever_and_read_once_an_hour() -> None:
    async def test(hub: DeadScoreHub) -> None:
        for cluster in hub.left():
            hub.score(
                cluster, -DAY, labels={"app.kubernetes.io/managed-by": "somebody"} if cluster < "c10" else {}
            )
        hub.score("c00", -2 * DAY, name="resource-usage-score", labels={})
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += 2 * DAY
            await until(lambda: hub.dead is None)
            assert hub.metric("dead_scores", scorer="resource-usage-score") is None
            asked = len(hub.server.asked)
            await again()
            assert len(hub.server.asked) == asked + 4, "the lists, and nothing else"
            hub.score("c00", -DAY)
            hub.now += FOREIGN_SECONDS
            await until(lambda: hub.removed() == ["c00"])
            await again()
        assert hub.deletions == [f"DELETE addonplacementscores/{SCORE}"]

    play(test)


def test_a_scorer_that_is_gone_leaves_scores_for_a_day() -> None:
    async def test(hub: DeadScoreHub) -> None:
        del hub.server.objects["dynamicscorers", NAMESPACE, "cpu"]
        hub.score("c07", -DAY - 60)
        async with hub.collecting() as again:
            await until(lambda: hub.metric("dead_scores", scorer=SCORE) == 1)
            hub.now += DAY - 1
            await again()
            assert hub.removed() == []
            hub.now += 1
            await until(lambda: hub.removed() == ["c07"])
            await again()
            assert hub.metric("dead_scores", scorer=SCORE) is None
            assert hub.server.events("DeadScoresRemoved") == []

    play(test)


def test_without_the_hubs_time_nothing_is_expired() -> None:
    async def test(hub: DeadScoreHub) -> None:
        hub.server.clock = None
        async with hub.collecting() as again:
            hub.now += 10 * TTL
            await again()
            assert hub.dead is None
            hub.server.clock = lambda: virtual_time.wall() - 150
            await again()
            assert hub.dead is None, "by the hub's clock they have not been expired for a TTL"
            hub.server.clock = virtual_time.wall
            await again()
            await until(lambda: hub.dead == 20)
            hub.server.clock = None
            hub.now += CONFIRM_SECONDS
            await again()
            assert hub.deletions == []

    play(test)


def test_the_hubs_time_must_be_known_to_the_last() -> None:
    async def test(hub: DeadScoreHub) -> None:
        def silent(word: str) -> None:
            if word == "GET managedclusteraddons" and hub.server.asked[-1] == word:
                hub.server.clock = None if armed else virtual_time.wall

        armed = False
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.server.between = silent
            armed = True
            hub.now += TTL
            await until(lambda: hub.server.clock is None)
            await for_a_while(10 * INTERVAL)
            assert hub.deletions == []
            armed = False
            await again()
            await until(lambda: len(hub.removed()) == 2)

    play(test)


def test_a_refusal_does_not_count_and_silence_does() -> None:
    async def test(hub: DeadScoreHub) -> None:
        hub.server.refusals = {"DELETE addonplacementscores": [400, 409, 0, 500]}
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += TTL
            for sent in (3, 4):
                await until(lambda sent=sent: len(hub.deletions) == sent)
                await until(lambda: hub.metric("dead_scores_blocked", reason="DeletionUnanswered") == 1)
                await again()
                assert len(hub.deletions) == sent, "it may still take effect"
                hub.now += QUIET_SECONDS
            await again()
            assert len(hub.deletions) == 4
            assert (hub.removed(), hub.dead) == ([], 20), "without an answer two may be gone already"
            hub.server.refusals = {"GET addonplacementscores": [500, 0]}
            hub.now += TTL
            await until(lambda: hub.removed() == ["c00", "c01"])

    play(test)


def test_a_new_leader_waits_for_what_the_one_before_may_have_sent() -> None:
    async def test(hub: DeadScoreHub) -> None:
        hub.claim.quiet = 20.0
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += TTL
            await until(lambda: hub.metric("dead_scores_blocked", reason="LeadershipNew") == 1)
            await again()
            assert hub.removed() == []
            hub.claim.quiet = 0.0
            await until(lambda: hub.removed() == ["c00", "c01"])
            await again()
            assert hub.metric("dead_scores_blocked", reason="LeadershipNew") is None

    play(test)


def test_a_watch_that_the_hub_refuses_stops_every_removal_until_it_is_back() -> None:
    async def test(hub: DeadScoreHub) -> None:
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.server.refusals["WATCH managedclusters"] = [403] * 1000
            follow = asyncio.create_task(hub.view.clusters.run())
            await until(lambda: hub.metric("dead_scores_blocked", reason="InformerBroken") == 1)
            hub.now += TTL
            await again()
            assert hub.removed() == []
            hub.server.refusals.clear()
            await until(lambda: hub.removed() == ["c00", "c01"])
            follow.cancel()
            await asyncio.gather(follow, return_exceptions=True)

    play(test)


@pytest.mark.parametrize(
    "word", ["GET addonplacementscores", "GET managedclusters", "GET managedclusteraddons"]
)
def test_a_claim_that_ends_while_a_removal_reads_costs_no_score(word: str) -> None:
    """As when the process is stopped at that await. The claim that is back again shows that nothing was
    counted as removed.
    """

    async def test(hub: DeadScoreHub) -> None:
        ended: list[str] = []

        def meanwhile(asked: str) -> None:
            if asked == word and not ended:
                ended.append(asked)
                hub.claim.seconds = 0.0

        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.server.between = meanwhile
            hub.now += TTL
            await until(lambda: hub.metric("dead_scores_blocked", reason="LeaseNotHeld") == 1)
            assert (ended, hub.deletions, hub.removed()) == ([word], [], [])
            hub.claim.seconds = 1000.0
            await again()
            await until(lambda: hub.removed() == ["c00", "c01"])

    play(test)


def test_a_cluster_that_cannot_be_read_is_not_one_that_is_gone() -> None:
    async def test(hub: DeadScoreHub) -> None:
        unreadable = {"creationTimestamp": "0000-01-01T00:00:00Z"}
        hub.server.put("managedclusters", "c00", metadata=unreadable)
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += TTL
            await until(lambda: hub.removed() == ["c01", "c02"])
            await again()
            assert "c00" in hub.left()

    play(test)
