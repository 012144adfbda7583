"""/metrics after cycles with known numbers, and the pages as scrapers and probes see them."""

import asyncio
import json
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from tests.support.agent.http import HttpFake, SentReply, matrix, scores, series
from tests.support.agent.process import agent as process
from tests.support.agent.running import AgentFolder, RunningAgent, entry, running
from tests.support.virtual_time import wall
from tests.support.waiting import until

PIECE_LINES = 2_500
MAX_CONNECTIONS = 256

MIXED = SentReply(
    body=(
        b'{"results": [{"metric": {"node": "a"}, "score": 5}, {"metric": {"node": "b"}, "score": 500},'  # noqa: E501
        b' {"metric": {}, "score": 1}, {"metric": {"node": "c"}, "score": NaN},'
        b' {"metric": {"node": "d"},'
        b' "score": "high"}]}'
    )
)


async def test_one_cycle_in_numbers(place: AgentFolder) -> None:
    answer = matrix(series(4), warnings=["not a counter"], infos=["slow"])
    start = wall()
    async with HttpFake(lambda _seen: answer) as source, HttpFake(lambda _seen: MIXED) as api:
        one = entry(
            "cpu", scoring=api.url, source=source.url, scoringInterval=3600, sourceRef="central"
        )
        place.put(one, {"name": "odd"})
        async with place.agent() as agent:
            await until(
                lambda: _is(agent, 'publish_total{outcome="written",score_name="cpu-score"}', 1),
                what="written",
            )
            samples = await agent.samples()
    of_cpu = '{score_name="cpu-score"}'
    ours = {
        'source_info{score_name="cpu-score",source="central"}': 1,
        f"series_fetched{of_cpu}": 4,
        f"fetched_bytes_total{of_cpu}": len(answer.body),
        f"source_warnings_total{of_cpu}": 2,
        f"results{of_cpu}": 3,
        'results_dropped_total{reason="no_name",score_name="cpu-score"}': 1,
        'results_dropped_total{reason="not_finite",score_name="cpu-score"}': 1,
        'results_dropped_total{reason="invalid",score_name="cpu-score"}': 1,
        f"results_clamped_total{of_cpu}": 1,
        "deleted_scores_total": 0,
        'scorers{state="running"}': 1,
        'scorers{state="invalid"}': 1,
        f"circuit_open{of_cpu}": 0,
        f"circuit_opened_total{of_cpu}": 0,
        "config_usable": 1,
        "start_delay_seconds_count": 1,
        **{
            f'stage_duration_seconds_count{{score_name="cpu-score",stage="{stage}"}}': 1
            for stage in ("fetch", "score", "publish")
        },
    }
    assert {name: samples[f"gitops_dsf_agent_{name}"] for name in ours} == ours
    assert samples['dynamic_scoring_requests_total{score_name="cpu-score",status="success"}'] == 1
    for stage in ("fetch", "perform", "send"):
        assert 0 < samples[f"dynamic_scoring_{stage}_seconds_total{of_cpu}"] < 60
    for name in (f"last_success_timestamp_seconds{of_cpu}", "config_last_change_timestamp_seconds"):
        assert start - 1 <= samples[f"gitops_dsf_agent_{name}"] <= wall() + 1
    assert (
        sum(
            name.startswith("gitops_dsf_agent_build_info{") and 'cluster="c1"' in name
            for name in samples
        )
        == 1
    )
    assert not any(name.startswith("gitops_dsf_agent_failures_total") for name in samples)


async def _is(agent: RunningAgent, name: str, least: float) -> bool:
    return (await agent.samples()).get(f"gitops_dsf_agent_{name}", 0) >= least


async def test_series_of_a_removed_scorer_are_removed(place: AgentFolder) -> None:
    async with HttpFake(scores(1.0)) as api:
        gone, stays = (
            entry(name, scoring=api.url, scoringInterval=1) for name in ("gone", "stays")
        )
        place.put(gone, stays)
        async with place.agent() as agent:
            await until(lambda: _exposes(agent, {"gone-score", "stays-score"}), what="both")
            place.put(stays)
            await until(lambda: _exposes(agent, {"stays-score"}), what="one")
            samples = await agent.samples()
            assert not [name for name in samples if "gone-score" in name]
            assert (
                samples['dynamic_scoring_requests_total{score_name="stays-score",status="success"}']
                >= 1
            )


