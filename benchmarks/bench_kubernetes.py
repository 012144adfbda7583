"""Memory and CPU of an agent that counts the nodes and pods of a large cluster (source type Kubernetes).

    .venv/bin/python -m benchmarks.bench_kubernetes [--quick]

The API server runs in this process, the agent in another one. Pods are 6 kB of JSON, as real ones are. Prints
a Markdown table; exits with 1 when a figure misses its goal.
"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.bench_agent import Figure, cpu, peak
from tests.support.agent.clusterobjects import node, pod
from tests.support.agent.configmap import ConfigMapVolume, entry
from tests.support.agent.hub import kubeconfig
from tests.support.agent.process import AgentProcess, agent
from tests.support.waiting import until

NODES, PODS = 1_000, 30_000
GPUS: dict[str, Any] = {"nvidia.com/gpu": "4"}
CHANGES = 50
"""Pods that change in a second. Each change is one that measures depend on."""
MEMORY_MB, CORE_PERCENT, TURN_SECONDS = 120, 2.0, 12.0
QUERIES = (
    "cpu_available_ratio",
    "memory_available_ratio; pods_available_ratio",
    'extended_available{resource="nvidia.com/gpu"}',
    "pods_pending; pods_unschedulable",
    "node_cpu_available_ratio",
)


class LargeCluster:
    """An API server with many pods. Every change moves a pod to the next node."""

    def __init__(self) -> None:
        self.url = ""
        self.places = [number % NODES for number in range(PODS)]
        self.changed = 0
        self._version = 1
        self._watchers: list[asyncio.StreamWriter] = []
        self._nodes = [
            json.dumps(padded(node(f"node-{n}", cpu="32", memory="128Gi", pods="110", **GPUS))).encode()
            for n in range(NODES)
        ]
        plain = padded(pod("@name@", on="@node@", cpu="250m", memory="512Mi"))
        self._pod = json.dumps(plain).encode()

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    def pod(self, number: int) -> bytes:
        name, place = b"app-%d-7d4b9c6f5-x%d" % (number % 400, number), b"node-%d" % self.places[number]
        return self._pod.replace(b"@name@", name).replace(b"@node@", place)

    async def change(self, seconds: float) -> None:
        """Changes pods at a steady rate."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        for count in itertools.count(1):
            if loop.time() - began >= seconds:
                return
            number = self.changed * 7 % PODS
            self.places[number] = (self.places[number] + 1) % NODES
            self.changed += 1
            line = b'{"type":"MODIFIED","object":%b}\n' % self.pod(number)
            for writer in self._watchers:
                writer.write(b"%x\r\n%b\r\n" % (len(line), line))
            await asyncio.sleep(max(0.0, began + count / CHANGES - loop.time()))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                parts = urlsplit(head.split(" ", 2)[1])
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                pods = parts.path.endswith("/pods")
                if "watch" in query:
                    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    if pods:
                        self._watchers.append(writer)
                    await reader.read()
                    break
                writer.write(self._page(query, pods=pods))
                await writer.drain()
        writer.close()

    def _page(self, query: dict[str, str], *, pods: bool) -> bytes:
        start, total = int(query.get("continue", "0")), PODS if pods else NODES
        end = min(total, start + int(query["limit"]))
        items = b",".join(self.pod(number) if pods else self._nodes[number] for number in range(start, end))
        more = b',"continue":"%d"' % end if end < total else b""
        body = b'{"metadata":{"resourceVersion":"%d"%b},"items":[%b]}' % (self._version, more, items)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def padded(plain: dict[str, Any]) -> dict[str, Any]:
    """With fields that the agent does not need: 6 kB together."""
    fields: dict[str, Any] = {f"f:{name}": {".": {}, "f:value": {}} for name in "abcdefghijklmnop"}
    plain["metadata"] |= {
        "uid": "5f1d7a52-6f3a-4a46-a9b7-0c8f5d5b8a11",
        "labels": {"app.kubernetes.io/name": "app", "pod-template-hash": "7d4b9c6f5"},
        "managedFields": [{"manager": f"manager-{n}", "fieldsV1": fields} for n in range(4)],
    }
    plain["spec"]["volumes"] = [{"name": f"v{n}", "configMap": {"name": f"config-{n}"}} for n in range(8)]
    for container in plain["spec"].get("containers", ()):
        container["env"] = [{"name": f"SETTING_{n}", "value": "x" * 40} for n in range(30)]
    return plain


async def measure(folder: Path, *, seconds: float) -> list[Figure]:
    cluster = LargeCluster()
    server = await cluster.start()
    volume = ConfigMapVolume(folder / "config")
    volume.put(
        *(
            entry(
                f"s{number}",
                scoring="",
                sourceType="Kubernetes",
                sourceQuery=query,
                scoringType="Query",
                scoringEndpoint="",
                scoringInterval=60,
                scoreDimensionFormat="${scoreName}${node}",
                scoreRange={"min": 0, "max": 1, "outputMin": 0, "outputMax": 100},
            )
            for number, query in enumerate(QUERIES)
        )
    )
    flags: list[str | Path] = [
        "--config-dir",
        volume.directory,
        "--cluster-name",
        "bench",
        "--publish",
        f"dir:{folder / 'out'}",
        "--spoke-kubeconfig",
        kubeconfig(folder / "kubeconfig", server=cluster.url),
    ]
    began = time.monotonic()
    async with agent(*flags) as process:
        await until(lambda: _all_run(process), what="all scorers run", seconds=120)
        ready, start_cpu = time.monotonic() - began, cpu(process.process.pid)
        await asyncio.sleep(5)
        before, since = cpu(process.process.pid), time.monotonic()
        await asyncio.sleep(seconds)
        idle = (cpu(process.process.pid) - before) / (time.monotonic() - since)
        before, since, changed = cpu(process.process.pid), time.monotonic(), cluster.changed
        await cluster.change(seconds)
        busy = (cpu(process.process.pid) - before) / (time.monotonic() - since)
        rate = (cluster.changed - changed) / (time.monotonic() - since)
        samples = await process.metrics()
        cycles = samples['gitops_dsf_agent_stage_duration_seconds_count{score_name="s0-score",stage="fetch"}']
        figures = [
            Figure("bytes of a pod", len(cluster.pod(0)) / 1000, None, "kB"),
            Figure("start until all are scored", ready, TURN_SECONDS, "s"),
            Figure("its CPU", start_cpu, None, "s"),
            Figure("CPU without changes", 100 * idle, CORE_PERCENT, "% of a core"),
            Figure(f"CPU at {rate:.0f} pod changes a second", 100 * busy, CORE_PERCENT, "% of a core"),
            Figure("cycles of a scorer", cycles, None, ""),
            Figure("memory now", process.resident() / 1024 / 1024, None, "MB"),
            Figure("peak memory", peak(process.process.pid), MEMORY_MB, "MB"),
        ]
    server.close()
    return figures


async def _all_run(process: AgentProcess) -> bool:
    if not process.port:
        return False
    scorers = (await process.ready())["scorers"]
    return len(scorers) == len(QUERIES) and all(one["state"] == "running" for one in scorers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter, with less certain figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gitops-dsf-bench-") as folder:
        figures = asyncio.run(measure(Path(folder), seconds=10 if arguments.quick else 40))
    print(f"{NODES} nodes, {PODS} pods, {len(QUERIES)} scorers\n")
    print("| what | measured | goal | | samples |\n|---|---|---|---|---|")
    for figure in figures:
        print(figure.row())
    return int(not all(figure.good for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
