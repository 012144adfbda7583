"""Speed and memory of the agent.

    .venv/bin/python -m benchmarks.bench_agent [--only NAME]

The metric source, the scoring API and the hub run in this process, the agent in another one. Prints
a Markdown table; exits with 1 when a figure misses its goal.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.measure import Figure, allocator, memory, options, shown
from tests.support.agent.http import HttpFake, SentReply
from tests.support.agent.hub import ScoreHub, kubeconfig
from tests.support.agent.process import agent
from tests.support.agent.running import ConfigMapVolume, entry
from tests.support.waiting import until

HERE = Path(__file__).parent
ROUNDS = 30
# The allocator of the image, because memory and CPU depend on it.
IMAGE = allocator("agent")
Settings = dict[str, Any]
BY_POD: Settings = {"scoreDimensionFormat": "${pod}"}


def _more_than(items: Sized, count: int) -> bool:
    return len(items) > count


def median(what: str, samples: Sequence[float], goal: float | None, unit: str) -> Figure:
    note = f"{len(samples)}: {min(samples):.3g} to {max(samples):.3g}"
    return Figure(what, statistics.median(samples), goal, unit, note)


class Bench:
    """An empty folder, with the configuration of an agent."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.volume = ConfigMapVolume(directory / "config")
        # A figure that needs a hub adds a second --publish, and the last one counts.
        self.flags: list[str | Path] = [
            *("--config-dir", self.volume.directory),
            *("--cluster-name", "bench"),
            *("--publish", f"dir:{directory / 'out'}"),
        ]


def matrix(series: int, points: int) -> bytes:
    """A range query's answer with cAdvisor-like labels and full-precision values.

    10,000 series of 60 points have 20.7 MB.
    """
    # The points are written once, because json.dumps would take seconds for all of them.
    values = ",".join(f'[{1_700_000_000 + 30 * n},"{0.1 + n / 7:.13f}"]' for n in range(points))
    rows: list[str] = []
    for number in range(series):
        labels = {
            "__name__": "container_cpu_usage_seconds_total",
            "container": "main",
            "instance": f"10.0.{number % 250}.17:10250",
            "job": "kubelet",
            "namespace": f"team-{number % 40}",
            "node": f"node-{number % 100}",
            "pod": f"app-{number}",
        }
        metric = json.dumps(labels, separators=(",", ":"))
        rows.append(f'{{"metric":{metric},"values":[{values}]}}')
    result = ",".join(rows)
    return f'{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}'.encode()


def results(count: int) -> bytes:
    """The answer of a scoring API with that many results."""
    rows: list[Settings] = []
    for number in range(count):
        metric = {
            "node": f"node-{number % 100}",
            "namespace": f"team-{number % 40}",
            "pod": f"app-{number}",
        }
        rows.append({"metric": metric, "score": number % 87 + 0.123456})
    return json.dumps({"results": rows}, separators=(",", ":")).encode()


def cpu(pid: int) -> float:
    """CPU seconds of a process, all threads, in nanosecond steps where the kernel offers them."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


# What no agent can do without: the bytes in and out, without a look at them. It grows with what
# else the machine does, as the agent's own figure does.
FLOOR = """
import json, socket, sys, time
port, size, rounds = map(int, sys.argv[1:])
spent = []
for _ in range(rounds):
    time.sleep(1)
    start = time.process_time()
    with socket.create_connection(("127.0.0.1", port)) as peer:
        peer.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        body, got = memoryview(bytearray(size)), 0
        while got < size:
            got += peer.recv_into(body[got : got + (1 << 18)])
        peer.sendall(b"POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n" % size)
        peer.sendall(body)
        peer.recv(1)
    spent.append(time.process_time() - start)