async def _exposes(agent: RunningAgent, score_names: set[str]) -> bool:
    return await agent.exposed() == score_names


@pytest.mark.real_time
async def test_json_logs_name_scorer_and_reason(warm_programs: Path, place: AgentFolder) -> None:
    async with HttpFake(lambda _seen: SentReply(status=403, body=b"no\nentry")) as api:
        place.put(entry("cpu", scoring=api.url), {"name": "odd"})
        program, flags = warm_programs / "gitops-dsf-agent", place.flags("--cluster-name", "c1")
        async with process(*flags, environ={"LOG_FORMAT": "json"}, command=program) as running_:
            await until(lambda: "forbidden" in running_.log, what="it fails")
            await running_.terminate()
    lines = [json.loads(line) for line in running_.log.splitlines()]
    assert all(line.keys() >= {"time", "level", "message"} for line in lines)
    (failed,) = [line for line in lines if line.get("reason") == "forbidden"]
    assert (failed["level"], failed["scorer"]) == ("warning", "cpu")
    assert "answered 403: no entry" in failed["message"]
    assert [line["scorer"] for line in lines if line.get("reason") == "bad_entry"] == ["odd"]


def _lines_of_scores(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("dynamic_score{")]


async def test_both_formats(place: AgentFolder) -> None:
    given = (1.5, -2.0, *range(PIECE_LINES))  # so that their text has two pieces
    async with HttpFake(scores(*given)) as api:
        place.put(entry("cpu", scoring=api.url))
        async with place.agent() as agent:
            await until(lambda: agent.scorer()["state"] == "running", what="scored")
            for accept, parse, kind in (
                ("text/plain", text_format, "text/plain"),
                (
                    "application/openmetrics-text;version=1.0.0",
                    openmetrics,
                    "application/openmetrics-text",
                ),
            ):
                texts = []
                for coding in ("identity", "gzip", "br, gzip;q=0.5"):
                    answer = await agent.get("/metrics", Accept=accept, Accept_Encoding=coding)
                    assert answer.headers["content-type"].startswith(kind)
                    assert "content-encoding" not in answer.headers
                    assert "process_open_fds" in answer.text
                    texts.append(answer.text)
                # The parser takes a tenth of a second. It reads the last text, which has the same
                # scores as the others.
                assert len({tuple(_lines_of_scores(text)) for text in texts}) == 1
                families = {family.name: family for family in parse(texts[-1])}
                values = {
                    sample.labels["ds_node"]: sample.value
                    for sample in families["dynamic_score"].samples
                }
                assert values == {f"n{number}": value for number, value in enumerate(given)}
                assert "process_open_fds" in families


async def test_probes_and_requests_that_are_not_served(place: AgentFolder) -> None:
    place.put()
    async with place.agent() as agent:
        await until(lambda: agent.agent.ready().is_ready, what="the file was seen")
        assert (await agent.get("/healthz")).text == "ok\n"
        assert (await agent.get("/")).status_code == 404
        port = agent.agent.server.port
        assert (
            await _raw(port, b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        ).startswith(b"HTTP/1.1 405")
        assert (
            await _raw(port, b"HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        ).endswith(b"\r\n\r\n")
        assert await _raw(port, b"\x16\x03\x01 this is TLS\r\n\r\n") == b""
        assert await _raw(port, b"GET /" + b"x" * 200_000) == b""


async def test_idle_connections_do_not_block_the_probes(tmp_path: Path) -> None:
    async with running(
        "--config-dir", tmp_path / "none", "--publish", f"dir:{tmp_path / 'out'}"
    ) as agent:
        silent = [
            await asyncio.open_connection("127.0.0.1", agent.agent.server.port)
            for _ in range(MAX_CONNECTIONS + 5)
        ]
        for _ in range(3):
            assert (await agent.get("/healthz")).status_code == 200
        async with asyncio.timeout(60):
            assert await silent[0][0].read() == b""
        for reader, _ in silent[-MAX_CONNECTIONS // 2 :]:
            assert not reader.at_eof()
        for _, writer in silent:
            writer.close()


async def _raw(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    try:
        async with asyncio.timeout(60):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
