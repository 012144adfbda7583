"""Speed and memory of the agent.

    .venv/bin/python -m benchmarks.bench_agent [--only NAME] [--quick]

The metric source, the scoring API and the hub run in this process, the agent in another one. Prints a
Markdown table; exits with 1 when a figure misses its goal.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.measure import Figure, shown
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.http import HttpFake, Reply
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.process import AgentProcess, agent
from tests.support.waiting import until

HERE = Path(__file__).parent


def median(what: str, samples: Sequence[float], goal: float | None, unit: str) -> Figure:
    note = f"{len(samples)}: {min(samples):.3g} to {max(samples):.3g}"
    return Figure(what, statistics.median(samples), goal, unit, note)


@dataclass(frozen=True)
class Bench:
    """Where the agent is installed and how long to look."""

    command: Path
    directory: Path
    quick: bool


def matrix(series: int, points: int) -> bytes:
    """A range query's answer with cAdvisor-like labels and full-precision values: 20.7 MB for 10,000 x 60."""
    values = ",".join(f'[{1_700_000_000 + 30 * point},"{0.1 + point / 7:.13f}"]' for point in range(points))
    rows = (
        f'{{"metric":{{"__name__":"container_cpu_usage_seconds_total","container":"main","instance":"10.0.{n % 250}.17:10250",'  # noqa: E501
        f'"job":"kubelet","namespace":"team-{n % 40}","node":"node-{n % 100}","pod":"app-{n}"}},"values":[{values}]}}'  # noqa: E501
        for n in range(series)
    )
    return f'{{"status":"success","data":{{"resultType":"matrix","result":[{",".join(rows)}]}}}}'.encode()


def results(count: int, *, more: int = 0) -> bytes:
    rows = [
        {
            "metric": {"node": f"node-{n % 100}", "namespace": f"team-{n % 40}", "pod": f"app-{n}"},
            "score": n % 87 + 0.123456 + more,
        }
        for n in range(count)
    ]
    return json.dumps({"results": rows}, separators=(",", ":")).encode()