print(json.dumps(spent))
"""


async def cycle(bench: Bench) -> list[Figure]:
    """10,000 series of 60 points and as many results, every two seconds.

    A sample holds one cycle.
    """
    body = matrix(10_000, 60)
    answer = results(10_000)
    async with (
        HttpFake(lambda _seen: SentReply(body=body)) as source,
        HttpFake(lambda _seen: SentReply(body=answer)) as scoring,
    ):
        # Before the agent runs, and not beside it: the two would take each other's caches.
        arguments = (str(source.port), str(len(body)), str(ROUNDS))
        floor_process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", FLOOR, *arguments, stdout=asyncio.subprocess.PIPE
        )
        floor, _ = await floor_process.communicate()
        bench.volume.put(
            entry("big", scoring=scoring.url, source=source.url, scoringInterval=2, **BY_POD)
        )
        async with agent(*bench.flags, environ=IMAGE) as process:
            # The first cycles also import modules and connect.
            await until(lambda: len(scoring.seen) >= 3, what="warm", seconds=60)
            # A cycle goes on after the scoring API is asked: it reads the answer, and publishes.
            await asyncio.sleep(1)
            spent: list[float] = []
            for _ in range(ROUNDS):
                before = cpu(process.process.pid)
                calls = len(scoring.seen)
                await until(partial(_more_than, scoring.seen, calls), what="a cycle", seconds=60)
                await asyncio.sleep(1)
                # On a busy machine a second cycle can fall into a sample.
                spent.append((cpu(process.process.pid) - before) / (len(scoring.seen) - calls))
            return [
                median(
                    f"cycle of 10,000 series x 60 points ({len(body) / 1e6:.1f} MB), 10,000"
                    " results, CPU",
                    spent,
                    0.08,
                    "s",
                ),
                median("floor: these bytes in and out, unread, CPU", json.loads(floor), None, "s"),
                Figure("peak memory of such cycles", memory(process.process.pid), 100, "MB"),
            ]


async def scrape(bench: Bench) -> list[Figure]:
    """A scrape while 50,000 scores are exported."""
    answer = results(50_000)
    spent: list[float] = []
    async with HttpFake(lambda _seen: SentReply(body=answer)) as scoring:
        # One cycle, which publishes nothing: only scrapes take CPU while they are measured.
        settings: Settings = {"scoringInterval": 3600, "scoreDestination": "None", **BY_POD}
        bench.volume.put(entry("big", scoring=scoring.url, **settings))
        async with (
            agent(*bench.flags, environ=IMAGE) as process,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            await until(lambda: scoring.seen, what="scored", seconds=60)
            await asyncio.sleep(2)
            for _ in range(32):
                before = cpu(process.process.pid)
                page = await client.get(
                    f"{process.url}/metrics", headers={"Accept-Encoding": "identity"}
                )
                # A page without the scores would be quick as well.
                assert len(page.content) > 100_000
                # The agent may still end the request when the client has the answer.
                await asyncio.sleep(0.1)
                spent.append(cpu(process.process.pid) - before)
    # The first ones make what later ones use again.
    return [median("scrape of 50,000 series, CPU", spent[2:], 0.010, "s")]


async def blocks(bench: Bench) -> list[Figure]:
    """The longest step of the event loop, with much data and the file store."""
    body = matrix(10_000, 60)
    answer = results(50_000)
    async with (
        HttpFake(lambda _seen: SentReply(body=body)) as source,
        HttpFake(lambda _seen: SentReply(body=answer)) as scoring,
    ):
        bench.volume.put(
            entry("big", scoring=scoring.url, source=source.url, scoringInterval=3, **BY_POD)
        )
        flags = ["run", "--metrics-address", "127.0.0.1:0", "--splay", "0", *map(str, bench.flags)]
        child = await asyncio.create_subprocess_exec(
            sys.executable, HERE / "canary.py", *flags, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await child.communicate()
        # An agent that scores nothing blocks nothing.
        assert len(scoring.seen) >= 3
    longest = float(json.loads(out.splitlines()[-1])["cpu"])
    return [
        Figure(
            "longest step of the event loop, 20 MB of series and 50,000 results",
            longest * 1000,
            20,
            "ms",
        )
    ]


async def rest(bench: Bench) -> list[Figure]:
    """Memory at rest with ten scorers, and writes to the hub."""
    figures: list[Figure] = []
    hub = ScoreHub(namespaces=("bench",))
    async with (
        HttpFake(lambda _seen: SentReply(body=matrix(20, 10))) as source,
        HttpFake(lambda _seen: SentReply(body=results(20))) as scoring,
        hub as server,
    ):
        often: Settings = {"scoringInterval": 2, "scoreTTLSeconds": 20}
        bench.volume.put(
            *(entry(f"s{n}", scoring=scoring.url, source=source.url, **often) for n in range(10))
        )
        config = kubeconfig(bench.directory / "kubeconfig", server=server.url)
        to_hub: list[str | Path] = ["--publish", "hub", "--hub-kubeconfig", config]
        # A hub takes a client of its API, which a folder does not.
        for store, flags, goal in (("dir", [], 50), ("hub", to_hub, 62)):
            async with agent(*bench.flags, *flags, environ=IMAGE) as process:
                await asyncio.sleep(25)
                megabytes = process.resident() / 2**20
            figures.append(
                Figure(f"memory at rest with 10 scorers, --publish {store}", megabytes, goal, "MB")
            )
    writes = sum(write.startswith("PATCH") for write in hub.writes)
    # One at the start, then one each half TTL of 10 s, up to a tenth earlier.
    figures.append(
        Figure("hub writes of 10 unchanged scorers in 25 s (TTL 20 s)", writes, 10 * (1 + 25 // 9))
    )
    return figures


BENCHES = {bench.__name__: bench for bench in (cycle, scrape, blocks, rest)}


def main() -> int:
    """Runs and prints."""
    chosen = options(__doc__, only=sorted(BENCHES)).only
    # The canary has no environment of its own, as `agent` has.
    os.environ.update(IMAGE)
    return shown(figures(chosen or BENCHES))


def figures(names: Iterable[str]) -> Iterator[Figure]:
    for name in names:
        # A folder for each: an agent must not find the scores that another one has published.
        with tempfile.TemporaryDirectory() as folder:
            yield from asyncio.run(BENCHES[name](Bench(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
