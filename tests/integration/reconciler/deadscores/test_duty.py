"""The dead-scores duty against an API server over HTTP: what it removes, how many, and what it looks at again
before.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from gitops_dsf.reconciler.deadscores.allowance import DAY
from gitops_dsf.reconciler.deadscores.duty import FOREIGN_SECONDS, STAND_SECONDS, DeadScoresDuty
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.fence import QUIET_SECONDS
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from tests.support import virtual_time
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.waiting import for_a_while, until

NAMESPACE, SCORE = "hub", "cpu-score"
LOOK = 0.02
TTL = 100.0
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent"}


class Scene:
    """Twenty clusters whose score of `cpu` ended long ago, all without an add-on; and a clock that a test
    moves.
    """

    def __init__(self, hub: ObjectHub) -> None:
        self.hub = hub
        self.now = 1_000.0
        self.claim = FixedClaim()
        self.metrics = Metrics()
        scoring = {"params": {"name": "cpu_score"}}
        self.hub.put(
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
        self.hub.put("managedclusters", name, status=status)

    def agent(self, cluster: str, available: str = "True") -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.hub.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(
        self, cluster: str, seconds: float, *, name: str = SCORE, labels: dict[str, str] = OURS
    ) -> None:
        """It ends so many seconds from now."""
        until = datetime.fromtimestamp(int(time.time() + seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"validUntil": until, "scores": [{"name": "all", "value": 1}]}
        self.hub.put(
            "addonplacementscores", name, namespace=cluster, metadata={"labels": labels}, status=status
        )

    def left(self, name: str = SCORE) -> list[str]:
        return sorted(
            place for kind, place, each in self.hub.objects if kind == "addonplacementscores" and each == name
        )

    def removed(self) -> list[str]:
        return sorted({f"c{number:02}" for number in range(20)} - set(self.left()))

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"gitops_dsf_reconciler_{name}", labels)

    @property
    def dead(self) -> float | None:
        """As the last look counted them."""
        return self.metric("dead_scores", scorer="cpu")

    @property
    def deletions(self) -> list[str]:
        return [word for word in self.hub.asked if word.startswith("DELETE")]

    @asynccontextmanager
    async def duty(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Runs it; what is yielded reads the lists anew and gives it the time for several looks."""
        async with self.hub.api(claim=self.claim, clock=lambda: self.now) as api:
            view = self.view = HubView(api=api, hub_namespace=NAMESPACE, argocd_namespace="argocd")
            events = Events(api=api, metrics=self.metrics.events)
            duty = DeadScoresDuty(
                api=api,
                view=view,
                metrics=self.metrics,
                events=events,
                look_seconds=LOOK,
                clock=lambda: self.now,
            )

            async def again() -> None:
                for source in (view.scorers, view.scores, view.clusters, view.addons):
                    await source.refresh()
                await for_a_while(10 * LOOK)

            task = asyncio.create_task(duty.run())
            try:
                assert not duty.ready
                await again()
                assert duty.ready
                yield again
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def play(test: Callable[[Scene], Awaitable[None]]) -> None:
    async def go() -> None:
        async with ObjectHub() as hub:
            await test(Scene(hub))

    virtual_time.run(go())


def test_a_tenth_per_ttl_the_oldest_first_and_never_more_after_a_restart() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += TTL - 1
            await again()
            assert scene.removed() == []
            scene.now += 1
            await until(lambda: scene.removed() == ["c00", "c01"])
            scene.now += TTL - 1
            await again()
            assert scene.removed() == ["c00", "c01"]
        assert scene.dead is None, "another leader tells"
        async with scene.duty() as again:
            await until(lambda: scene.dead == 18)
            scene.now += TTL - 1
            await again()
            assert scene.removed() == ["c00", "c01"], "what the one before it removed is not known"
            scene.now += 1
            await until(lambda: len(scene.hub.events("DeadScoresRemoved")) == 2)
            await again()
            assert scene.removed() == ["c00", "c01", "c02"], "a tenth of 18 is one"
            assert scene.dead == 17
            assert scene.metric("dead_scores_removed_total", scorer="cpu") == 3
        why = "(the agent's add-on is not installed)"
        assert scene.hub.events("DeadScoresRemoved") == [
            f"removed scores that nobody renews: c00 {why}, c01 {why}",
            f"removed scores that nobody renews: c02 {why}",
        ]

    play(test)


