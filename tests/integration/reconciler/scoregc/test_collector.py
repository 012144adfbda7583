"""Score garbage collection against an API server over HTTP: which scores it deletes, and what it reads again
before each deletion.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gitops_dsf.reconciler.freshness import DAY
from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scoregc import CONFIRM_SECONDS, KEPT_SECONDS, ScoreGarbageCollector
from tests.integration.reconciler.replica import Replica, from_now, running
from tests.support import virtual_time
from tests.support.hubobjects import HUB
from tests.support.objecthub import FixedClaim, ObjectHub
from tests.support.waiting import for_a_while, until

SCORE = "cpu-score"
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
        spec = {"scoring": {"params": {"name": "cpu_score"}}, "scoreTTLSeconds": int(TTL)}
        self.server.put("dynamicscorers", "cpu", namespace=HUB, spec=spec)
        for number in range(20):
            self.cluster(f"c{number:02}")
            self.score(f"c{number:02}", -TTL - 100 + number)

    def cluster(self, name: str, available: str = "True") -> None:
        status = {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": available}]}
        self.server.put("managedclusters", name, status=status)

    def agent(self, cluster: str, available: str = "True") -> None:
        status = {"conditions": [{"type": "Available", "status": available}]}
        self.server.put("managedclusteraddons", "gitops-dsf-agent", namespace=cluster, status=status)

    def score(self, cluster: str, seconds: float, *, labels: dict[str, str] = OURS) -> None:
        """It expires so many seconds from now."""
        status = {"validUntil": from_now(seconds), "scores": [{"name": "all", "value": 1}]}
        metadata = {"labels": labels}
        self.server.put("addonplacementscores", SCORE, namespace=cluster, metadata=metadata, status=status)

    def left(self) -> list[str]:
        return sorted(place for kind, place, _ in self.server.objects if kind == "addonplacementscores")

    def removed(self) -> list[str]:
        return sorted({f"c{number:02}" for number in range(20)} - set(self.left()))

    def metric(self, name: str, **labels: str) -> float | None:
        return self.replica.metric(name, **labels)

    @property
    def dead(self) -> float | None:
        """Dead scores in the last pass."""
        return self.metric("dead_scores", scorer="cpu")

    @property
    def deletions(self) -> list[str]:
        return [word for word in self.server.asked if word.startswith("DELETE")]

    async def again(self) -> None:
        """Reads the lists anew, and lets several passes go by."""
        view = self.replica.view
        for source in (view.scorers, view.scores, view.clusters, view.addons):
            await source.refresh()
        await for_a_while(10 * INTERVAL)

    @asynccontextmanager
    async def collecting(self) -> AsyncIterator[None]:
        async with self.server.api(claim=self.claim) as api:
            self.replica = Replica(api, clock=lambda: self.now)
            shared = self.replica.shared
            shared.scanner = ScoreScanner(view=shared.view, now=api.now, seconds=INTERVAL)
            async with running(ScoreGarbageCollector(shared, interval=INTERVAL)):
                await self.again()
                yield


@pytest.fixture
async def hub() -> AsyncIterator[DeadScoreHub]:
    async with ObjectHub() as server:
        yield DeadScoreHub(server)


async def test_what_nobody_renews_goes_and_is_told(hub: DeadScoreHub) -> None:
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        hub.now += CONFIRM_SECONDS - 1
        await hub.again()
        assert hub.removed() == [], "the add-ons may be back in a moment"
        hub.now += 1
        await until(lambda: hub.left() == [])
        await hub.again()
        assert hub.dead is None
        assert hub.metric("dead_scores_removed_total", scorer="cpu") == 20
    why = "(the agent's add-on is not installed)"
    (message,) = hub.server.events("DeadScoresRemoved")
    assert message == (
        "deleted expired scores that no agent renews: "
        f"c00 {why}, c01 {why}, c02 {why}, c03 {why}, c04 {why} and 15 more"
    )


async def test_what_lives_is_left(hub: DeadScoreHub) -> None:
    for number in range(20):
        hub.agent(f"c{number:02}")
    hub.score("c03", 600)
    hub.score("c04", -1)
    for name in ("c03", "c04"):
        hub.agent(name, "False")
    async with hub.collecting():
        hub.now += 10 * TTL
        await hub.again()
        assert (hub.removed(), hub.dead) == ([], None)
        hub.agent("c05", "Unknown")
        hub.cluster("c06", "Unknown")
        await hub.again()
        await until(lambda: hub.dead == 2)
        hub.now += CONFIRM_SECONDS
        await until(lambda: hub.removed() == ["c05", "c06"])
        await hub.again()
        assert (hub.removed(), hub.dead) == (["c05", "c06"], None)


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
async def test_what_changed_since_the_lists_is_left(
    hub: DeadScoreHub, change: Callable[[DeadScoreHub, str], None]
) -> None:
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        change(hub, "c07")  # the lists are not read again
        hub.now += CONFIRM_SECONDS
        await until(lambda: hub.left() == ["c07"])
        await for_a_while(10 * INTERVAL)
        assert (hub.left(), len(hub.deletions)) == (["c07"], 19)


async def test_the_hub_removes_what_was_read_or_nothing(hub: DeadScoreHub) -> None:
    def somebody(word: str) -> None:
        if word == "DELETE addonplacementscores":
            for cluster in hub.left():
                hub.score(cluster, 600)

    hub.server.between = somebody
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        hub.now += CONFIRM_SECONDS
        await until(lambda: hub.deletions)
        await hub.again()
    assert hub.removed() == []
    assert hub.metric("dead_scores_removed_total", scorer="cpu") is None


async def test_scores_of_others_are_left_for_ever_and_read_once_an_hour(hub: DeadScoreHub) -> None:
    for cluster in hub.left():
        hub.score(cluster, -DAY, labels={})
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        hub.now += CONFIRM_SECONDS
        await until(lambda: hub.dead is None)
        asked = len(hub.server.asked)
        await hub.again()
        assert len(hub.server.asked) == asked + 4, "the lists, and nothing else"
        hub.score("c00", -DAY)
        hub.now += KEPT_SECONDS
        await until(lambda: hub.removed() == ["c00"])
    assert hub.deletions == [f"DELETE addonplacementscores/{SCORE}"]


async def test_without_the_hubs_time_nothing_is_expired(hub: DeadScoreHub) -> None:
    hub.server.clock = None
    async with hub.collecting():
        hub.now += 10 * TTL
        await hub.again()
        assert hub.dead is None
        hub.server.clock = lambda: virtual_time.wall() - 150
        await hub.again()
        assert hub.dead is None, "by the hub's clock they have not been expired for a TTL"
        hub.server.clock = virtual_time.wall
        await hub.again()
        await until(lambda: hub.dead == 20)
        hub.server.clock = None
        hub.now += CONFIRM_SECONDS
        await hub.again()
        assert hub.deletions == []


async def test_a_refusal_concerns_one_score_and_silence_ends_the_pass(hub: DeadScoreHub) -> None:
    hub.server.refusals = {"DELETE addonplacementscores": [403, 0]}
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        hub.now += CONFIRM_SECONDS
        await until(lambda: hub.left() == ["c00"])
        hub.now += KEPT_SECONDS
        await until(lambda: hub.left() == [])


async def test_a_watch_that_the_hub_refuses_stops_every_removal_until_it_is_back(hub: DeadScoreHub) -> None:
    async with hub.collecting():
        await until(lambda: hub.dead == 20)
        hub.server.refusals["WATCH managedclusters"] = [403] * 1000
        async with running(hub.replica.view.clusters):
            await until(lambda: hub.replica.view.clusters.broken)
            hub.now += CONFIRM_SECONDS
            await hub.again()
            assert hub.removed() == []
            hub.server.refusals.clear()
            await until(lambda: hub.left() == [])
