"""The hub scorer: one query for all clusters, and each cluster's score in its own namespace."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dsf_agent.configuration import settings
from dsf_agent.process import build, check
from dsf_wire import clusters
from dsf_wire.clusters import FleetCluster
from tests.support.agent.apis import last_values, matrix
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.faults import EAGER
from tests.support.agent.http import Fault, HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, failure, hub_flags
from tests.support.agent.running import RunningAgent, running
from tests.support.virtual_time import LoopClock
from tests.support.waiting import until

HUB_LABELS = {"app.kubernetes.io/managed-by": "gitops-dsf-agent", "gitops-dsf.io/runs-on": "Hub"}


class Store:
    """A central metric store: an instant vector with the values by cluster."""

    def __init__(self, **values: float) -> None:
        self.values: dict[str, float] = dict(values)
        self.label = "cluster"

    def __call__(self, seen: Seen) -> Reply:
        points = [
            {"metric": {self.label: name, "job": "node"}, "value": [1_700_000_000, str(value)]}
            for name, value in self.values.items()
        ]
        if not seen.path.endswith("/query"):
            return matrix([{"metric": one["metric"], "values": [one["value"]]} for one in points])
        return Reply.of({"status": "success", "data": {"resultType": "vector", "result": points}})


class Installation:
    """The hub scorer's files."""

    def __init__(self, tmp_path: Path, *, source: str, scoring: str = "") -> None:
        self.volume = ConfigMapVolume(tmp_path / "config")
        self._source, self._scoring = source, scoring

    def entry(self, name: str, **more: Any) -> dict[str, Any]:
        kind: dict[str, Any] = {} if self._scoring else {"scoringType": "Query"}
        end = "query_range" if self._scoring else "query"
        found = {
            **entry(name, scoring=self._scoring or "http://unused", source=self._source),
            "sourceEndpoint": f"{self._source}/api/v1/{end}",
            "scoringInterval": 1,
            "scoreDimensionFormat": "${scoreName}",
            "publish": EAGER,
            "runsOn": "Hub",
            "clusterLabel": {"name": "cluster"},
            **kind,
            **more,
        }
        if not self._scoring:
            found["scoringEndpoint"] = ""
        return found

    def put(self, *entries: dict[str, Any], fleet: list[FleetCluster]) -> None:
        self.volume.swap(
            {"summaries": json.dumps(entries).encode(), "clusters": clusters.encode(fleet).encode()}
        )

    @property
    def flags(self) -> list[str | Path]:
        return ["--clusters", self.volume.directory / "clusters"]


def fleet(*names: str, scorers: tuple[str, ...] = ("cpu",), **values: str) -> list[FleetCluster]:
    """Clusters that these scorers score."""
    return [
        FleetCluster(
            name=name,
            scorers=scorers,
            values={"claim:id.k8s.io": values[name]} if name in values else {},
        )
        for name in names
    ]


def hub_of(*names: str) -> HubFake:
    return HubFake(namespaces=names)


def value(hub: HubFake, cluster: str, name: str = "cpu-score") -> dict[str, int]:
    return hub.values(name, namespace=cluster)


async def test_one_query_scores_every_cluster(tmp_path: Path) -> None:
    """Each score is in the cluster's namespace and has the label of the hub scorer. Clusters of others are
    left alone.
    """
    hub, store = hub_of("c1", "c2", "c3"), Store(c1=11, c2=22.9, c3=33, stranger=50)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the second cluster's score")
            assert value(hub, "c1") == {"cpu-score": 11}
            assert hub.scores["c1", "cpu-score"]["metadata"]["labels"] == {
                **HUB_LABELS,
                "gitops-dsf.io/scorer": "cpu",
            }
            assert ("c3", "cpu-score") not in hub.scores
            await until(lambda: len(source.seen) >= 2, what="a second cycle")
            assert {seen.query["query"] for seen in source.seen} == {"up"}
            samples = await agent.samples()
            assert samples[sample("c1")] == 11
            assert samples['gitops_dsf_agent_clusters{score_name="cpu-score",state="scored"}'] == 2


