"""The mounted file.

Changes are followed, an edit restarts its own worker, upstream's format works.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.agent.grid import assert_on_grid, grid_of
from tests.support.agent.http import (
    HttpFake,
    RecordedRequest,
    SentReply,
    last_values,
    prometheus,
    scores,
    series,
)
from tests.support.agent.process import agent
from tests.support.agent.running import SHORT, AgentFolder, ConfigMapVolume, entry, running
from tests.support.waiting import until


async def test_an_edit_restarts_its_own_worker_and_no_other(place: AgentFolder) -> None:
    async with HttpFake(prometheus(series(1))) as source, HttpFake(scores(1.0)) as scoring:
        one = entry(
            "one", scoring=f"{scoring.url}/one", source=f"{source.url}/one", scoringInterval=60
        )
        two = entry(
            "two", scoring=f"{scoring.url}/two", source=f"{source.url}/two", scoringInterval=1
        )
        place.put(one, two)
        async with place.agent():
            await until(lambda: source.to("one") and source.to("two"), what="both ran at once")
            for query in ("a", "b", "c"):
                calls = len(source.to("one"))
                place.put({**one, "sourceQuery": query}, two)
                # At once: by its interval it would run half a minute later at the earliest.
                await until(
                    lambda calls=calls: len(source.to("one")) > calls,
                    what="the edited one runs again",
                    seconds=25,
                )
                assert source.to("one")[-1].query["query"] == query
            calls = len(source.to("two"))
            await until(lambda: len(source.to("two")) >= calls + 3, what="the neighbour goes on")
            assert_on_grid(source.to("two")[1:], grid=grid_of("two"), least=2)
            assert len(source.to("one")) == 4


async def test_thirty_swaps_a_second(place: AgentFolder) -> None:
    """The agent follows, has the last state at the end and deletes nothing.

    A scorer that nobody edits keeps its grid.
    """
    count = 150
    async with HttpFake(scores(1.0)) as scoring:
        calm = entry("calm", scoring=f"{scoring.url}/calm", scoringInterval=1)
        place.put(calm)
        async with place.agent(waits=replace(SHORT, poll=1)) as agent:
            await until(lambda: scoring.to("calm"), what="it runs")
            for number in range(count):
                place.put(
                    calm, entry("edited", scoring=f"{scoring.url}/v{number}", scoringInterval=60)
                )
                await asyncio.sleep(1 / 30)
            await until(lambda: scoring.to(f"v{count - 1}"), what="the last state is in force")
            assert {path.stem for path in place.out.glob("*.yaml")} == {
                "calm-score",
                "edited-score",
            }
            assert await agent.failures() == {}
            assert agent.agent.ready().detail["configuration"]["trouble"] is None
    assert_on_grid(scoring.to("calm")[1:], grid=grid_of("calm"), least=3)
    # Bursts are collected for a tenth of a second, and the agent never falls behind them.
    assert len({seen.path for seen in scoring.seen}) > 5


async def test_a_directory_that_appears_late_disappears_and_returns(tmp_path: Path) -> None:
    async with HttpFake(scores(1.0)) as scoring:
        directory = tmp_path / "config"
        async with running(
            "--config-dir",
            directory,
            "--publish",
            f"dir:{tmp_path / 'out'}",
            waits=replace(SHORT, poll=0.2),
        ) as agent:
            assert (await agent.get("/readyz")).status_code == 503
            assert (await agent.get("/healthz")).status_code == 200
            ConfigMapVolume(directory).put(entry("one", scoring=f"{scoring.url}/one"))
            await until(lambda: scoring.to("one"), what="the first directory")
            assert (await agent.get("/readyz")).status_code == 200
            directory.rename(tmp_path / "away")
            await until(
                lambda: agent.agent.ready().detail["configuration"]["trouble"],
                what="it is missed",
            )
            assert (await agent.get("/readyz")).json()["configuration"]["trouble"][
                "reason"
            ] == "missing"
            volume = ConfigMapVolume(directory)
            volume.put(entry("two", scoring=f"{scoring.url}/two"))
            await until(lambda: scoring.to("two"), what="the second directory")
            volume.put(entry("three", scoring=f"{scoring.url}/three"))
            await until(lambda: scoring.to("three"), what="swaps in the second directory")


UPSTREAM = """[
  {"name": "simple-prediction-scorer", "scoreName": "simple_prediction_score", "sourceType": "Prometheus",
   "sourceEndpoint": "%(source)s/api/v1/query_range", "sourceEndpointAuthName": "", "sourceEndpointAuthKey": "",
   "sourceQuery": "sum by (node, namespace, pod) (rate(container_cpu_usage_seconds_total{container!=\\"\\"}[1m]));up",
   "sourceRange": 3600, "sourceStep": 30, "scoringEndpoint": "%(scoring)s/scoring", "scoringInterval": 30,
   "scoringEndpointAuthName": "", "scoringEndpointAuthKey": "", "location": "Internal",
   "scoreDestination": "AddOnPlacementScore", "scoreDimensionFormat": "${node};${namespace}"},
  {"name": "x", "scoreName": "x", "scoringInterval": "thirty"},
  {"name": "no-hub", "scoreName": "no_hub", "sourceType": "None", "scoringEndpoint": "%(scoring)s/scoring", "scoringInterval": 30,
   "scoreDestination": "None", "location": "External"}
]"""  # noqa: E501


async def test_upstreams_format_runs_unchanged(place: AgentFolder) -> None:
    def api(seen: RecordedRequest) -> SentReply:
        return last_values(seen) if seen.json()["data"] else scores(5.0)(seen)

    async with (
        HttpFake(prometheus(series(2, points=2, namespace="ns"))) as source,
        HttpFake(api) as scoring,
    ):
        place.volume.put_raw((UPSTREAM % {"source": source.url, "scoring": scoring.url}).encode())
        async with place.agent() as agent:
            await until(lambda: len(scoring.seen) == 2 and place.written(), what="both ran")
            ready = agent.agent.ready
            await until(
                lambda: all(scorer["state"] == "running" for scorer in ready().detail["scorers"]),
                what="both are counted",
            )
            assert [path.name for path in place.out.iterdir()] == ["simple-prediction-score.yaml"]
            assert (
                '{name: "n1;ns", value: 2}'
                in (place.out / "simple-prediction-score.yaml").read_text()
            )
            sample = (
                'dynamic_score{ds_cluster="c1",ds_node="n1",ds_device="",ds_namespace="ns",ds_app="",ds_pod="",'
                'ds_container="",ds_meta="",ds_score_name="simple_prediction_score"}'
            )
            samples = await agent.samples()
            assert samples[sample] == 2.0
            assert (
                samples['dynamic_scoring_requests_total{score_name="no_hub",status="success"}'] == 1
            )
            assert samples['gitops_dsf_agent_scorers{state="invalid"}'] == 1
            problems = agent.agent.ready().detail["configuration"]["problems"]
            assert [(problem["index"], problem["name"]) for problem in problems] == [(1, "x")]
            first = source.seen[0].query
            assert int(first["end"]) % 30 == 0
            assert int(first["end"]) - int(first["start"]) == 3600


@pytest.mark.real_time
async def test_a_proxy_of_the_environment_is_used(warm_programs: Path, place: AgentFolder) -> None:
    """An AddOnDeploymentConfig sets it. NO_PROXY is respected."""
    async with HttpFake(scores(3.0)) as proxy, HttpFake(scores(4.0)) as near:
        place.put(
            entry("far", scoring="http://scoring.example.org"), entry("near", scoring=near.url)
        )
        environ = {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1"}
        async with agent(
            *place.flags("--cluster-name", "c1"),
            environ=environ,
            command=warm_programs / "gitops-dsf-agent",
        ):
            await until(lambda: len(list(place.out.glob("*.yaml"))) == 2, what="both are published")
        assert {seen.target for seen in proxy.seen} == {"http://scoring.example.org/scoring"}
        assert near.seen
