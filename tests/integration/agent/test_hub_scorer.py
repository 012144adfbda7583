"""The hub scorer: one query for all clusters, and each cluster's score in its own namespace."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dsf_wire import clusters
from dsf_wire.clusters import FleetCluster
from tests.support.agent.faults import EAGER
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
)
from tests.support.agent.hub import ScoreHub, failure
from tests.support.agent.running import AgentFolder, RunningAgent, checked, entry
from tests.support.inmemory import InMemory
from tests.support.waiting import until

HUB_LABELS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/runs-on": "Hub"}


class CentralStore:
    """A central metric store: an instant vector with the values by cluster."""

    def __init__(self, **values: float) -> None:
        self.values: dict[str, float] = dict(values)
        self.label = "cluster"

    def __call__(self, seen: RecordedRequest) -> SentReply:
        points = [
            {"metric": {self.label: name, "job": "node"}, "value": [1_700_000_000, str(value)]}
            for name, value in self.values.items()
        ]
        if not seen.path.endswith("/query"):
            return matrix([{"metric": one["metric"], "values": [one["value"]]} for one in points])
        return SentReply.of(
            {"status": "success", "data": {"resultType": "vector", "result": points}}
        )


@dataclass(frozen=True, kw_only=True)
class FleetAgentScene:
    """A hub with the namespaces of three clusters, a central store, and the hub scorer's files."""

    hub: ScoreHub
    store: CentralStore
    server: HttpFake
    source: HttpFake
    place: AgentFolder

    def entry(self, name: str = "cpu", *, scoring: str = "", **more: Any) -> dict[str, Any]:
        """Without a scoring API it is a scorer of type Query."""
        kind: dict[str, Any] = {} if scoring else {"scoringType": "Query", "scoringEndpoint": ""}
        plain = entry(name, scoring=scoring, source=self.source.url)
        return {
            **plain,
            "sourceEndpoint": f"{self.source.url}/api/v1/{'query_range' if scoring else 'query'}",
            "scoringInterval": 1,
            "scoreDimensionFormat": "${scoreName}",
            "publish": EAGER,
            "runsOn": "Hub",
            "clusterLabel": {"name": "cluster"},
            **kind,
            **more,
        }

    def put(self, *entries: dict[str, Any], fleet: list[FleetCluster]) -> None:
        summaries, listed = json.dumps(entries).encode(), clusters.encode(fleet).encode()
        self.place.volume.swap({"summaries": summaries, "clusters": listed})

    @property
    def flags(self) -> list[str | Path]:
        return ["--clusters", self.place.volume.directory / "clusters"]

    def scorer(self) -> AbstractAsyncContextManager[RunningAgent]:
        return self.place.agent(*self.flags, hub=self.server)

    def value(self, cluster: str) -> dict[str, int]:
        return self.hub.values("cpu-score", namespace=cluster)

    async def shows(self, **values: int) -> None:
        """Waits until the clusters have these scores."""
        expected = {cluster: {"cpu-score": value} for cluster, value in values.items()}
        await until(
            lambda: {cluster: self.value(cluster) for cluster in expected} == expected,
            what=f"{expected}",
        )


@pytest.fixture
async def scene(place: AgentFolder) -> AsyncIterator[FleetAgentScene]:
    hub, store = ScoreHub(namespaces=("c0", "c1", "c2", "c3", "c4")), CentralStore(c1=11, c2=22)
    async with hub as server, InMemory(store) as source:
        yield FleetAgentScene(hub=hub, store=store, server=server, source=source, place=place)


def fleet(*names: str, scorers: tuple[str, ...] = ("cpu",), **values: str) -> list[FleetCluster]:
    return [
        FleetCluster(
            name=name,
            scorers=scorers,
            values={"claim:id.k8s.io": values[name]} if name in values else {},
        )
        for name in names
    ]