def sample(cluster: str) -> str:
    empty = "".join(
        f'ds_{name}="",' for name in ("node", "device", "namespace", "app", "pod", "container", "meta")
    )
    return f'dynamic_score{{ds_cluster="{cluster}",{empty}ds_score_name="cpu-score"}}'


async def test_a_central_store_gets_the_tenant_header(tmp_path: Path) -> None:
    hub, store = hub_of("c1"), Store(c1=11)
    header = {"name": "X-Scope-OrgID", "value": "fleet"}
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(
            installation.entry("cpu", sourceRef="central", sourceHeaders=[header]), fleet=fleet("c1")
        )
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags):
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the cluster's score")
    assert {seen.headers.get("x-scope-orgid") for seen in source.seen} == {"fleet"}


async def test_check_shows_the_scores_of_every_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with HttpFake(Store(c1=11, c2=22.9, stranger=50)) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = ["check", "--config-dir", str(installation.volume.directory), *map(str, installation.flags)]
        read = settings.read(settings.parser().parse_args(flags), {})
        assert await check.run(build.Adapters(read, clock=LoopClock()), only=[]) == 0
    assert "cpu: cpu-score: c1 cpu-score=11, c2 cpu-score=22" in capsys.readouterr().out


async def test_a_claim_names_the_cluster(tmp_path: Path) -> None:
    hub, store = hub_of("c1", "c2"), Store(**{"id-1": 11, "id-2": 22, "c1": 99})
    store.label = "clusterID"
    label = {"name": "clusterID", "claim": "id.k8s.io"}
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(
            installation.entry("cpu", clusterLabel=label), fleet=fleet("c1", "c2", c1="id-1", c2="id-2")
        )
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags):
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the second cluster's score")
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the first cluster's score")


async def test_a_cluster_without_a_series_is_named_once_and_keeps_its_score(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="dsf_agent")
    hub, store = hub_of("c1", "c2"), Store(c1=11, c2=22)
    missing = 'gitops_dsf_agent_cluster_missing{cluster="c2",score_name="cpu-score"}'
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the score")
            del store.values["c2"]
            store.values["c1"] = 44
            await until(lambda: value(hub, "c1") == {"cpu-score": 44}, what="the other cluster goes on")
            seen = len(source.seen)
            await until(lambda: len(source.seen) > seen + 3, what="more cycles")
            assert value(hub, "c2") == {"cpu-score": 22}
            assert {name: value for name, value in (await agent.samples()).items() if "missing{" in name} == {
                missing: 1
            }
            store.values["c2"] = 23
            await until(lambda: value(hub, "c2") == {"cpu-score": 23}, what="the series is there again")
            assert missing not in await agent.samples()
    told = [record.message for record in caplog.records if "series" in record.message]
    assert told == ["no series of 1 cluster: c2", "series again of 1 cluster: c2"]


async def test_the_default_score_counts_for_each_cluster_alone(tmp_path: Path) -> None:
    hub, store = hub_of("c1", "c2"), Store(c1=11)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu", defaultScore=-7), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags):
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the score")
            await until(lambda: value(hub, "c2") == {"cpu-score": -7}, what="the default score")
            store.values["c2"] = float("nan")
            store.values["c1"] = 12
            await until(lambda: value(hub, "c1") == {"cpu-score": 12}, what="a further cycle")
            assert value(hub, "c2") == {"cpu-score": -7}, "a series without a usable value is no absence"


async def test_a_source_that_is_down_neither_deletes_nor_renews(tmp_path: Path) -> None:
    hub, store = hub_of("c1", "c2"), Store(c1=11, c2=22)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu", scoreTTLSeconds=60), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the score")
            source.handler = lambda _seen: Fault()
            await until(lambda: agent.scorer()["state"] == "failing", what="the failure")
            writes = len(hub.writes)
            await asyncio.sleep(61)
            assert len(hub.writes) == writes
            assert value(hub, "c1") == {"cpu-score": 11}
            source.handler = store
            await until(lambda: len(hub.writes) > writes, what="the score is written again", seconds=400)


