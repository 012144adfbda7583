"""Source type Kubernetes.

An agent that counts nodes and pods, against an API server with watches.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dsf_agent.kubernetes.objects import Pod
from dsf_agent.kubernetes.values import Totals
from tests.support.agent.clusterobjects import claim, device, node, pod, resource_slice
from tests.support.agent.http import HttpFake, last_values, scores
from tests.support.agent.hub import ScoreHub
from tests.support.agent.running import AgentFolder, RunningAgent, checked, entry, running
from tests.support.apiserver import FakeApiServer, kubeconfig
from tests.support.inmemory import InMemory
from tests.support.virtual_time import wall
from tests.support.waiting import until

NODES = (
    node("a", cpu="4", memory="8Gi", pods="110"),
    node("b", cpu="4", memory="8Gi", pods="110"),
    node("c", cpu="2", memory="4Gi", pods="110"),
)

USAGE = "nodes.metrics.k8s.io"


@dataclass(frozen=True, kw_only=True)
class SpokeScene:
    api: FakeApiServer
    scoring: HttpFake
    place: AgentFolder

    def put(self, query: str, **more: Any) -> None:
        self.place.put(self.entry(query, **more))

    def entry(self, query: str, *, name: str = "cpu", **more: Any) -> dict[str, Any]:
        plain = {
            "sourceType": "Kubernetes",
            "sourceQuery": query,
            "scoringInterval": 3600,
            "scoreDimensionFormat": "${scoreName}${node}",
        }
        return entry(name, scoring=self.scoring.url, **{**plain, **more})

    @property
    def flags(self) -> list[str | Path]:
        config = kubeconfig(self.place.folder / "kubeconfig", server=self.api.url)
        return [*self.place.flags(), "--spoke-kubeconfig", config]

    @asynccontextmanager
    async def agent(self, *flags: str, scored: bool = True) -> AsyncIterator[RunningAgent]:
        """By default after the first cycle, which succeeds."""
        async with running(*self.flags, *flags) as agent:
            if scored:
                await runs(agent)
            yield agent

    def used(self, **usage: dict[str, str]) -> None:
        items = [{"metadata": {"name": name}, "usage": found} for name, found in usage.items()]
        self.api.serve("/apis/metrics.k8s.io/v1beta1/nodes", *items)

    async def scored(self, times: int) -> None:
        await until(lambda: len(self.scoring.seen) == times, what=f"scored {times} times")

    def sent(self) -> list[dict[str, Any]]:
        data: list[dict[str, Any]] = self.scoring.seen[-1].json()["data"]
        return data

    def values(self, index: int = -1) -> list[float]:
        return [float(one["values"][-1][1]) for one in self.scoring.seen[index].json()["data"]]


async def runs(agent: RunningAgent) -> None:
    await until(lambda: agent.scorer()["state"] == "running", what="it works", seconds=200)


async def fails(agent: RunningAgent, reason: str, *, seconds: float = 60) -> str:
    await until(
        lambda: agent.scorer()["reason"] == reason, what=f"it failed: {reason}", seconds=seconds
    )
    return str(agent.scorer()["message"])


@pytest.fixture
async def scene(place: AgentFolder) -> AsyncIterator[SpokeScene]:
    serves = {"/api/v1/nodes": [], "/api/v1/pods": []}
    async with (
        ScoreHub(serves=serves, live=True, page=2) as api,
        InMemory(last_values) as scoring,
    ):
        api.add(*NODES)
        yield SpokeScene(api=api, scoring=scoring, place=place)


async def test_a_scoring_api_gets_measures_as_series(scene: SpokeScene) -> None:
    scene.api.add(pod("one", on="a", cpu="1500m"), pod("done", on="a", cpu="2", phase="Succeeded"))
    scene.put("cpu_available_ratio; node_cpu_available_cores; nodes_ready")
    async with scene.agent() as agent:
        found = scene.sent()
        assert [one["metric"] for one in found] == [
            {"__name__": "cpu_available_ratio"},
            *({"__name__": "node_cpu_available_cores", "node": name} for name in "abc"),
            {"__name__": "nodes_ready"},
        ]
        assert [one["values"][0][1] for one in found] == ["0.85", "2.5", "4", "2", "3"]
        assert all(len(one["values"]) == 1 for one in found)
        assert found[0]["values"][0][0] == pytest.approx(wall(), abs=60)
        assert (await agent.samples())[
            'gitops_dsf_agent_series_fetched{score_name="cpu-score"}'
        ] == 5
    selectors = {seen.query.get("fieldSelector") for seen in scene.api.seen}
    assert "status.phase!=Succeeded,status.phase!=Failed" in selectors


async def test_a_change_scores_anew_within_seconds(scene: SpokeScene) -> None:
    """The interval is an hour. Changes are collected; one that no measure sees scores nothing."""
    first = pod("one", on="a", cpu="1")
    scene.api.add(first)
    scene.put("cpu_requested_cores")
    async with scene.agent():
        await asyncio.sleep(60)
        scene.api.add({**first, "metadata": {**first["metadata"], "labels": {"new": "label"}}})
        await asyncio.sleep(60)
        assert len(scene.scoring.seen) == 1
        changed = asyncio.get_running_loop().time()
        for number in range(5):
            scene.api.add(pod(f"more-{number}", on="b", cpu="500m"))
        await scene.scored(2)
        assert 1 <= asyncio.get_running_loop().time() - changed < 2
        assert scene.values() == [3.5]
        scene.api.remove(first)
        await scene.scored(3)
        assert scene.values() == [2.5]
        await asyncio.sleep(60)
        assert len(scene.scoring.seen) == 3


async def test_a_storm_of_changes_does_not_raise_the_rate_of_scoring(scene: SpokeScene) -> None:
    scene.put("cpu_requested_cores")
    async with scene.agent():
        before = len(scene.scoring.seen)
        for number in range(600):
            scene.api.add(pod(f"p{number % 10}", on="a", cpu=f"{number + 1}m"))
            await asyncio.sleep(0.1)
        scored = len(scene.scoring.seen) - before
        assert 5 <= scored <= 7
        await asyncio.sleep(11)
        assert scene.values() == [sum(range(591, 601)) / 1000]


async def test_scorers_share_one_pair_of_informers_that_ends_with_the_last_of_them(
    scene: SpokeScene,
) -> None:
    one, two = (
        scene.entry("nodes", name="one"),
        scene.entry("cpu_available_ratio", name="two", sourceRange=9),
    )
    two["sourceStep"] = 3
    async with InMemory(scores(50)) as elsewhere, scene.agent(scored=False) as agent:
        other = entry("none", scoring=elsewhere.url)
        scene.place.put(one, two, other)
        await scene.scored(2)
        assert scene.api.watching == ["nodes", "pods"]
        scene.place.put(two, other)
        await until(lambda: len(agent.agent.ready().detail["scorers"]) == 2, what="one went")
        await asyncio.sleep(10)
        asked = "GET nodes, GET nodes, GET pods, WATCH nodes, WATCH pods"
        assert ", ".join(sorted(scene.api.asked)) == asked
        scene.place.put(other)
        await until(lambda: not scene.api.watching, what="the watches ended")
        scene.api.add(pod("new", on="a", cpu="1"))
        scene.place.put(scene.entry("cpu_requested_cores"), other)
        await scene.scored(3)
        assert scene.values() == [1.0]
        assert elsewhere.seen


async def test_an_agent_without_such_a_scorer_asks_for_nothing(scene: SpokeScene) -> None:
    scene.place.put(entry("none", scoring=scene.scoring.url))
    async with scene.agent(scored=False):
        await until(lambda: scene.scoring.seen, what="scored")
        await asyncio.sleep(60)
    assert scene.api.asked == []


async def test_usage_comes_from_the_metrics_api(scene: SpokeScene) -> None:
    """Where the cluster does not serve it, only scorers that use it fail.

    Answers are shared for 15 s.
    """
    scene.place.put(
        scene.entry("cpu_used_ratio; memory_used_bytes; nodes_ready", name="used"),
        scene.entry("cpu_used_cores", name="other"),
        scene.entry("cpu_available_cores", name="free"),
    )
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "not_found")
        assert "this cluster does not serve metrics.k8s.io: install metrics-server" in message
        await scene.scored(1)
        scene.used(a={"cpu": "500000000n", "memory": "1Gi"}, b={"cpu": "1", "memory": "512Mi"})
        scene.api.asked.clear()
        await scene.scored(3)
        assert scene.api.asked.count(f"GET {USAGE}") == 1
        found = [scene.values(index) for index in (1, 2)]
        assert sorted(found) == [[0.1875, 1.5 * 2**30, 3.0], [1.5]]
        await asyncio.sleep(100)
        scene.api.asked.clear()
        scored = len(scene.scoring.seen)
        scene.api.add(pod("zero", on="a", cpu="1"))
        await until(lambda: len(scene.scoring.seen) == scored + 3, what="all scored anew")
        assert scene.api.asked.count(f"GET {USAGE}") == 1
        await asyncio.sleep(16)
        scene.api.add(pod("later", on="a", cpu="1"))
        await until(lambda: len(scene.scoring.seen) == scored + 6, what="all scored once more")
        assert scene.api.asked.count(f"GET {USAGE}") == 2
        assert "internal" not in str(await agent.failures())
        await asyncio.sleep(100)
        scene.api.refused[USAGE] = 403
        scene.api.add(pod("one", on="a", cpu="1"))
        await asyncio.sleep(15)
        scene.api.add(pod("two", on="a", cpu="1"))
        message = await fails(agent, "forbidden", seconds=20)
        assert "needs get and list on nodes of metrics.k8s.io" in message
        scene.api.refused[USAGE] = 503
        message = await fails(agent, "server_error")
        assert message.startswith("GET /apis/metrics.k8s.io/v1beta1/nodes: 503")
        assert "needs get" not in message


DEVICES = "/apis/resource.k8s.io/v1"


async def test_devices_are_followed_only_for_scorers_that_measure_them(scene: SpokeScene) -> None:
    """A claim scores them anew within seconds, and no others. The last one ends the watches."""
    scene.api.serve(f"{DEVICES}/resourceslices")
    scene.api.serve(f"{DEVICES}/resourceclaims")
    scene.api.add(
        resource_slice("a", device("gpu-0"), device("gpu-1"), node="a"),
        claim("one", ("a", "gpu-0")),
    )
    gpus = scene.entry('devices_available{driver="gpu.example.com"}; nodes_ready', name="gpus")
    plain = scene.entry("cpu_available_cores", name="plain")
    scene.place.put(plain)
    async with scene.agent(scored=False):
        await scene.scored(1)
        assert scene.api.watching == ["nodes", "pods"]
        scene.place.put(plain, gpus)
        await scene.scored(2)
        assert scene.api.watching == ["nodes", "pods", "resourceclaims", "resourceslices"]
        assert [series["metric"] for series in scene.sent()] == [
            {"__name__": "devices_available", "driver": "gpu.example.com"},
            {"__name__": "nodes_ready"},
        ]
        assert scene.values() == [1.0, 3.0]
        await asyncio.sleep(60)
        scene.api.add(claim("two", ("a", "gpu-1")))
        await scene.scored(3)
        assert scene.values() == [0.0, 3.0]
        # The status of a claim changes often, for instance by its driver.
        scene.api.add({**claim("two", ("a", "gpu-1")), "more": 1})
        await asyncio.sleep(60)
        assert len(scene.scoring.seen) == 3
        scene.place.put(plain)
        await until(lambda: scene.api.watching == ["nodes", "pods"], what="the watches ended")


async def test_a_cluster_that_does_not_serve_devices_says_so(scene: SpokeScene) -> None:
    """Only scorers that measure devices fail, until the cluster serves them."""
    scene.place.put(
        scene.entry("devices_allocatable", name="gpus", scoringInterval=30),
        scene.entry("cpu_available_cores", name="free"),
    )
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "not_found", seconds=5)
        assert message.endswith(
            "; this cluster does not serve resource.k8s.io/v1, which Kubernetes has since 1.34: use"
            " measures without devices"
        )
        await scene.scored(1)
        assert scene.values() == [10.0]
        scene.api.serve(f"{DEVICES}/resourceslices")
        scene.api.serve(f"{DEVICES}/resourceclaims")
        scene.api.add(resource_slice("a", device("gpu-0"), node="a"))
        await scene.scored(2)
        assert scene.values() == [1.0]


@pytest.mark.parametrize("resource", ["resourceslices", "resourceclaims"])
async def test_a_missing_right_to_devices_is_named(scene: SpokeScene, resource: str) -> None:
    for served in ("resourceslices", "resourceclaims"):
        scene.api.serve(f"{DEVICES}/{served}")
    scene.api.refused[resource] = 403
    scene.api.add(resource_slice("a", device("gpu-0"), node="a"))
    scene.put("devices_allocatable", scoringInterval=30)
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "forbidden", seconds=5)
        assert f"needs get, list and watch on {resource} of the whole cluster" in message
        del scene.api.refused[resource]
        await runs(agent)
        assert scene.values() == [1.0]


async def test_a_usage_that_is_none_fails_the_cycle(scene: SpokeScene) -> None:
    scene.used(a={"cpu": "much", "memory": "1Gi"})
    scene.put("cpu_used_cores")
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "invalid_body")
        assert "did not answer with a NodeMetricsList: 'much' is not a quantity" in message
        scene.used(a={"cpu": "1", "memory": "1Gi"})
        await runs(agent)


@pytest.mark.parametrize("resource", ["nodes", "pods"])
async def test_a_missing_right_is_named(scene: SpokeScene, resource: str) -> None:
    scene.api.refused[resource] = 403
    scene.put("cpu_available_cores", scoringInterval=30)
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "forbidden", seconds=5)
        assert f'cannot list resource "{resource}"' in message
        assert f"needs get, list and watch on {resource} of the whole cluster" in message
        del scene.api.refused[resource]
        await runs(agent)
        assert scene.values() == [10.0]


async def test_slow_lists_are_awaited_up_to_the_time_limit(scene: SpokeScene) -> None:

    async def slow(word: str) -> None:
        await asyncio.sleep(8 if word.startswith("GET ") else 0)

    scene.api.arrives = slow
    scene.put("nodes")
    async with scene.agent("--request-timeout", "5", scored=False) as agent:
        message = await fails(agent, "timeout")
        assert message == "the lists of nodes and pods were not complete after 5 s"
        await runs(agent)
        assert scene.values() == [3.0]


async def test_an_api_server_that_is_not_there_yet_is_awaited(scene: SpokeScene) -> None:
    scene.put("nodes")
    await scene.api.refuse()
    async with scene.agent(scored=False) as agent:
        message = await fails(agent, "unreachable", seconds=5)
        assert "the API server does not answer" in message
        await scene.api.start()
        await runs(agent)
        assert scene.values() == [3.0]


async def test_an_api_server_that_went_away_is_noticed(scene: SpokeScene) -> None:
    """A restart of an API server takes less than two minutes. Until then the last numbers count."""
    scene.put("nodes", scoringInterval=20)
    async with scene.agent() as agent:
        await scene.api.refuse()
        await asyncio.sleep(120)
        assert agent.scorer()["state"] == "running"
        assert len(scene.scoring.seen) >= 6
        await asyncio.sleep(60)
        assert agent.scorer()["reason"] == "unreachable"


async def test_a_bug_in_following_is_survived_and_old_numbers_are_not_scored(
    scene: SpokeScene, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = Totals.pod_changed, list[bool]()

    def fails_once(totals: Totals, key: str, before: Pod | None, after: Pod | None) -> None:
        if broken:
            broken.clear()
            msg = "oops"
            raise RuntimeError(msg)
        real(totals, key, before, after)

    monkeypatch.setattr(Totals, "pod_changed", fails_once)
    scene.put("cpu_requested_cores; pods_requested", scoringInterval=5)
    async with scene.agent() as agent:
        broken.append(True)
        scene.api.add(pod("one", on="a", cpu="1"))
        told = "following nodes and pods failed because of a bug in the agent"
        await until(lambda: told in caplog.text, what="it was logged")
        logged = asyncio.get_running_loop().time()
        await asyncio.sleep(25)
        assert scene.api.watching == []
        await until(lambda: agent.scorer()["failures"], what="the cycle failed")
        assert agent.scorer()["message"] == "nodes and pods are not followed at the moment"
        await until(lambda: scene.api.watching, what="they are followed again")
        assert 29 < asyncio.get_running_loop().time() - logged < 35
        await runs(agent)
        assert scene.values() == [1.0, 1.0]


async def test_an_agent_that_knows_no_api_server_says_so(scene: SpokeScene) -> None:
    scene.put("nodes")
    without = [flag for flag in scene.flags if flag != "--spoke-kubeconfig"][:-1]
    async with running(*without) as agent:
        message = await fails(agent, "bad_credentials")
        assert "--spoke-kubeconfig is not set" in message


async def test_check_reads_the_cluster_once(
    scene: SpokeScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.put("cpu_available_ratio")
    folder, config = scene.place.volume.directory, scene.flags[-1]
    assert (
        await checked("--config-dir", folder, "--cluster-name", "c1", "--spoke-kubeconfig", config)
        == 0
    )
    assert "ok" in capsys.readouterr().out
    assert scene.api.watching == []
