"""The hub scorer with 2,000 clusters and ten Query scorers, each every 60 s: start, CPU, memory and writes.

    python -m benchmarks.bench_hub_scorer [--minutes N] [--clusters N]

The metric store and the hub run in this process, the hub scorer in another one. After a first start without
any score on the hub, it measures some minutes in which a fiftieth of the scores change by three points with
each query. Prints a Markdown table; exits with 1 when a figure misses its goal.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_agent import Figure, cpu, peak
from dsf_wire import clusters
from dsf_wire.clusters import FleetCluster
from tests.support.agent.configmap import ConfigMapVolume
from tests.support.agent.http import HttpFake, Reply, Seen
from tests.support.agent.hub import HubFake, kubeconfig
from tests.support.agent.process import AgentProcess, agent

SCORERS = 10
INTERVAL = 60
CHANGING = 0.01
"""Part of the scores that rise with each query. They fall again with the next one."""
FIRST_SECONDS, CPU_PERCENT, MEMORY_MB = 60.0, 10.0, 150.0


class Store:
    """The values of every cluster, as an instant vector."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._asked = 0

    def __call__(self, seen: Seen) -> Reply:
        del seen
        self._asked += 1
        at = time.time()
        rows = (
            f'{{"metric":{{"cluster":"{name}","prometheus":"openshift-monitoring/k8s"}},"value":[{at:.3f},"{self._value(index)}"]}}'
            for index, name in enumerate(self._names)
        )
        body = f'{{"status":"success","data":{{"resultType":"vector","result":[{",".join(rows)}]}}}}'
        return Reply(body=body.encode(), headers={"Content-Type": "application/json"})

    def _value(self, index: int) -> float:
        moved = index % round(1 / CHANGING) == self._asked // SCORERS % round(1 / CHANGING)
        return 20 + index % 50 + (3.0 if moved else 0.0)


class Counting:
    """The hub, and when each cluster got its first score. ``all_clusters`` and ``all_scores`` are set when
    every cluster has one score, and all of them.
    """

    def __init__(self, hub: HubFake, *, clusters: int) -> None:
        self.hub = hub
        self.first: dict[str, float] = {}
        self.statuses = 0
        self._clusters = clusters
        self.all_clusters, self.all_scores = asyncio.Event(), asyncio.Event()

    def __call__(self, seen: Seen) -> Reply:
        answer = self.hub(seen)
        assert isinstance(answer, Reply)
        if seen.method == "PATCH" and seen.path.endswith("/status") and answer.status == 200:
            self.statuses += 1
            self.first.setdefault(seen.path.split("/")[5], time.monotonic())
            if len(self.first) == self._clusters:
                self.all_clusters.set()
            if self.statuses >= self._clusters * SCORERS:
                self.all_scores.set()
        return answer


def entries(url: str) -> list[dict[str, object]]:
    return [
        {
            "name": f"score-{number}",
            "scoreName": f"score_{number}",
            "sourceType": "Prometheus",
            "sourceEndpoint": f"{url}/api/v1/query",
            "sourceQuery": f"avg by (cluster) (metric_{number})",
            "scoringInterval": INTERVAL,
            "scoreDestination": "AddOnPlacementScore",
            "scoreDimensionFormat": "${scoreName}",
            "scoringType": "Query",
            "runsOn": "Hub",
            "clusterLabel": {"name": "cluster"},
        }
        for number in range(SCORERS)
    ]


async def measure(*, minutes: float, count: int) -> list[Figure]:
    names = [f"cluster-{index:05}" for index in range(count)]
    fleet = [FleetCluster(name=name, scorers=tuple(f"score-{n}" for n in range(SCORERS))) for name in names]
    hub = Counting(HubFake(namespaces=tuple(names)), clusters=count)
    with tempfile.TemporaryDirectory() as folder:
        volume = ConfigMapVolume(Path(folder) / "config")
        async with HttpFake(hub) as server, HttpFake(Store(names)) as source:
            volume.swap(
                {
                    "summaries": json.dumps(entries(source.url)).encode(),
                    "clusters": clusters.encode(fleet).encode(),
                }
            )
            flags: list[str | Path] = [
                "--config-dir",
                volume.directory,
                "--clusters",
                volume.directory / "clusters",
                "--hub-kubeconfig",
                kubeconfig(Path(folder) / "kubeconfig", server=server.url),
            ]
            started = time.monotonic()
            async with agent(*flags) as process:
                return await _figures(process, hub, started=started, count=count, minutes=minutes)


async def _figures(
    process: AgentProcess, hub: Counting, *, started: float, count: int, minutes: float
) -> list[Figure]:
    pid = process.process.pid
    async with asyncio.timeout(30 * FIRST_SECONDS):
        await hub.all_clusters.wait()
        first = max(hub.first.values()) - started
        await hub.all_scores.wait()
    whole = time.monotonic() - started
    await asyncio.sleep(2 * INTERVAL)
    before, began, written = cpu(pid), time.monotonic(), hub.statuses
    await asyncio.sleep(60 * minutes)
    seconds = time.monotonic() - began
    used = 100 * (cpu(pid) - before) / seconds
    rate = (hub.statuses - written) / seconds
    return [
        Figure(f"first scores of all {count:,} clusters after the first start", first, FIRST_SECONDS, "s"),
        Figure(f"all {count * SCORERS:,} scores after the first start", whole, None, "s"),
        Figure(f"CPU of one core, over {minutes:g} minutes", used, CPU_PERCENT, "%"),
        Figure("writes", rate, None, "/s"),
        Figure("memory, peak", peak(pid), MEMORY_MB, "MB"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to measure (5)")
    parser.add_argument("--clusters", type=int, default=2000, help="clusters of the fleet (2000)")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(minutes=arguments.minutes, count=arguments.clusters))
    print("| what | value | goal | | samples |\n|---|---|---|---|---|")
    for figure in figures:
        print(figure.row())
    return int(not all(figure.good for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
