"""Score garbage collection against an API server over HTTP: which scores it deletes, and what it reads again
before each deletion.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scoregc.candidates import DAY
from gitops_dsf.reconciler.scoregc.controller import CONFIRM_SECONDS, KEPT_SECONDS, ScoreGarbageCollector
from gitops_dsf.reconciler.shared import Shared
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
        async with self.server.api(claim=self.claim) as api:
            shared = Shared(
                api=api,
                metrics=self.metrics,
                hub_namespace=NAMESPACE,
                argocd_namespace="argocd",
                clock=lambda: self.now,
            )
            view = self.view = shared.view
            shared.scanner = ScoreScanner(view=view, now=api.now, seconds=INTERVAL)
            collector = ScoreGarbageCollector(shared, interval=INTERVAL)

            async def again() -> None:
                for source in (view.scorers, view.scores, view.clusters, view.addons):
                    await source.refresh()
                await for_a_while(10 * INTERVAL)

            task = asyncio.create_task(collector.run())
            try:
                await again()
                yield again
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def play(test: Callable[[DeadScoreHub], Awaitable[None]]) -> None:
    async def go() -> None:
        async with ObjectHub() as server:
            await test(DeadScoreHub(server))

    virtual_time.run(go())


def test_what_nobody_renews_goes_and_is_told() -> None:
    async def test(hub: DeadScoreHub) -> None:
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += CONFIRM_SECONDS - 1
            await again()
            assert hub.removed() == [], "the add-ons may be back in a moment"
            hub.now += 1
            await until(lambda: hub.left() == [])
            await again()
            assert hub.dead is None
            assert hub.metric("dead_scores_removed_total", scorer="cpu") == 20
        why = "(the agent's add-on is not installed)"
        (message,) = hub.server.events("DeadScoresRemoved")
        assert message == (
            "deleted expired scores that no agent renews: "
            f"c00 {why}, c01 {why}, c02 {why}, c03 {why}, c04 {why} and 15 more"
        )

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
            hub.cluster("c06", "Unknown")
            await again()
            await until(lambda: hub.dead == 2)
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.removed() == ["c05", "c06"])
            await again()
            assert (hub.removed(), hub.dead) == (["c05", "c06"], None)

    play(test)


@pytest.mark.parametrize(
    "change",
    [
        lambda hub, name: hub.score(name, 600),
        lambda hub, name: hub.score(name, -TTL + 10),
        lambda hub, name: hub.agent(name),
        lambda hub, name: hub.score(name, -DAY, labels={}),
        lambda hub, name: hub.score(name, -DAY, labels={"app.kubernetes.io/managed-by": "somebody"}),
        lambda hub, name: hub.server.objects["addonplacementscores", name, SCORE].update(status={}),
        lambda hub, name: hub.server.put(
            "managedclusters", name, metadata={"creationTimestamp": "0000-01-01T00:00:00Z"}
        ),
    ],
    ids=["renewed", "expired later", "agent back", "nobody's", "somebody's", "endless", "unreadable"],
)
def test_what_changed_since_the_lists_is_left(change: Callable[[DeadScoreHub, str], None]) -> None:
    async def test(hub: DeadScoreHub) -> None:
        async with hub.collecting():
            await until(lambda: hub.dead == 20)
            change(hub, "c07")  # the lists are not read again
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.left() == ["c07"])
            await for_a_while(10 * INTERVAL)
            assert (hub.left(), len(hub.deletions)) == (["c07"], 19)

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
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.deletions)
            await again()
        assert hub.removed() == []
        assert hub.metric("dead_scores_removed_total", scorer="cpu") is None

    play(test)


def test_scores_of_others_are_left_for_ever_and_read_once_an_hour() -> None:
    async def test(hub: DeadScoreHub) -> None:
        for cluster in hub.left():
            hub.score(cluster, -DAY, labels={})
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.dead is None)
            asked = len(hub.server.asked)
            await again()
            assert len(hub.server.asked) == asked + 4, "the lists, and nothing else"
            hub.score("c00", -DAY)
            hub.now += KEPT_SECONDS
            await until(lambda: hub.removed() == ["c00"])
        assert hub.deletions == [f"DELETE addonplacementscores/{SCORE}"]

    play(test)


def test_a_scorer_that_is_gone_leaves_scores_for_a_day() -> None:
    async def test(hub: DeadScoreHub) -> None:
        del hub.server.objects["dynamicscorers", NAMESPACE, "cpu"]
        hub.score("c07", -DAY - 60)
        async with hub.collecting():
            await until(lambda: hub.metric("dead_scores", scorer=SCORE) == 1)
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.removed() == ["c07"])
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


def test_a_refusal_concerns_one_score_and_silence_ends_the_pass() -> None:
    async def test(hub: DeadScoreHub) -> None:
        hub.server.refusals = {"DELETE addonplacementscores": [403, 0]}
        async with hub.collecting():
            await until(lambda: hub.dead == 20)
            hub.now += CONFIRM_SECONDS
            await until(lambda: hub.left() == ["c00"])
            hub.now += KEPT_SECONDS
            await until(lambda: hub.left() == [])

    play(test)


def test_a_watch_that_the_hub_refuses_stops_every_removal_until_it_is_back() -> None:
    async def test(hub: DeadScoreHub) -> None:
        async with hub.collecting() as again:
            await until(lambda: hub.dead == 20)
            hub.server.refusals["WATCH managedclusters"] = [403] * 1000
            follow = asyncio.create_task(hub.view.clusters.run())
            await until(lambda: hub.view.clusters.broken)
            hub.now += CONFIRM_SECONDS
            await again()
            assert hub.removed() == []
            hub.server.refusals.clear()
            await until(lambda: hub.left() == [])
            follow.cancel()
            await asyncio.gather(follow, return_exceptions=True)

    play(test)


@pytest.mark.parametrize(
    "word", ["GET addonplacementscores", "GET managedclusters", "GET managedclusteraddons"]
)
def test_a_claim_that_ends_while_a_removal_reads_costs_no_score(word: str) -> None:
    """As when the process is stopped at that await."""

    async def test(hub: DeadScoreHub) -> None:
        ended: list[str] = []

        def meanwhile(asked: str) -> None:
            if asked == word and not ended:
                ended.append(asked)
                hub.claim.seconds = 0.0

        async with hub.collecting():
            await until(lambda: hub.dead == 20)
            hub.server.between = meanwhile
            hub.now += CONFIRM_SECONDS
            await until(lambda: ended)
            await for_a_while(10 * INTERVAL)
            assert (hub.deletions, hub.removed()) == ([], [])
            hub.claim.seconds = 1000.0
            await until(lambda: hub.left() == [])

    play(test)
