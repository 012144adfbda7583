"""Any sequence of decisions, health, looks of Argo CD, attempts and crashes.

What is deleted was rightly deleted at that moment.

The informers are taken to be as wrong as they can be: every attempt is for a copy that they wrongly
say may go.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_dsf.reconciler.moves.deletion import CopyDeleter
from tests.integration.reconciler.moves.movehub import (
    APPLICATIONS,
    GOOD,
    NAMESPACE,
    PROGRESSING,
    MoveHub,
    candidate,
    deleter_of,
    reason,
)
from tests.support import virtual_time
from tests.support.laws import examples
from tests.support.objecthub import ObjectHub

CLUSTERS = "abcd"
BAD = {**GOOD, "health": {"status": "Degraded"}}
READS = ("GET applicationsets", "GET applications", "GET managedclusters", "GET placementdecisions")
"""At which others act. From the last read to the deletion nothing changes: the time until that
arrives is nobody's.
"""
TOO_LATE = {"health": READS[2:], "available": READS[3:]}
"""Reads after which these changes are not seen."""

CHANGES = st.one_of(
    st.tuples(st.just("decide"), st.frozensets(st.sampled_from(CLUSTERS), max_size=2)),
    st.tuples(st.just("page without status"), st.frozensets(st.sampled_from(CLUSTERS), max_size=2)),
    st.tuples(st.just("argo"), st.just(None)),
    st.tuples(
        st.just("available"),
        st.tuples(st.sampled_from(CLUSTERS), st.sampled_from(["True", "True", "Unknown"])),
    ),
    st.tuples(
        st.just("health"),
        st.tuples(st.sampled_from(CLUSTERS), st.sampled_from([GOOD, GOOD, PROGRESSING, BAD])),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """`meanwhile`: what others do at each read; `crash`: the request at which it dies, 0 for
    none.
    """

    cluster: str
    overdue: bool
    crash: int
    meanwhile: dict[str, Any]


ATTEMPTS = st.builds(
    Attempt,
    cluster=st.sampled_from(CLUSTERS),
    overdue=st.booleans(),
    crash=st.sampled_from([0, 0, 0, *range(1, 15)]),
    meanwhile=st.dictionaries(st.sampled_from(READS), CHANGES, max_size=2),
)


@dataclass(kw_only=True)
class World:
    """What is true, beside what the hub says: whole decisions, health, and which copies are being
    deleted.
    """

    hub: ObjectHub
    scene: MoveHub
    decided: frozenset[str] = frozenset("a")
    whole: bool = True
    health: dict[str, Any] = field(default_factory=lambda: {"a": GOOD})
    away: set[str] = field(default_factory=set)
    overdue: bool = False
    deleted: list[str] = field(default_factory=list)

    def change(self, what: str, value: Any) -> None:
        if what == "decide":
            self.decided, self.whole = value, True
            self.scene.decide(*sorted(value))
        elif what == "page without status":
            # OCM has written the page and not the status.
            self.whole = len(value) == len(self.decided)
            before, self.decided = len(self.decided), value
            self.scene.decide(*sorted(value), selected=before)
        elif what == "argo":
            for cluster in self.decided - self.health.keys():
                self.health[cluster] = PROGRESSING
                self.scene.copy(cluster, status=PROGRESSING)
        elif what == "available":
            (self.away.discard if value[1] == "True" else self.away.add)(value[0])
            self.scene.available(*value)
        elif what == "health" and value[0] in self.health:
            self.health[value[0]] = value[1]
            self.scene.copy(value[0], status=value[1])

    def on_delete(self, name: str) -> None:
        """Everything that must hold when the hub is about to delete."""
        cluster = name.removeprefix("web-")
        assert cluster not in self.away, "a copy that Argo CD cannot reach"
        rest = {other: status for other, status in self.health.items() if other != cluster}
        there = {other: status for other, status in rest.items() if other not in self.away}
        assert self.decided, "an empty decision"
        assert self.whole, "a decision that is not whole"
        assert cluster not in self.decided, "a decided cluster"
        assert len(rest) >= len(self.decided), "below what is wanted"
        healthy = [other for other, status in there.items() if status is GOOD]
        if not self.overdue:
            assert len(healthy) >= len(self.decided)
            assert self.decided & set(healthy), "before a new copy is there"
        elif self.health[cluster] is GOOD:
            assert len(healthy) >= len(self.decided)
        else:
            assert self.decided <= rest.keys() or len(healthy) >= len(self.decided)


async def attempt(world: World, deleter: CopyDeleter, step: Attempt) -> None:
    world.overdue = step.overdue
    asked = len(world.hub.asked)
    task = asyncio.create_task(
        reason(deleter.delete(candidate(step.cluster, *world.decided, overdue=step.overdue)))
    )

    def between(word: str) -> None:
        number = len(world.hub.asked) - asked
        if word in left and word not in TOO_LATE.get(left[word][0], ()):
            world.change(*left.pop(word))
        if word == "DELETE applications":
            name = world.hub.asked[-1].removeprefix("DELETE applications/")
            assert world.hub.asked[-3:-1] == ["GET placementdecisions", "GET placements"]
            try:
                world.on_delete(name)
            except AssertionError as error:
                broken.append(error)
            world.health.pop(name.removeprefix("web-"))
            world.deleted.append(name)
        if number == step.crash:
            task.cancel()

    broken: list[AssertionError] = []
    left = dict(step.meanwhile)
    world.hub.between = between
    await asyncio.gather(task, return_exceptions=True)
    world.hub.between = lambda _: None
    if broken:
        raise broken[0]
    if not task.cancelled():
        task.result()


@settings(examples(15), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES | ATTEMPTS, min_size=4, max_size=16))
def test_whatever_happens(steps: list[Any]) -> None:
    async def go() -> None:
        async with ObjectHub() as hub, hub.api() as api:
            world = World(hub=hub, scene=MoveHub(hub))
            world.scene.copy("a")
            deleter = deleter_of(api)
            for step in steps:
                if isinstance(step, Attempt):
                    await attempt(world, deleter, step)
                else:
                    world.change(*step)
                assert {
                    name.removeprefix("web-") for name in world.scene.copies()
                } == world.health.keys()
                assert world.health, "the last copy"
            assert all(
                (APPLICATIONS, NAMESPACE, f"web-{cluster}") in hub.objects
                for cluster in world.health
            )

    virtual_time.run(go())


async def test_the_sequences_do_delete(scene: MoveHub) -> None:
    """So that the test above is not a test of nothing."""
    async with scene.hub.api() as api:
        world, deleter = World(hub=scene.hub, scene=scene), deleter_of(api)
        scene.copy("a")
        for step in (("decide", frozenset("b")), ("argo", None), ("health", ("b", GOOD))):
            world.change(*step)
        await attempt(world, deleter, Attempt(cluster="a", overdue=False, crash=14, meanwhile={}))
        assert world.deleted == ["web-a"]
        await attempt(world, deleter, Attempt(cluster="a", overdue=False, crash=0, meanwhile={}))
        assert world.deleted == ["web-a"]