async def test_one_query_scores_every_cluster(scene: FleetAgentScene) -> None:
    scene.store.values |= {"c2": 22.9, "c3": 33, "stranger": 50}
    header = {"name": "X-Scope-OrgID", "value": "fleet"}
    more: dict[str, Any] = {
        "sourceHeaders": [header],
        "sourceParameters": {"dedup": "true"},
        "sourceOnPartial": "Fail",
    }
    scene.put(scene.entry(sourceRef="central", **more), fleet=fleet("c1", "c2"))
    async with scene.scorer() as agent:
        await scene.shows(c1=11, c2=22)
        labels = scene.hub.scores["c1", "cpu-score"]["metadata"]["labels"]
        assert labels == {**HUB_LABELS, "gitops-dsf.io/scorer": "cpu"}
        assert ("c3", "cpu-score") not in scene.hub.scores
        await until(lambda: len(scene.source.seen) >= 2, what="a second cycle")
        assert {(seen.query["query"], seen.query["dedup"]) for seen in scene.source.seen} == {
            ("up", "true")
        }
        assert {seen.headers.get("x-scope-orgid") for seen in scene.source.seen} == {"fleet"}
        samples = await agent.samples()
        raw = 'dynamic_score{ds_cluster="c1"'
        assert [value for name, value in samples.items() if name.startswith(raw)] == [11]
        assert samples['gitops_dsf_agent_clusters{score_name="cpu-score",state="scored"}'] == 2