def test_what_lives_is_left() -> None:
    async def test(scene: Scene) -> None:
        for number in range(20):
            scene.agent(f"c{number:02}")
        scene.score("c03", 600)
        scene.score("c04", -1)
        for name in ("c03", "c04"):
            scene.agent(name, "False")
        async with scene.duty() as again:
            scene.now += 10 * TTL
            await again()
            assert (scene.removed(), scene.dead) == ([], None)
            scene.agent("c05", "Unknown")
            await again()
            await until(lambda: scene.dead == 1)
            assert scene.removed() == [], "the add-on may be back in a moment"
            scene.now += STAND_SECONDS
            await until(lambda: scene.removed() == ["c05"])
            scene.cluster("c06", "Unknown")
            await again()
            await until(lambda: scene.dead == 1)
            scene.now += TTL
            await until(lambda: scene.removed() == ["c05", "c06"])
            await again()
            assert (scene.removed(), scene.dead) == (["c05", "c06"], None)

    play(test)


def test_what_changed_since_the_lists_is_left() -> None:
    async def test(scene: Scene) -> None:
        def renewed() -> None:
            scene.score("c00", 600)

        def back() -> None:
            for cluster in scene.left():
                scene.agent(cluster)

        for change in (renewed, back):
            async with scene.duty():
                await until(lambda: scene.dead)
                change()  # the lists are not read again
                before = len(scene.removed())
                scene.now += TTL
                await for_a_while(10 * LOOK)
                assert "c00" not in scene.removed()
                if change is back:
                    assert len(scene.removed()) == before
        assert scene.removed() == ["c01", "c02"]

    play(test)


def test_the_hub_removes_what_was_read_or_nothing() -> None:
    async def test(scene: Scene) -> None:
        def somebody(word: str) -> None:
            if word == "DELETE addonplacementscores":
                for cluster in scene.left():
                    scene.score(cluster, 600)

        scene.hub.between = somebody
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += TTL
            await until(lambda: scene.deletions)
            await again()
        assert scene.removed() == []
        assert scene.metric("dead_scores_removed_total", scorer="cpu") is None

    play(test)


def test_scores_of_others_are_left_for_ever_and_read_once_an_hour() -> None:
    async def test(scene: Scene) -> None:
        for cluster in scene.left():
            scene.score(
                cluster, -DAY, labels={"app.kubernetes.io/managed-by": "somebody"} if cluster < "c10" else {}
            )
        scene.score("c00", -2 * DAY, name="resource-usage-score", labels={})
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += 2 * DAY
            await until(lambda: scene.dead is None)
            assert scene.metric("dead_scores", scorer="resource-usage-score") is None
            asked = len(scene.hub.asked)
            await again()
            assert len(scene.hub.asked) == asked + 4, "the lists, and nothing else"
            scene.score("c00", -DAY)
            scene.now += FOREIGN_SECONDS
            await until(lambda: scene.removed() == ["c00"])
            await again()
        assert scene.deletions == [f"DELETE addonplacementscores/{SCORE}"]

    play(test)


def test_a_scorer_that_is_gone_leaves_scores_for_a_day() -> None:
    async def test(scene: Scene) -> None:
        del scene.hub.objects["dynamicscorers", NAMESPACE, "cpu"]
        scene.score("c07", -DAY - 60)
        async with scene.duty() as again:
            await until(lambda: scene.metric("dead_scores", scorer=SCORE) == 1)
            scene.now += DAY - 1
            await again()
            assert scene.removed() == []
            scene.now += 1
            await until(lambda: scene.removed() == ["c07"])
            await again()
            assert scene.metric("dead_scores", scorer=SCORE) is None
            assert scene.hub.events("DeadScoresRemoved") == []

    play(test)


