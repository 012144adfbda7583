"""SIGTERM in every stage, SIGKILL and restart, wrong usage, a port that is in use."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from dsf_agent.main import main
from tests.support.agent.apis import prometheus, scores, series
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import Fault, HttpFake
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.process import agent
from tests.support.waiting import until

AGENT = "gitops-dsf-agent"


@pytest.mark.parametrize("stage", ["fetch", "score", "publish", "idle"])
@pytest.mark.real_time
async def test_sigterm_ends_in_time_with_work_in_flight(
    warm_programs: Path, tmp_path: Path, stage: str
) -> None:
    """The exit code is 0 even if a peer never answers, and there is no traceback."""
    hub = HubFake()
    source, scoring = HttpFake(prometheus(series(1))), HttpFake(scores(1.0))
    server = HttpFake(hub)
    hanging = {"fetch": source, "score": scoring, "publish": server}.get(stage)
    if hanging is not None:
        hanging.handler = lambda _seen: Fault(hang=True)
    async with source, scoring, server:
        volume = ConfigMapVolume(tmp_path / "config")
        volume.put(entry("cpu", scoring=scoring.url, source=source.url, scoringInterval=60))
        config = kubeconfig(tmp_path / "kubeconfig", server=server.url)
        flags = ["--config-dir", volume.directory, "--cluster-name", "c1", "--hub-kubeconfig", config]
        flags += ["--request-timeout", "300"]
        async with agent(*flags, command=warm_programs / AGENT) as process:
            if hanging is None:
                await until(lambda: hub.values("cpu-score"), what="published")
            else:
                await until(lambda: hanging.seen, what="the stage is reached")
            assert await process.terminate() == 0
            assert "Traceback" not in process.log
            assert "never awaited" not in process.log


@pytest.mark.real_time
async def test_a_write_in_flight_is_finished(warm_programs: Path, tmp_path: Path) -> None:
    """SIGTERM arrives while the hub is slow with the status. The write finishes before the process
    ends.
    """
    hub = HubFake()

    async def slow(seen: object) -> object:
        await asyncio.sleep(0.3)
        return hub(seen)  # type: ignore[arg-type]

    async with HttpFake(slow) as server, HttpFake(scores(3.0)) as scoring:  # type: ignore[arg-type]
        volume = ConfigMapVolume(tmp_path / "config")
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=60))
        config = kubeconfig(tmp_path / "kubeconfig", server=server.url)
        flags = [
            "--config-dir",
            volume.directory,
            "--cluster-name",
            "c1",
            "--hub-kubeconfig",
            config,
        ]
        async with agent(*flags, command=warm_programs / AGENT) as process:
            await until(
                lambda: any(seen.method == "POST" for seen in server.seen), what="the create is under way"
            )
            assert await process.terminate() == 0
            assert hub.values("cpu-score") == {"n0": 3}


@pytest.mark.real_time
async def test_sigkill_and_restart(tmp_path: Path) -> None:
    """A killed agent leaves complete files, and the next one continues with them."""
    async with HttpFake(scores(3.0)) as scoring:
        volume, out = ConfigMapVolume(tmp_path / "config"), tmp_path / "out"
        volume.put(entry("cpu", scoring=scoring.url, scoringInterval=1))
        flags = ["--config-dir", volume.directory, "--cluster-name", "c1", "--publish", f"dir:{out}"]
        async with agent(*flags) as process:
            await until(lambda: out.exists() and list(out.glob("*.yaml")), what="published")
            assert await process.terminate(signal.SIGKILL) == -signal.SIGKILL
        text = (out / "cpu-score.yaml").read_text()
        calls = len(scoring.seen)
        async with agent(*flags):
            await until(lambda: len(scoring.seen) >= calls + 2, what="it goes on")
        assert (out / "cpu-score.yaml").read_text() == text


@pytest.mark.real_time
async def test_files_that_hang_block_neither_other_scorers_nor_the_shutdown(
    warm_programs: Path, tmp_path: Path
) -> None:
    """The token of ten scorers is read from a pipe without a writer. The healthy scorer runs, an edit is
    followed, and SIGTERM works.
    """
    volume, pipe = ConfigMapVolume(tmp_path / "config"), tmp_path / "token"
    os.mkfifo(pipe)
    async with HttpFake(scores(1.0)) as scoring:
        hanging = [
            entry(f"h{number}", scoring=scoring.url, scoringAuth={"serviceAccountToken": True})
            for number in range(10)
        ]
        well, new = (
            entry(name, scoring=f"{scoring.url}/{name}", scoringInterval=1) for name in ("well", "new")
        )
        volume.put(*hanging, well)
        flags = [
            "--config-dir",
            volume.directory,
            "--cluster-name",
            "c1",
            "--publish",
            f"dir:{tmp_path / 'out'}",
        ]
        flags += ["--service-account-token-file", str(pipe)]
        async with agent(*flags, command=warm_programs / AGENT) as process:
            await until(lambda: len(scoring.to("well")) >= 2, what="the healthy one runs")
            await until((tmp_path / "out" / "well-score.yaml").exists, what="it is published")
            volume.put(*hanging, well, new)
            await until(lambda: scoring.to("new"), what="the file is still followed")
            await until(lambda: "could not be read within 5 s" in process.log, what="the others fail")
            assert await process.terminate() == 0
            assert "Traceback" not in process.log


USAGE = {
    "no cluster": (["run", "--publish", "dir:x"], "--cluster-name (CLUSTER_NAME) is missing"),
    "odd cluster": (
        ["run", "--cluster-name", "Cluster 1", "--publish", "dir:x"],
        "--cluster-name (CLUSTER_NAME) is 'Cluster 1'; write the",
    ),
    "no hub": (["run", "--cluster-name", "c"], "--hub-kubeconfig (HUB_KUBECONFIG) is missing"),
    "odd publish": (["run", "--cluster-name", "c", "--publish", "s3"], "write 'hub' or 'dir:PATH'"),
    "odd address": (
        ["run", "--cluster-name", "c", "--publish", "dir:x", "--metrics-address", "8080"],
        "write HOST:PORT",
    ),
    "odd seconds": (
        ["run", "--cluster-name", "c", "--publish", "dir:x", "--splay", "1m"],
        "--splay (SPLAY) is '1m'",
    ),
    "odd count": (
        ["run", "--cluster-name", "c", "--publish", "dir:x", "--max-answer-bytes", "64M"],
        "whole number",
    ),
    "odd format": (
        ["run", "--cluster-name", "c", "--publish", "dir:x", "--log-format", "xml"],
        "write one of text, json",
    ),
    "no verb": ([], "usage:"),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and one line with flag, variable and what to write."""
    arguments, text = USAGE[name]
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


@pytest.mark.real_time
async def test_an_address_that_cannot_be_listened_on_is_explained(
    warm_programs: Path, tmp_path: Path
) -> None:
    """A port in use or an unknown host: exit code 1, and one line with address and flag."""
    async with HttpFake(scores(1.0)) as taken:
        for address in (f"127.0.0.1:{taken.port}", "no-such-host.invalid:8080"):
            flags = [
                "run",
                "--cluster-name",
                "c",
                "--publish",
                f"dir:{tmp_path}",
                "--metrics-address",
                address,
            ]
            process = await asyncio.create_subprocess_exec(
                warm_programs / AGENT, *flags, stderr=asyncio.subprocess.PIPE, env={}
            )
            _, errors = await process.communicate()
            assert process.returncode == 1
            (line,) = errors.decode().splitlines()
            assert line.startswith(f"gitops-dsf-agent: cannot listen on {address} (--metrics-address): ")