def cpu(pid: int) -> float:
    """CPU seconds of a process, all threads, in nanosecond steps where the kernel offers them."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


def peak(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _flags(bench: Bench, volume: ConfigMapVolume) -> list[str | Path]:
    return [
        "--config-dir",
        volume.directory,
        "--cluster-name",
        "bench",
        "--publish",
        f"dir:{bench.directory / 'out'}",
    ]


async def big_cycle(bench: Bench) -> list[Figure]:
    """10,000 series of 60 points, one result per series, every two seconds; each sample holds one cycle and
    the idle work around it.
    """
    return await _cycles(bench, what="10,000 results")


async def hub_cycle(bench: Bench) -> list[Figure]:
    """The same with a hub: 10,000 scores that stay as they are, as in most cycles, then such that are written
    anew in each.

    The CPU of the latter has no goal: by default a scorer writes once a minute at most.
    """
    hub, figures = HubFake(namespaces=("bench",)), []
    async with HttpFake(hub) as server:
        flags: list[str | Path] = [
            "--publish",
            "hub",
            "--hub-kubeconfig",
            kubeconfig(bench.directory / "kubeconfig", server=server.url),
        ]
        for what, change in (
            ("10,000 results, --publish hub", 0),
            ("10,000 items written to the hub in each", 10),
        ):
            figures += await _cycles(bench, what=what, flags=flags, change=change)
            hub.scores.clear()
    return figures


async def _cycles(
    bench: Bench, *, what: str, flags: Sequence[str | Path] = (), change: int = 0
) -> list[Figure]:
    """``change`` is by how much each score moves up and down again."""
    body, answers = matrix(10_000, 60), [results(10_000), results(10_000, more=change)]
    rounds = 6 if bench.quick else 30
    turns = itertools.cycle(answers)
    async with (
        HttpFake(lambda _seen: Reply(body=body)) as source,
        HttpFake(lambda _seen: Reply(body=next(turns))) as scoring,
    ):
        volume = ConfigMapVolume(bench.directory / "config")
        publish = {"deadband": 2, "minIntervalSeconds": 0}
        volume.put(
            entry(
                "big",
                scoring=scoring.url,
                source=source.url,
                scoringInterval=2,
                scoreDimensionFormat="${pod}",
                publish=publish,
            )
        )
        floor = await asyncio.create_subprocess_exec(
            sys.executable,
            HERE / "loopback.py",
            "127.0.0.1",
            str(source.port),
            str(len(body)),
            str(rounds),
            stdout=asyncio.subprocess.PIPE,
        )
        bare, _ = await floor.communicate()
        async with agent(*_flags(bench, volume), *flags, command=bench.command) as process:
            await until(lambda: len(scoring.seen) >= 3, what="warm", seconds=60)
            await asyncio.sleep(1)
            spent: list[float] = []
            for _ in range(rounds):
                before, calls = cpu(process.process.pid), len(scoring.seen)
                await until(lambda least=calls: len(scoring.seen) > least, what="a cycle", seconds=60)  # type: ignore[misc]
                await asyncio.sleep(1)
                spent.append((cpu(process.process.pid) - before) / (len(scoring.seen) - calls))
            return [
                median(
                    f"cycle of 10,000 series x 60 points ({len(body) / 1e6:.1f} MB), {what}, CPU",
                    spent,
                    None if change else 0.08,
                    "s",
                ),
                median("floor: these bytes in and out, unread, CPU", json.loads(bare), None, "s"),
                Figure(f"peak memory of such cycles, {what}", peak(process.process.pid), 100, "MB"),
            ]


async def scrape(bench: Bench) -> list[Figure]:
    """A scrape while 50,000 scores are exported."""
    answer = results(50_000)
    async with HttpFake(lambda _seen: Reply(body=answer)) as scoring:
        volume = ConfigMapVolume(bench.directory / "config")
        volume.put(
            entry(
                "big",
                scoring=scoring.url,
                scoringInterval=3600,
                scoreDimensionFormat="${pod}",
                scoreDestination="None",
            )
        )
        async with (
            agent(*_flags(bench, volume), command=bench.command) as process,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            await until(lambda: scoring.seen, what="scored", seconds=60)
            await asyncio.sleep(2)
            spent = await _scrapes(process, client)
            return [median("scrape of 50,000 series, CPU", spent, 0.010, "s")]


async def _scrapes(process: AgentProcess, client: httpx.AsyncClient) -> list[float]:
    spent: list[float] = []
    for _ in range(32):
        before = cpu(process.process.pid)
        async with client.stream(
            "GET", f"{process.url}/metrics", headers={"Accept-Encoding": "identity"}
        ) as response:
            size = sum([len(chunk) async for chunk in response.aiter_raw()])
        assert size > 100_000
        await asyncio.sleep(0.1)
        spent.append(cpu(process.process.pid) - before)
    return spent[2:]


async def _longest_step(bench: Bench, volume: ConfigMapVolume) -> float:
    """CPU seconds of the longest step while an agent runs for a while."""
    flags = ["run", "--metrics-address", "127.0.0.1:0", "--splay", "0", *map(str, _flags(bench, volume))]
    python = bench.command.with_name("python")
    child = await asyncio.create_subprocess_exec(
        python, HERE / "canary.py", *flags, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    return float(json.loads(out.splitlines()[-1])["cpu"])


async def blocks(bench: Bench) -> list[Figure]:
    """The longest step of the event loop, at 20 MB of series and at 50,000 results, the file store
    included.
    """
    body, answer = matrix(10_000, 60), results(50_000)
    async with (
        HttpFake(lambda _seen: Reply(body=body)) as source,
        HttpFake(lambda _seen: Reply(body=answer)) as scoring,
    ):
        volume = ConfigMapVolume(bench.directory / "config")
        volume.put(
            entry(
                "big",
                scoring=scoring.url,
                source=source.url,
                scoringInterval=3,
                scoreDimensionFormat="${pod}",
            )
        )
        worst = await _longest_step(bench, volume)
        assert len(scoring.seen) >= 3
        return [
            Figure(
                "longest step of the event loop, 20 MB of series and 50,000 results", worst * 1000, 20, "ms"
            )
        ]


async def query(bench: Bench) -> list[Figure]:
    """A Query scorer with 50,000 series: the longest step of the event loop, and the CPU of a cycle."""
    rows = [
        {"metric": one["metric"], "value": [1_700_000_000.123, str(one["score"])]}
        for one in json.loads(results(50_000))["results"]
    ]
    data = {"resultType": "vector", "result": rows}
    body = json.dumps({"status": "success", "data": data}, separators=(",", ":")).encode()
    async with HttpFake(lambda _seen: Reply(body=body)) as source:
        volume = ConfigMapVolume(bench.directory / "config")
        volume.put(
            entry("query", scoring="", source=source.url, scoringInterval=3, scoreDimensionFormat="${pod}")
            | {"scoringEndpoint": "", "scoringType": "Query"}
        )
        worst = await _longest_step(bench, volume)
        assert len(source.seen) >= 3
        return [
            Figure(
                "longest step of the event loop, a Query scorer with 50,000 series", worst * 1000, 50, "ms"
            )
        ]


async def many(bench: Bench) -> list[Figure]:
    """200 scorers of 30 s on one core."""
    async with (
        HttpFake(lambda _seen: Reply(body=matrix(5, 10))) as source,
        HttpFake(lambda _seen: Reply(body=results(5))) as scoring,
    ):
        volume = ConfigMapVolume(bench.directory / "config")
        volume.put(
            *(entry(f"s{n}", scoring=f"{scoring.url}/{n}", source=f"{source.url}/{n}") for n in range(200))
        )
        async with agent(*_flags(bench, volume), "--splay", "10", command=bench.command) as process:
            os.sched_setaffinity(process.process.pid, {0})
            await asyncio.sleep(35 if bench.quick else 75)
            samples = await process.metrics()
            name = "gitops_dsf_agent_start_delay_seconds"
            total = samples[f"{name}_count"]
            buckets = sorted(
                (float(key.split('"')[1]), value)
                for key, value in samples.items()
                if key.startswith(f"{name}_bucket")
            )
            bound = next(le for le, value in buckets if value >= 0.99 * total)
            assert total >= 200
            return [
                Figure(
                    f"start delay of 200 scorers on one core, p99 of {total:.0f} (upper bound)",
                    bound * 1000,
                    250,
                    "ms",
                )
            ]


async def rest(bench: Bench) -> list[Figure]:
    """Memory at rest with ten scorers, and writes to the hub."""
    figures = []
    hub = HubFake(namespaces=("bench",))
    async with (
        HttpFake(lambda _seen: Reply(body=matrix(20, 10))) as source,
        HttpFake(lambda _seen: Reply(body=results(20))) as scoring,
        HttpFake(hub) as server,
    ):
        volume = ConfigMapVolume(bench.directory / "config")
        volume.put(
            *(
                entry(f"s{n}", scoring=scoring.url, source=source.url, scoringInterval=2, scoreTTLSeconds=20)
                for n in range(10)
            )
        )
        config = kubeconfig(bench.directory / "kubeconfig", server=server.url)
        to_hub: list[str | Path] = ["--publish", "hub", "--hub-kubeconfig", config]
        for kind, flags, goal in (("dir", [], 50.0), ("hub", to_hub, 70.0)):
            async with agent(*_flags(bench, volume), *flags, command=bench.command) as process:
                await asyncio.sleep(15 if bench.quick else 25)
                figures.append(
                    Figure(
                        f"memory at rest with 10 scorers, --publish {kind}",
                        process.resident() / 2**20,
                        goal,
                        "MB",
                    )
                )
        seconds = 15 if bench.quick else 25
        writes = sum(method == "PATCH" for method, _ in hub.writes)
        # One at the start, then one each half TTL of 10 s, up to a tenth earlier.
        figures.append(
            Figure(
                f"hub writes of 10 unchanged scorers in {seconds} s (TTL 20 s)",
                writes,
                10 * (1 + seconds // 9),
                "",
            )
        )
    return figures


async def swaps(bench: Bench) -> list[Figure]:
    """From the swap of the file to the first request of the changed scorer, thirty swaps a second."""
    count, seconds = 60, 15 if bench.quick else 60
    async with HttpFake(lambda _seen: Reply(body=results(1))) as scoring:
        volume = ConfigMapVolume(bench.directory / "config")
        entries = {
            n: entry(f"s{n}", scoring=f"{scoring.url}/{n}-0", scoringInterval=3600) for n in range(count)
        }
        volume.put(*entries.values())
        async with agent(*_flags(bench, volume), "--splay", "10", command=bench.command):
            await until(lambda: len(scoring.seen) >= count, what="all ran", seconds=20)
            swapped: dict[str, float] = {}
            for number in range(1, seconds * 30):
                which = number % count
                entries[which] = entry(
                    f"s{which}", scoring=f"{scoring.url}/{which}-{number}", scoringInterval=3600
                )
                volume.put(*entries.values())
                swapped[f"/{which}-{number}/scoring"] = asyncio.get_running_loop().time()
                await asyncio.sleep(1 / 30)
            await asyncio.sleep(2)
            first: dict[str, float] = {}
            for seen in scoring.seen:
                first.setdefault(seen.path, seen.at)
            delays = sorted(first[path] - at for path, at in swapped.items() if path in first)
            assert len(delays) == len(swapped), f"{len(swapped) - len(delays)} edits were never run"
            return [
                Figure(
                    f"swap to first request, p99 of {len(delays)} edits at 30 a second",
                    delays[int(len(delays) * 0.99)],
                    1.0,
                    "s",
                )
            ]


BENCHES: dict[str, Callable[[Bench], Coroutine[None, None, list[Figure]]]] = {
    "cycle": big_cycle,
    "hub": hub_cycle,
    "scrape": scrape,
    "blocks": blocks,
    "query": query,
    "rest": rest,
    "swaps": swaps,
    "many": many,
}


def main() -> int:
    """Runs and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=sorted(BENCHES), action="append")
    parser.add_argument("--quick", action="store_true", help="shorter looks")
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        command = Path(sys.executable).with_name("gitops-dsf-agent")
        for name in options.only or BENCHES:
            directory = Path(folder) / name
            directory.mkdir()
            start = time.monotonic()
            found = asyncio.run(
                BENCHES[name](Bench(command=command, directory=directory, quick=options.quick))
            )
            figures += found
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    return shown(figures)


if __name__ == "__main__":
    sys.exit(main())