async def test_scoring_apis_get_a_few_clusters_at_a_time(tmp_path: Path) -> None:
    """A request that fails concerns its clusters only."""
    hub = hub_of(*(f"c{index}" for index in range(5)))
    store = Store(**{f"c{index}": index for index in range(5)})
    sizes: list[list[str]] = []

    def api(seen: Seen) -> Reply:
        asked = sorted({one["metric"]["cluster"] for one in seen.json()["data"]})
        sizes.append(asked)
        return failure(500, "no") if "c3" in asked else last_values(seen)

    async with HttpFake(hub) as server, HttpFake(store) as source, HttpFake(api) as scoring:
        installation = Installation(tmp_path, source=source.url, scoring=scoring.url)
        installation.put(
            installation.entry("cpu", clustersPerRequest=2), fleet=fleet(*(f"c{index}" for index in range(5)))
        )
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c4") == {"cpu-score": 4}, what="the last cluster's score")
            await until(lambda: value(hub, "c1") == {"cpu-score": 1}, what="the first group")
            assert sorted(sizes)[:3] in (
                [["c0", "c1"], ["c2", "c3"], ["c4"]],
                [["c0", "c1"], ["c0", "c1"], ["c2", "c3"]],
            )
            assert value(hub, "c2") == value(hub, "c3") == {}
            assert await agent.failures() == {"cpu-score": {"server_error"}}


async def test_the_clusters_change_without_a_restart(tmp_path: Path) -> None:
    """A cluster that joins is scored in the next cycle. The score of one that leaves is deleted, and a broken
    file deletes nothing.
    """
    hub, store = hub_of("c1", "c2", "c3"), Store(c1=11, c2=22, c3=33)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the score")
            installation.volume.swap({"summaries": b"[]", "clusters": b'{"clusters": [{"name": "c1"'})
            await until(lambda: trouble(agent), what="the broken file is reported")
            left = [FleetCluster(name="c2"), *fleet("c1", "c3")]
            installation.put(installation.entry("cpu"), fleet=left)
            await until(lambda: value(hub, "c3") == {"cpu-score": 33}, what="the new cluster's score")
            await until(lambda: ("c2", "cpu-score") not in hub.scores, what="the old score is deleted")
            assert value(hub, "c1") == {"cpu-score": 11}


def trouble(agent: RunningAgent) -> bool:
    return agent.agent.detail()[1]["configuration"]["trouble"] is not None


async def test_scores_move_between_agents_and_the_hub_scorer(tmp_path: Path) -> None:
    """The new writer takes the object over with its first write, and the old one does not delete it. The hub
    refuses the deletion while nobody has taken over.
    """
    hub, store = hub_of("c1"), Store(c1=11)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path / "hub", source=source.url)
        cpu = installation.entry("cpu", scoringInterval=20)
        there = {**cpu, "runsOn": None, "clusterLabel": None}
        volume = ConfigMapVolume(tmp_path / "agent" / "config")
        volume.put(there)
        agent_flags = hub_flags(tmp_path / "agent", config_dir=volume.directory, server=server)
        async with running(*agent_flags) as agent:
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the agent's score")
            hub.before = lambda seen: failure(403, "taken over") if seen.method == "DELETE" else None
            other = {**there, "name": "other", "scoreName": "other"}
            volume.put(other)
            await until(
                lambda: any(seen.method == "DELETE" for seen in server.seen),
                what="the agent may not delete the score",
            )
            assert value(hub, "c1") == {"cpu-score": 11}
            store.values["c1"] = 50
            installation.put(cpu, fleet=fleet("c1"))
            flags = hub_flags(tmp_path / "hub", config_dir=installation.volume.directory, server=server)
            async with running(*flags, *installation.flags) as scorer:
                await until(lambda: value(hub, "c1") == {"cpu-score": 50}, what="the hub scorer's score")
                labels = hub.scores["c1", "cpu-score"]["metadata"]["labels"]
                assert labels["gitops-dsf.io/runs-on"] == "Hub"
                # The agent tries again after five minutes.
                await asyncio.sleep(320)
                assert value(hub, "c1") == {"cpu-score": 50}
                disk = installation.entry("disk", scoringInterval=20)
                installation.put(disk, fleet=fleet("c1", scorers=("disk",)))
                await until(lambda: names(scorer) == ["disk"], what="the hub scorer reads its file first")
                volume.put(there, other)
                await until(
                    lambda: not on_hub(hub), what="the agent takes over, and nobody deletes the score"
                )
                store.values["c1"] = 60
                await until(lambda: value(hub, "c1") == {"cpu-score": 60}, what="the agent's score again")
                volume.put(other)
                await until(lambda: names(agent) == ["other"], what="the agent reads its file first")
                seen = len(server.seen)
                installation.put(cpu, disk, fleet=fleet("c1", scorers=("cpu", "disk")))
                hub.before = lambda seen: failure(403, "taken over") if seen.method == "DELETE" else None
                await until(lambda: on_hub(hub), what="the same process takes over a second time")
                patches = [one.path for one in server.seen[seen:] if one.method == "PATCH"]
                first = next(path for path in patches if "/cpu-score" in path)
                assert not first.endswith("/status"), "the label changes first"


