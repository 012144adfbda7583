"""Score garbage collection against an API server over HTTP.

Which scores it deletes, and what it reads again before each deletion.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gitops_dsf.reconciler.scan import ScoreScanner
from gitops_dsf.reconciler.scoregc import ScoreGarbageCollector
from tests.integration.reconciler.replica import Replica, running
from tests.integration.reconciler.scorerhub import LONG_AGO, OURS, ScorerHub
from tests.support import virtual_time
from tests.support.objecthub import FixedClaim
from tests.support.waiting import for_a_while, until

DAY = 86_400.0
CONFIRM_SECONDS = 60.0
KEPT_SECONDS = 3_600.0

SCORE = "cpu-score"
INTERVAL = 0.02
TTL = 100.0


class DeadScoreHub(ScorerHub):
    """Twenty clusters without the agent's add-on, whose scores of `cpu` expired long ago."""

    def __init__(self) -> None:
        super().__init__()
        self.scorer("cpu", score="cpu_score", ttl=int(TTL))
        self.every = [f"c{number:02}" for number in range(20)]
        self.cluster(*self.every, available="True")
        for number, name in enumerate(self.every):
            self.score(name, SCORE, seconds=-TTL - 100 + number)

    def left(self) -> list[str]:
        return sorted(place for kind, place, _ in self.objects if kind == "addonplacementscores")

    @property
    def deletions(self) -> list[str]:
        return [word for word in self.asked if word.startswith("DELETE")]


class CollectorLeader(Replica):
    @property
    def dead(self) -> float | None:
        """Dead scores in the last pass."""
        return self.metric("dead_scores", scorer="cpu")

    async def again(self) -> None:
        """Reads the lists anew, and lets several passes go by."""
        view = self.view
        # The list comes last: it is joined with the objects.
        for source in (view.scorer_objects, view.scores, view.clusters, view.addons, view.scorers):
            await source.refresh()
        await for_a_while(10 * INTERVAL)


@asynccontextmanager
async def collecting(hub: DeadScoreHub) -> AsyncIterator[CollectorLeader]:
    async with hub.api(claim=FixedClaim()) as api:
        leader = CollectorLeader(api)
        leader.context.scanner = ScoreScanner(view=leader.view, now=api.now, seconds=INTERVAL)
        async with running(ScoreGarbageCollector(leader.context, interval=INTERVAL)):
            await leader.again()
            yield leader


@pytest.fixture
async def hub() -> AsyncIterator[DeadScoreHub]:
    async with DeadScoreHub() as hub:
        yield hub


async def test_a_reason_that_nobody_renews_goes_too(hub: DeadScoreHub) -> None:
    """Its agent is gone, and the object has no validUntil that could be over."""
    hub.failing("c03", "QueryFailed")
    hub.joined("lives")
    hub.failing("lives", "QueryFailed")
    condition = {"type": "Ready", "status": "False", "reason": "No", "message": ""}
    hub.put(
        "addonplacementscores",
        "cpu",
        namespace="c04",
        metadata={"labels": OURS},
        status={"conditions": [{**condition, "lastTransitionTime": LONG_AGO}]},
    )
    hub.scorer("mem", score="cpu")
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        leader.now += CONFIRM_SECONDS + 1
        await until(lambda: ("addonplacementscores", "c03", "cpu") not in hub.objects)
        await until(lambda: hub.left() == ["c04", "lives"])