def test_without_the_hubs_time_nothing_is_expired() -> None:
    async def test(scene: Scene) -> None:
        scene.hub.clock = None
        async with scene.duty() as again:
            scene.now += 10 * TTL
            await again()
            assert scene.dead is None
            scene.hub.clock = lambda: time.time() - 150
            await again()
            assert scene.dead is None, "by the hub's clock they have not been expired for a TTL"
            scene.hub.clock = time.time
            await again()
            await until(lambda: scene.dead == 20)
            scene.hub.clock = None
            scene.now += STAND_SECONDS
            await again()
            assert scene.deletions == []

    play(test)


def test_the_hubs_time_must_be_known_to_the_last() -> None:
    async def test(scene: Scene) -> None:
        def silent(word: str) -> None:
            if word == "GET managedclusteraddons" and scene.hub.asked[-1] == word:
                scene.hub.clock = None if armed else time.time

        armed = False
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.hub.between = silent
            armed = True
            scene.now += TTL
            await until(lambda: scene.hub.clock is None)
            await for_a_while(10 * LOOK)
            assert scene.deletions == []
            armed = False
            await again()
            await until(lambda: len(scene.removed()) == 2)

    play(test)


def test_a_refusal_does_not_count_and_silence_does() -> None:
    async def test(scene: Scene) -> None:
        scene.hub.refusals = {"DELETE addonplacementscores": [403, 409, 0, 500]}
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += TTL
            for sent in (3, 4):
                await until(lambda sent=sent: len(scene.deletions) == sent)
                await until(lambda: scene.metric("dead_scores_blocked", reason="DeletionUnanswered") == 1)
                await again()
                assert len(scene.deletions) == sent, "it may still take effect"
                scene.now += QUIET_SECONDS
            await again()
            assert len(scene.deletions) == 4
            assert (scene.removed(), scene.dead) == ([], 20), "without an answer two may be gone already"
            scene.hub.refusals = {"GET addonplacementscores": [500, 0]}
            scene.now += TTL
            await until(lambda: scene.removed() == ["c00", "c01"])

    play(test)


def test_a_new_leader_waits_for_what_the_one_before_may_have_sent() -> None:
    async def test(scene: Scene) -> None:
        scene.claim.quiet = 20.0
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += TTL
            await until(lambda: scene.metric("dead_scores_blocked", reason="LeadershipNew") == 1)
            await again()
            assert scene.removed() == []
            scene.claim.quiet = 0.0
            await until(lambda: scene.removed() == ["c00", "c01"])
            await again()
            assert scene.metric("dead_scores_blocked", reason="LeadershipNew") is None

    play(test)


def test_a_watch_that_the_hub_refuses_stops_every_removal_until_it_is_back() -> None:
    async def test(scene: Scene) -> None:
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.hub.refusals["WATCH managedclusters"] = [403] * 1000
            follow = asyncio.create_task(scene.view.clusters.run())
            await until(lambda: scene.metric("dead_scores_blocked", reason="InformerBroken") == 1)
            scene.now += TTL
            await again()
            assert scene.removed() == []
            scene.hub.refusals.clear()
            await until(lambda: scene.removed() == ["c00", "c01"])
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

    async def test(scene: Scene) -> None:
        ended: list[str] = []

        def meanwhile(asked: str) -> None:
            if asked == word and not ended:
                ended.append(asked)
                scene.claim.seconds = 0.0

        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.hub.between = meanwhile
            scene.now += TTL
            await until(lambda: scene.metric("dead_scores_blocked", reason="LeaseNotHeld") == 1)
            assert (ended, scene.deletions, scene.removed()) == ([word], [], [])
            scene.claim.seconds = 1000.0
            await again()
            await until(lambda: scene.removed() == ["c00", "c01"])

    play(test)


def test_a_cluster_that_cannot_be_read_is_not_one_that_is_gone() -> None:
    async def test(scene: Scene) -> None:
        unreadable = {"creationTimestamp": "0000-01-01T00:00:00Z"}
        scene.hub.put("managedclusters", "c00", metadata=unreadable)
        async with scene.duty() as again:
            await until(lambda: scene.dead == 20)
            scene.now += TTL
            await until(lambda: scene.removed() == ["c01", "c02"])
            await again()
            assert "c00" in scene.left()

    play(test)