def names(agent: RunningAgent) -> list[str]:
    return [one["name"] for one in agent.agent.detail()[1]["scorers"]]


def on_hub(hub: HubFake) -> bool:
    return "gitops-dsf.io/runs-on" in hub.scores["c1", "cpu-score"]["metadata"]["labels"]


async def test_an_entry_of_the_other_place_does_not_run(tmp_path: Path) -> None:
    hub, store = hub_of("c1"), Store(c1=11)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        here = installation.entry("cpu")
        installation.put({**here, "name": "b", "scoreName": "b", "runsOn": None}, fleet=fleet("c1"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: problems(agent), what="the problem")
            assert problems(agent) == ["runsOn is not Hub: the agents run this entry"]
        installation.volume.put(here)
        async with running(*flags) as agent:
            await until(lambda: problems(agent), what="the problem")
            assert problems(agent) == ["runsOn is Hub: the hub scorer runs this entry, and no agent"]


def problems(agent: RunningAgent) -> list[str]:
    return [one["reason"] for one in agent.agent.detail()[1]["configuration"]["problems"]]


async def test_a_restart_writes_nothing_that_is_there(tmp_path: Path) -> None:
    hub, store = hub_of("c1", "c2"), Store(c1=11, c2=22)
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags):
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the score")
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the score")
        writes, seen = len(hub.writes), len(source.seen)
        async with running(*flags, *installation.flags):
            await until(lambda: len(source.seen) > seen + 2, what="cycles of the new process")
        assert len(hub.writes) == writes


async def test_a_namespace_without_rights_delays_no_other_cluster(tmp_path: Path) -> None:
    hub, store = hub_of("c1", "c2"), Store(c1=11, c2=22)
    hub.before = lambda seen: failure(403, "forbidden") if "/c1/" in seen.path else None
    async with HttpFake(hub) as server, HttpFake(store) as source:
        installation = Installation(tmp_path, source=source.url)
        installation.put(installation.entry("cpu"), fleet=fleet("c1", "c2"))
        flags = hub_flags(tmp_path, config_dir=installation.volume.directory, server=server)
        async with running(*flags, *installation.flags) as agent:
            await until(lambda: value(hub, "c2") == {"cpu-score": 22}, what="the other cluster")
            await until(lambda: agent.scorer()["publish"], what="the fault in /readyz")
            assert agent.scorer()["publish"]["message"].startswith("cluster c1: ")
            hub.before = lambda _seen: None
            await until(lambda: value(hub, "c1") == {"cpu-score": 11}, what="the rights are there")
            await until(lambda: agent.scorer()["publish"] is None, what="no fault any more")
