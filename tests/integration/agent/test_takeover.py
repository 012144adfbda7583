"""Scores that another program wrote, by the hub's clock: when the agent takes them over, and when it leaves
them alone.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from dsf_agent.endpoints.apiserver import ApiServer
from dsf_agent.errors import PublishError
from dsf_agent.publish.hub import LIST_SECONDS, SILENT_SECONDS, HubStore
from dsf_agent.reasons import Reason
from dsf_runtime.kubeconfig import Kubeconfig
from tests.support import virtual_time
from tests.support.agent.http import HttpFake
from tests.support.agent.hub import UPSTREAM, HubFake, kubeconfig
from tests.support.virtual_time import LoopClock

SCORE = "cpu-score"
OLD: Mapping[str, int] = {"node-0": 20, "node-1": 30}
OURS: Mapping[str, int] = {"cluster": 7, "node-0": 21}


class Scene:
    """A hub whose clock a test moves, and the store of one agent."""

    def __init__(self, hub: HubFake, store: HubStore) -> None:
        self.hub = hub
        self.store = store

    async def publish(self, values: Mapping[str, int] = OURS) -> str:
        """As the agent does it, a look first. The conflict's text, or nothing."""
        await self.store.read(SCORE)
        try:
            await self.store.write(SCORE, scorer="cpu", values=values, valid_until=self.hub.now() + 900)
        except PublishError as error:
            return f"{error.reason.value}: {error}"
        return ""

    @property
    def managers(self) -> list[str]:
        entries = self.hub.scores["c1", SCORE]["metadata"].get("managedFields", [])
        return [entry["manager"] for entry in entries if entry.get("subresource") == "status"]


def on(folder: Path, story: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        hub = HubFake()
        async with HttpFake(hub) as http:
            load = Kubeconfig(path=kubeconfig(folder / "kubeconfig", server=http.url)).load
            server = ApiServer(load=load, clock=LoopClock(), timeout_seconds=60)
            try:
                await story(Scene(hub, HubStore(server=server, cluster="c1")))
            finally:
                await server.close()

    virtual_time.run(run())


def test_a_dead_upstream_agents_object_is_taken_over_after_an_hour(tmp_path: Path) -> None:
    """The hub does not say when it was written: an hour counts from the agent's first look."""

    async def story(scene: Scene) -> None:
        scene.hub.upstream_writes(SCORE, OLD)
        told = await scene.publish()
        assert told.startswith("conflict: ")
        assert "an upstream agent" in told
        assert "delete the object" in told
        scene.hub.clock_offset = SILENT_SECONDS - 60
        assert (await scene.publish()).startswith("conflict: ")
        assert scene.hub.values(SCORE) == OLD
        scene.hub.clock_offset = SILENT_SECONDS + 60
        assert await scene.publish() == ""
        assert scene.hub.values(SCORE) == OURS
        assert scene.managers == ["gitops-dsf-agent"]
        assert await scene.publish({"cluster": 8}) == ""
        assert scene.hub.values(SCORE) == {"cluster": 8}

    on(tmp_path, story)


def test_a_living_upstream_agent_keeps_its_object(tmp_path: Path) -> None:
    """Its values are the same each time, their order is not."""

    async def story(scene: Scene) -> None:
        for minute in range(0, 180, 20):
            scene.hub.clock_offset = minute * 60.0
            order = sorted(OLD, reverse=minute % 40 == 0)
            scene.hub.upstream_writes(SCORE, {name: OLD[name] for name in order})
            assert (await scene.publish()).startswith("conflict: "), minute
        assert scene.hub.values(SCORE) == OLD

    on(tmp_path, story)


@pytest.mark.parametrize("values", [{"node-0": -50}, OLD, {**OURS, "node-1": 1}])
def test_an_upstream_agent_that_returns_after_the_takeover_is_a_conflict(
    tmp_path: Path, values: Mapping[str, int]
) -> None:
    """Nobody fights: it keeps the object until it has been silent for an hour again, and repeats its values
    without a new time.
    """

    async def story(scene: Scene) -> None:
        scene.hub.upstream_writes(SCORE, OLD)
        await scene.publish()
        scene.hub.clock_offset = SILENT_SECONDS + 60
        assert await scene.publish() == ""
        for minute in range(70, 220, 30):
            scene.hub.clock_offset = minute * 60.0
            order = sorted(values, reverse=minute % 60 == 10)
            scene.hub.upstream_writes(SCORE, {name: values[name] for name in order})
            told = await scene.publish()
            if len(values) > 1 or minute == 70:
                assert told.startswith(f"conflict: {UPSTREAM} "), minute
                assert scene.hub.values(SCORE) == values
        scene.hub.clock_offset += SILENT_SECONDS + 60
        assert await scene.publish() == ""
        assert scene.hub.values(SCORE) == OURS
        assert scene.managers == ["gitops-dsf-agent"]

    on(tmp_path, story)


def test_an_object_that_upstream_made_anew_between_two_writes_is_a_conflict(tmp_path: Path) -> None:
    """Its items and ours do not meet, so the hub reports no conflict by itself."""

    async def story(scene: Scene) -> None:
        assert await scene.publish({"cluster": 7}) == ""
        del scene.hub.scores["c1", SCORE]
        scene.hub.upstream_writes(SCORE, OLD)
        with pytest.raises(PublishError) as caught:
            await scene.store.write(
                SCORE, scorer="cpu", values={"cluster": 8}, valid_until=scene.hub.now() + 900
            )
        assert caught.value.reason is Reason.CONFLICT

    on(tmp_path, story)


def test_one_list_in_five_minutes_tells_what_was_deleted(tmp_path: Path) -> None:
    """For all scorers together; what was just written, or could not be looked for, counts as there."""

    async def story(scene: Scene) -> None:
        hub, store = scene.hub, scene.store
        lists: list[str] = []
        hub.before = lambda seen: lists.append(seen.path) if "as=Table" in seen.headers["accept"] else None
        names = [f"score-{number}" for number in range(20)]
        written = hub.now()
        for name in names:
            await store.write(name, scorer="cpu", values=OURS, valid_until=written + 9000)
        del hub.scores["c1", "score-7"]
        for look in range(1, 4):
            assert not any([await store.deleted_by_others(name, written=written) for name in names]), look
        assert lists == []
        hub.clock_offset = LIST_SECONDS + 5
        await store.read("score-1")
        assert [name for name in names if await store.deleted_by_others(name, written=written)] == ["score-7"]
        assert not await store.deleted_by_others("score-7", written=hub.now() - 2)
        assert len(lists) == 1

    on(tmp_path, story)