async def test_what_nobody_renews_goes_and_is_told(hub: DeadScoreHub) -> None:
    hub.joined("lives")
    hub.score("lives", SCORE, seconds=-10 * TTL)
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        leader.now += CONFIRM_SECONDS - 1
        await leader.again()
        assert hub.left() == [*hub.every, "lives"], "the add-ons may be back in a moment"
        leader.now += 1
        await until(lambda: hub.left() == ["lives"])
        await leader.again()
        assert leader.dead is None
        assert leader.metric("dead_scores_removed_total", scorer="cpu") == 20
    why = "(the agent's add-on is not installed)"
    (message,) = hub.events("DeadScoresRemoved")
    assert message == (
        "deleted expired scores that no agent renews: "
        f"c00 {why}, c01 {why}, c02 {why}, c03 {why}, c04 {why} and 15 more"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda hub, name: hub.score(name, SCORE, seconds=600),
        lambda hub, name: hub.score(name, SCORE, seconds=10 - TTL),
        lambda hub, name: hub.agent(name),
        lambda hub, name: hub.score(name, SCORE, seconds=-DAY, labels={}),
        lambda hub, name: hub.score(
            name, SCORE, seconds=-DAY, labels={"app.kubernetes.io/managed-by": "somebody"}
        ),
        lambda hub, name: hub.objects["addonplacementscores", name, SCORE].update(status={}),
        lambda hub, name: hub.put(
            "managedclusters", name, metadata={"creationTimestamp": "0000-01-01T00:00:00Z"}
        ),
    ],
    ids=[
        "renewed",
        "expired later",
        "agent back",
        "nobody's",
        "somebody's",
        "endless",
        "unreadable",
    ],
)
async def test_what_changed_since_the_lists_is_left(
    hub: DeadScoreHub, change: Callable[[DeadScoreHub, str], None]
) -> None:
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        change(hub, "c07")  # the lists are not read again
        leader.now += CONFIRM_SECONDS
        await until(lambda: hub.left() == ["c07"])
        await for_a_while(10 * INTERVAL)
        assert (hub.left(), len(hub.deletions)) == (["c07"], 19)


async def test_the_hub_removes_what_was_read_or_nothing(hub: DeadScoreHub) -> None:
    def somebody(word: str) -> None:
        if word == "DELETE addonplacementscores":
            for cluster in hub.left():
                hub.score(cluster, SCORE, seconds=600)

    hub.between = somebody
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        leader.now += CONFIRM_SECONDS
        await until(lambda: hub.deletions)
        await leader.again()
    assert hub.left() == hub.every
    assert leader.metric("dead_scores_removed_total", scorer="cpu") is None


async def test_scores_of_others_are_left_for_ever_and_read_once_an_hour(hub: DeadScoreHub) -> None:
    for cluster in hub.left():
        hub.score(cluster, SCORE, seconds=-DAY, labels={})
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        leader.now += CONFIRM_SECONDS
        await until(lambda: leader.dead is None)
        asked = len(hub.asked)
        await leader.again()
        assert len(hub.asked) == asked + 6, "the lists, and nothing else"
        hub.score("c00", SCORE, seconds=-DAY)
        leader.now += KEPT_SECONDS
        await until(lambda: hub.left() == hub.every[1:])
    assert hub.deletions == [f"DELETE addonplacementscores/{SCORE}"]


async def test_without_the_hubs_time_nothing_is_expired(hub: DeadScoreHub) -> None:
    hub.clock = None
    async with collecting(hub) as leader:
        leader.now += 10 * TTL
        await leader.again()
        assert leader.dead is None
        hub.clock = lambda: virtual_time.wall() - 150
        await leader.again()
        assert leader.dead is None, "by the hub's clock they have not been expired for a TTL"
        hub.clock = virtual_time.wall
        await leader.again()
        await until(lambda: leader.dead == 20)
        hub.clock = None
        leader.now += CONFIRM_SECONDS
        await leader.again()
        assert hub.deletions == []


async def test_a_refusal_concerns_one_score_and_silence_ends_the_pass(hub: DeadScoreHub) -> None:
    hub.refusals = {"DELETE addonplacementscores": [403, 0]}
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        leader.now += CONFIRM_SECONDS
        await until(lambda: hub.left() == ["c00"])
        leader.now += KEPT_SECONDS
        await until(lambda: hub.left() == [])


async def test_a_watch_that_the_hub_refuses_stops_every_removal_until_it_is_back(
    hub: DeadScoreHub,
) -> None:
    async with collecting(hub) as leader:
        await until(lambda: leader.dead == 20)
        hub.refusals["WATCH managedclusters"] = [403] * 1000
        async with running(leader.view.clusters):
            await until(lambda: leader.view.clusters.broken)
            leader.now += CONFIRM_SECONDS
            await leader.again()
            assert hub.left() == hub.every
            hub.refusals.clear()
            await until(lambda: hub.left() == [])