async def test_check_shows_the_scores_of_every_cluster(
    scene: FleetAgentScene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.put(scene.entry(), fleet=fleet("c1", "c2"))
    assert await checked("--config-dir", scene.place.volume.directory, *scene.flags) == 0
    assert "cpu: cpu-score: c1 cpu-score=11, c2 cpu-score=22" in capsys.readouterr().out


async def test_a_cluster_without_a_series_is_named_once_and_keeps_its_score(
    scene: FleetAgentScene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dsf_agent")
    missing = 'gitops_dsf_agent_cluster_missing{cluster="c2",score_name="cpu-score"}'
    scene.put(scene.entry(), fleet=fleet("c1", "c2"))
    async with scene.scorer() as agent:
        await scene.shows(c2=22)
        del scene.store.values["c2"]
        scene.store.values["c1"] = 44
        await scene.shows(c1=44)
        seen = len(scene.source.seen)
        await until(lambda: len(scene.source.seen) > seen + 3, what="more cycles")
        assert scene.value("c2") == {"cpu-score": 22}
        assert [name for name in await agent.samples() if "missing{" in name] == [missing]
        scene.store.values["c2"] = 23
        await scene.shows(c2=23)
        assert missing not in await agent.samples()
    told = [record.message for record in caplog.records if "series" in record.message]
    assert told == [
        "the source has no series of 1 cluster: c2",
        "the source has series again of 1 cluster: c2",
    ]


async def test_the_default_score_counts_for_each_cluster_alone(scene: FleetAgentScene) -> None:
    del scene.store.values["c2"]
    scene.put(scene.entry(defaultScore=-7), fleet=fleet("c1", "c2"))
    async with scene.scorer():
        await scene.shows(c1=11, c2=-7)
        scene.store.values |= {"c2": float("nan"), "c1": 12}
        await scene.shows(c1=12)
        assert scene.value("c2") == {"cpu-score": -7}, (
            "a series without a usable value is not an absence"
        )


async def test_a_source_that_is_down_neither_deletes_nor_renews(scene: FleetAgentScene) -> None:
    scene.put(scene.entry(scoreTTLSeconds=60), fleet=fleet("c1", "c2"))
    async with scene.scorer() as agent:
        await scene.shows(c1=11, c2=22)
        scene.source.handler = lambda _seen: PeerFault()
        await until(lambda: agent.scorer()["state"] == "failing", what="the failure")
        writes = len(scene.hub.writes)
        await asyncio.sleep(61)
        assert len(scene.hub.writes) == writes
        assert scene.value("c1") == {"cpu-score": 11}
        scene.source.handler = scene.store
        await until(lambda: len(scene.hub.writes) > writes, what="it is written again", seconds=400)


async def test_scoring_apis_get_a_few_clusters_at_a_time(scene: FleetAgentScene) -> None:
    names = [f"c{index}" for index in range(5)]
    scene.store.values = {name: index for index, name in enumerate(names)}
    sizes: list[list[str]] = []

    def api(seen: RecordedRequest) -> SentReply:
        asked = sorted({one["metric"]["cluster"] for one in seen.json()["data"]})
        sizes.append(asked)
        return failure(500, "no") if "c3" in asked else last_values(seen)

    async with InMemory(api) as scoring:
        scene.put(scene.entry(scoring=scoring.url, clustersPerRequest=2), fleet=fleet(*names))
        async with scene.scorer() as agent:
            await scene.shows(c1=1, c4=4)
            assert {tuple(asked) for asked in sizes} == {("c0", "c1"), ("c2", "c3"), ("c4",)}
            assert scene.value("c2") == scene.value("c3") == {}
            assert await agent.failures() == {"cpu-score": {"server_error"}}


async def test_the_clusters_change_without_a_restart(scene: FleetAgentScene) -> None:
    scene.store.values["c3"] = 33
    scene.put(scene.entry(), fleet=fleet("c1", "c2"))
    async with scene.scorer() as agent:
        await scene.shows(c2=22)
        scene.place.volume.swap({"summaries": b"[]", "clusters": b'{"clusters": [{"name": "c1"'})
        await until(
            lambda: agent.agent.ready().detail["configuration"]["trouble"],
            what="it is reported",
        )
        scene.put(scene.entry(), fleet=[FleetCluster(name="c2"), *fleet("c1", "c3")])
        await scene.shows(c3=33)
        await until(
            lambda: ("c2", "cpu-score") not in scene.hub.scores, what="the old score is deleted"
        )
        assert scene.value("c1") == {"cpu-score": 11}


async def test_scores_move_between_agents_and_the_hub_scorer(scene: FleetAgentScene) -> None:
    """The new writer takes over with its first write.

    Before, the hub refuses the old one's deletion.
    """
    hub, server, spoke = scene.hub, scene.server, AgentFolder(scene.place.folder / "agent")
    cpu, disk = (scene.entry(name, scoringInterval=20) for name in ("cpu", "disk"))
    there = {**cpu, "runsOn": None, "clusterLabel": None}
    other = {**there, "name": "other", "scoreName": "other"}

    def refuse_deletions() -> None:
        hub.before = lambda seen: failure(403, "taken over") if seen.method == "DELETE" else None

    scene.store.values = {"c1": 11}
    spoke.put(there)
    async with spoke.agent(hub=server) as agent:
        await scene.shows(c1=11)
        refuse_deletions()
        spoke.put(other)
        await until(
            lambda: any(seen.method == "DELETE" for seen in server.seen), what="it may not delete"
        )
        await scene.shows(c1=11)
        scene.store.values["c1"] = 50
        scene.put(cpu, fleet=fleet("c1"))
        async with scene.scorer() as scorer:
            await scene.shows(c1=50)
            assert (
                hub.scores["c1", "cpu-score"]["metadata"]["labels"]["gitops-dsf.io/runs-on"]
                == "Hub"
            )
            # The agent tries again after five minutes.
            await asyncio.sleep(320)
            await scene.shows(c1=50)
            scene.put(disk, fleet=fleet("c1", scorers=("disk",)))
            await until(
                lambda: names(scorer) == ["disk"], what="the hub scorer reads its file first"
            )
            spoke.put(there, other)
            await until(
                lambda: not on_hub(hub), what="the agent takes over, and nobody deletes the score"
            )
            scene.store.values["c1"] = 60
            await scene.shows(c1=60)
            spoke.put(other)
            await until(lambda: names(agent) == ["other"], what="the agent reads its file first")
            seen = len(server.seen)
            scene.put(cpu, disk, fleet=fleet("c1", scorers=("cpu", "disk")))
            refuse_deletions()
            await until(lambda: on_hub(hub), what="the same process takes over a second time")
            patches = [one.path for one in server.seen[seen:] if one.method == "PATCH"]
            first = next(path for path in patches if "/cpu-score" in path)
            assert not first.endswith("/status"), "the label changes first"


def stated(hub: ScoreHub, cluster: str) -> tuple[str, str, str] | None:
    """Status, reason and message of the condition Scored."""
    status = hub.scores.get((cluster, "cpu-score"), {}).get("status") or {}
    for condition in status.get("conditions", []):
        return condition["status"], condition["reason"], condition["message"]
    return None


async def test_each_cluster_has_its_own_reason(scene: FleetAgentScene) -> None:
    """One has no series, one request fails, one is scored."""

    def answers(seen: RecordedRequest) -> SentReply:
        if b'"c2"' in seen.body:
            return SentReply(status=500, body=b"no model for c2")
        return last_values(seen)

    async with InMemory(answers) as api:
        scene.put(scene.entry(scoring=api.url, clustersPerRequest=1), fleet=fleet("c1", "c2", "c3"))
        async with scene.scorer() as agent:
            await until(
                lambda: all(stated(scene.hub, cluster) for cluster in ("c1", "c2", "c3")),
                what="each",
            )
            assert stated(scene.hub, "c1") == ("True", "Scored", "")
            status, reason, message = stated(scene.hub, "c2") or ("", "", "")
            assert (status, reason) == ("False", "ScoringApiFailed")
            assert "no model for c2" in message
            assert stated(scene.hub, "c3") == (
                "False",
                "NoSeries",
                "the source has no usable series of this cluster",
            )
            samples = await agent.samples()
    for reason in ("NoSeries", "ScoringApiFailed"):
        labels = f'{{reason="{reason}",score_name="cpu-score"}}'
        assert samples[f"gitops_dsf_agent_clusters_without_scores{labels}"] == 1


async def test_a_source_that_was_never_there_is_the_reason_of_every_cluster(
    scene: FleetAgentScene,
) -> None:
    scene.put(
        scene.entry(sourceEndpoint="http://127.0.0.1:9/api/v1/query"), fleet=fleet("c1", "c2")
    )
    async with scene.scorer():
        for cluster in ("c1", "c2"):
            await until(lambda cluster=cluster: stated(scene.hub, cluster), what=cluster)
            status, reason, _ = stated(scene.hub, cluster) or ("", "", "")
            assert (status, reason) == ("False", "SourceUnreachable")
            labels = scene.hub.scores[cluster, "cpu-score"]["metadata"]["labels"]
            assert labels.items() >= HUB_LABELS.items()


def names(agent: RunningAgent) -> list[str]:
    return [one["name"] for one in agent.agent.ready().detail["scorers"]]


def on_hub(hub: ScoreHub) -> bool:
    return "gitops-dsf.io/runs-on" in hub.scores["c1", "cpu-score"]["metadata"]["labels"]


async def test_an_entry_that_cannot_run_is_told_on_its_clusters(scene: FleetAgentScene) -> None:
    """Also on those that come later. Entries of agents are not the hub scorer's to explain."""
    async with InMemory(last_values) as api:
        bad = scene.entry("bad", scoring=api.url, scoringInterval=0)
        agents = scene.entry("agents", scoring=api.url, runsOn=None)
        told = "bad", "agents"
        scene.put(bad, agents, fleet=fleet("c1", "c2", scorers=told))
        async with scene.scorer():
            await until(lambda: len(scene.hub.scores) == 2, what="both clusters")
            scene.put(bad, agents, fleet=fleet("c1", "c3", scorers=told))
            await until(lambda: ("c3", "bad-score") in scene.hub.scores, what="a new cluster")
            assert {name for _, name in scene.hub.scores} == {"bad-score"}
            status = scene.hub.scores["c3", "bad-score"]["status"]
            assert status.keys() == {"conditions"}
            assert status["conditions"][0]["reason"] == "InvalidConfiguration"
