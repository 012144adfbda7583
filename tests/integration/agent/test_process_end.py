"""SIGTERM during calls, wrong usage, a port that is in use."""

import asyncio
import os
from pathlib import Path

import pytest

from dsf_agent.main import main
from tests.support.agent.http import (
    HttpFake,
    PeerFault,
    RecordedRequest,
    SentReply,
    prometheus,
    scores,
    series,
)
from tests.support.agent.hub import ScoreHub
from tests.support.agent.process import agent
from tests.support.agent.running import AgentFolder, entry
from tests.support.waiting import until

AGENT = "gitops-dsf-agent"
C1 = ("--cluster-name", "c1")


@pytest.mark.parametrize("stage", ["fetch", "publish"])
@pytest.mark.real_time
async def test_sigterm_ends_in_time_with_work_in_flight(
    warm_programs: Path, place: AgentFolder, stage: str
) -> None:
    hub = ScoreHub(on_wire=True)
    source, scoring, server = HttpFake(prometheus(series(1))), HttpFake(scores(1.0)), hub
    hanging = source if stage == "fetch" else server
    hanging.handler = lambda _seen: PeerFault(hang=True)
    async with source, scoring, server:
        place.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=60))
        flags = place.flags("--request-timeout", "300", *C1, hub=server)
        async with agent(*flags, command=warm_programs / AGENT) as process:
            await until(lambda: hanging.seen, what="the stage is reached")
            assert await process.terminate() == 0
            assert "Traceback" not in process.log
            assert "never awaited" not in process.log


@pytest.mark.real_time
async def test_a_write_in_flight_is_finished(warm_programs: Path, place: AgentFolder) -> None:
    hub = ScoreHub()

    async def slow(seen: RecordedRequest) -> SentReply | PeerFault:
        await asyncio.sleep(0.3)
        return hub.answered(seen)

    async with HttpFake(slow) as server, HttpFake(scores(3.0)) as scoring:
        place.put(entry("cpu", scoring=scoring.url, scoringInterval=60))
        async with agent(*place.flags(*C1, hub=server), command=warm_programs / AGENT) as process:
            await until(
                lambda: any(seen.method == "POST" for seen in server.seen), what="it creates"
            )
            assert await process.terminate() == 0
            assert hub.values("cpu-score") == {"n0": 3}


@pytest.mark.real_time
async def test_files_that_hang_block_neither_other_scorers_nor_the_shutdown(
    warm_programs: Path, place: AgentFolder
) -> None:
    pipe, own = place.folder / "token", {"serviceAccountToken": True}
    os.mkfifo(pipe)
    async with HttpFake(scores(1.0)) as scoring:
        hanging = [
            entry(f"h{number}", scoring=scoring.url, scoringAuth=own) for number in range(10)
        ]
        well, new = (
            entry(name, scoring=f"{scoring.url}/{name}", scoringInterval=1)
            for name in ("well", "new")
        )
        place.put(*hanging, well)
        flags = place.flags("--service-account-token-file", pipe, *C1)
        async with agent(*flags, command=warm_programs / AGENT) as process:
            await until(lambda: len(scoring.to("well")) >= 2, what="the healthy one runs")
            await until(lambda: place.items("well"), what="it is published")
            place.put(*hanging, well, new)
            await until(lambda: scoring.to("new"), what="the file is still followed")
            assert await process.terminate() == 0
            assert "Traceback" not in process.log


FILES = ["run", "--cluster-name", "c", "--publish", "dir:x"]
USAGE = {
    "no cluster": (["run", "--publish", "dir:x"], "--cluster-name (CLUSTER_NAME) is missing"),
    "odd cluster": (
        ["run", "--cluster-name", "Cluster 1", "--publish", "dir:x"],
        "--cluster-name (CLUSTER_NAME) is 'Cluster 1'; write the",
    ),
    "no hub": (["run", "--cluster-name", "c"], "--hub-kubeconfig (HUB_KUBECONFIG) is missing"),
    "odd publish": (["run", "--cluster-name", "c", "--publish", "s3"], "write 'hub' or 'dir:PATH'"),
    "odd address": ([*FILES, "--metrics-address", "8080"], "write HOST:PORT"),
    "odd seconds": ([*FILES, "--splay", "1m"], "--splay (SPLAY) is '1m'"),
    "odd count": ([*FILES, "--max-answer-bytes", "64M"], "whole number"),
    "odd format": ([*FILES, "--log-format", "xml"], "write one of text, json"),
    "no verb": ([], "usage:"),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, text = USAGE[name]
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


@pytest.mark.real_time
async def test_an_address_that_cannot_be_listened_on_is_explained(
    warm_programs: Path, tmp_path: Path
) -> None:
    async with HttpFake(scores(1.0)) as taken:
        for address in (f"127.0.0.1:{taken.port}", "no-such-host.invalid:8080"):
            flags = ["run", *C1, "--publish", f"dir:{tmp_path}", "--metrics-address", address]
            process = await asyncio.create_subprocess_exec(
                warm_programs / AGENT, *flags, stderr=asyncio.subprocess.PIPE, env={}
            )
            _, errors = await process.communicate()
            assert process.returncode == 1
            (line,) = errors.decode().splitlines()
            assert line.startswith(
                f"gitops-dsf-agent: cannot listen on {address} (--metrics-address): "
            )
