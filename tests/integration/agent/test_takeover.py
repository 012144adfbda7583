"""Scores that another program wrote: when the agent takes them over, and when it does not."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from dsf_agent.endpoints.apiserver import AgentApiServer
from dsf_agent.errors import AgentError
from dsf_agent.publish.hub import HubStore
from dsf_runtime.access import KubeconfigFile
from dsf_wire.scored import Reason
from tests.support import virtual_time
from tests.support.agent.hub import HAS_SCORES, UPSTREAM, ScoreHub, kubeconfig
from tests.support.apiserver import SCORES

SILENT_SECONDS = 3_600.0

SCORE = "cpu-score"
OLD: Mapping[str, int] = {"node-0": 20, "node-1": 30}
OURS: Mapping[str, int] = {"cluster": 7, "node-0": 21}


class AgentOnHub:
    def __init__(self, hub: ScoreHub, store: HubStore) -> None:
        self.hub = hub
        self.store = store

    async def publish(self, values: Mapping[str, int] = OURS) -> str:
        await self.store.list_owned()
        try:
            await self.store.write(
                SCORE,
                scorer="cpu",
                values=values,
                valid_until=self.hub.now() + 900,
                condition=HAS_SCORES,
            )
        except AgentError as error:
            return f"{error.reason.value}: {error}"
        return ""

    @property
    def managers(self) -> list[str]:
        entries = self.hub.scores["c1", SCORE]["metadata"].get("managedFields", [])
        return [entry["manager"] for entry in entries if entry.get("subresource") == "status"]


def run_on_hub(folder: Path, story: Callable[[AgentOnHub], Awaitable[None]]) -> None:
    async def run() -> None:
        hub = ScoreHub()
        async with hub as http:
            load = KubeconfigFile(path=kubeconfig(folder / "kubeconfig", server=http.url)).load
            server = AgentApiServer(load=load, timeout_seconds=60, wall=virtual_time.wall)
            try:
                await story(AgentOnHub(hub, HubStore(server=server, cluster="c1")))
            finally:
                await server.close()

    virtual_time.run(run())


def test_a_dead_upstream_agents_object_is_taken_over_after_an_hour(tmp_path: Path) -> None:
    """The hub does not say when it was written: the hour begins when the agent first reads it."""

    async def story(agent: AgentOnHub) -> None:
        agent.hub.upstream_writes(SCORE, OLD)
        told = await agent.publish()
        assert told.startswith("conflict: ")
        assert "an upstream agent" in told
        assert "delete the object" in told
        await asyncio.sleep(SILENT_SECONDS - 60)
        assert (await agent.publish()).startswith("conflict: ")
        assert agent.hub.values(SCORE) == OLD
        await asyncio.sleep(120)
        assert await agent.publish() == ""
        assert agent.hub.values(SCORE) == OURS
        assert agent.managers == ["gitops-dsf-agent"]
        assert await agent.publish({"cluster": 8}) == ""
        assert agent.hub.values(SCORE) == {"cluster": 8}

    run_on_hub(tmp_path, story)


@pytest.mark.parametrize("values", [{"node-0": -50}, OLD, {**OURS, "node-1": 1}])
def test_an_upstream_agent_that_returns_after_the_takeover_is_a_conflict(
    tmp_path: Path, values: Mapping[str, int]
) -> None:
    """Until it has written nothing for an hour again. Repeated values do not update its time."""

    async def story(agent: AgentOnHub) -> None:
        agent.hub.upstream_writes(SCORE, OLD)
        await agent.publish()
        await asyncio.sleep(SILENT_SECONDS + 60)
        assert await agent.publish() == ""
        for minute in range(70, 220, 30):
            await asyncio.sleep(600 if minute == 70 else 1800)
            order = sorted(values, reverse=minute % 60 == 10)
            agent.hub.upstream_writes(SCORE, {name: values[name] for name in order})
            told = await agent.publish()
            if len(values) > 1 or minute == 70:
                assert told.startswith(f"conflict: {UPSTREAM} "), minute
                assert agent.hub.values(SCORE) == values
        await asyncio.sleep(SILENT_SECONDS + 60)
        assert await agent.publish() == ""
        assert agent.hub.values(SCORE) == OURS
        assert agent.managers == ["gitops-dsf-agent"]

    run_on_hub(tmp_path, story)


def test_an_object_that_upstream_created_again_between_two_writes_is_a_conflict(
    tmp_path: Path,
) -> None:
    async def story(agent: AgentOnHub) -> None:
        assert await agent.publish({"cluster": 7}) == ""
        assert await agent.store.names() == {SCORE}
        del agent.hub.objects[SCORES, "c1", SCORE]
        assert await agent.store.names() == set()
        agent.hub.upstream_writes(SCORE, OLD)
        with pytest.raises(AgentError) as caught:
            await agent.store.write(
                SCORE,
                scorer="cpu",
                values={"cluster": 8},
                valid_until=agent.hub.now() + 900,
                condition=HAS_SCORES,
            )
        assert caught.value.reason is Reason.CONFLICT

    run_on_hub(tmp_path, story)


def test_a_score_that_changed_since_it_was_read_is_not_deleted(tmp_path: Path) -> None:
    """Another program, or the scorer that came back, may have written it."""

    async def story(agent: AgentOnHub) -> None:
        await agent.publish()
        [stored] = await agent.store.list_owned()
        await agent.publish({"cluster": 8})
        with pytest.raises(AgentError) as caught:
            await agent.store.delete(stored)
        assert caught.value.reason is Reason.CONFLICT
        assert agent.hub.values(SCORE) == {"cluster": 8}
        [stored] = await agent.store.list_owned()
        await agent.store.delete(stored)
        assert agent.hub.scores == {}

    run_on_hub(tmp_path, story)
