"""Memory and CPU of the reconciler for the jobs of a hub with Kueue.

    .venv/bin/python -m benchmarks.bench_workloads [--workloads N] [--clusters N]

There are 100,000 Workloads of 4 kB, all of them admitted on one of 20 clusters: those that wait or
have finished cost nothing. The API server is a process of its own. Memory is what the process grows
by. Prints a Markdown table; exits with 1 when a figure misses its goal.
"""

import asyncio
import json
import os
import ssl
import sys
import time
from collections.abc import Iterator
from multiprocessing import Process, Queue
from typing import Any, Final

from prometheus_client import CollectorRegistry, Gauge

from benchmarks.measure import Figure, memory, options, shown
from dsf_runtime.access import Access
from gitops_dsf.hub.multikueue import MAX_CLUSTERS
from gitops_dsf.hub.pace import PacedTerm
from gitops_dsf.hub.resources import WORKLOADS
from gitops_dsf.hub.scores import score_of
from gitops_dsf.multikueue.assumed import assumed_scores
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.multikueue.jobs import CheckedConfig, jobs_of
from gitops_dsf.reconciler.multikueue.kueueview import KueueView
from tests.support.agent.http import RecordedRequest, SentReply
from tests.support.apiserver import ApiTarget, FakeApiServer

MEGABYTES = 60
"""For 100,000 Workloads."""
PASS_SECONDS = 0.5
"""Of CPU for one look at all jobs."""
CONFIG: Final = "gpu-jobs"
NOW: Final = 1_800_000_000

# A Workload as Kueue 0.19 writes it: pod sets with a template, conditions and managedFields.
PADDING: Final = [{"name": f"CUDA_OPTION_{number}", "value": "x" * 40} for number in range(36)]
WORKLOAD: Final = json.dumps(
    {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {
            "name": "job-training-run-%(number)06d-3f2a1",
            "namespace": "team-%(team)02d",
            "uid": "%(number)036d",
            "resourceVersion": "1",
            "labels": {"kueue.x-k8s.io/job-uid": "%(number)036d"},
        },
        "spec": {
            "queueName": "gpu",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"env": PADDING}}}],
        },
        "status": {
            "admission": {"clusterQueue": "gpu"},
            "clusterName": "cluster-%(cluster)02d",
            "admissionChecks": [
                {
                    "name": "multikueue",
                    "state": "Ready",
                    "lastTransitionTime": "%(time)s",
                    "message": "The workload was admitted on a cluster",
                }
            ],
            "conditions": [
                {"type": kind, "status": "True", "reason": kind, "message": "m" * 60}
                for kind in ("QuotaReserved", "Admitted", "PodsReady")
            ],
        },
    }
)


class WorkloadServer(FakeApiServer):
    """Lists Workloads that are a sequence of numbers and no objects."""

    def __init__(self, workloads: int, clusters: int) -> None:
        super().__init__(token="", live=True)
        self._workloads = workloads
        self._clusters = clusters

    def _list(self, target: ApiTarget, seen: RecordedRequest) -> SentReply:
        if target.plural != WORKLOADS.plural:
            return super()._list(target, seen)
        start = int(seen.query.get("continue", "0"))
        end = min(start + int(seen.query.get("limit", "500")), self._workloads)
        metadata: dict[str, Any] = {"resourceVersion": "100"}
        if end < self._workloads:
            metadata["continue"] = str(end)
        items = ",".join(self._workload(number) for number in range(start, end))
        body = f'{{"kind":"WorkloadList","metadata":{json.dumps(metadata)},"items":[{items}]}}'
        return SentReply(body=body.encode())

    def _workload(self, number: int) -> str:
        # Admitted at any time of a day. Of 100,000, a tenth is in the part that `look` asks for.
        moment = time.gmtime(NOW - number % 86_400)
        return WORKLOAD % {
            "number": number,
            "team": number % 40,
            "cluster": number % self._clusters,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
        }


def serve(urls: "Queue[str]", workloads: int, clusters: int) -> None:
    async def run() -> None:
        async with WorkloadServer(workloads, clusters) as server:
            urls.put(server.url)
            await asyncio.Event().wait()

    asyncio.run(run())


async def measured(url: str, workloads: int, clusters: int) -> list[Figure]:
    def load() -> Access:
        trust = ssl.create_default_context()
        return Access(host=url, trust=trust, authorization=None, proxy=None)

    async with HubApi(load=load, timeout_seconds=60) as api:
        broken = Gauge("broken", "", ["resource"], registry=CollectorRegistry())
        view = KueueView(api=api, broken=broken, on_bug=lambda: None)
        before = memory(os.getpid(), "VmRSS")
        began = time.process_time()
        await view.workloads.refresh()
        cpu = time.process_time() - began
        # A list that was read in part would be small and quick.
        if len(view.workloads.items) != workloads:
            sys.exit(f"{len(view.workloads.items)} of {workloads} Workloads were read")
        figures = [Figure("CPU to read the list", cpu, None, "s")]
        grown = memory(os.getpid(), "VmRSS") - before
        figures.append(Figure("memory after the first list", grown, MEGABYTES, "MB"))
        # Old and new items are there at the same time while a list is read again.
        for _ in range(3):
            await view.workloads.refresh()
        grown = memory(os.getpid(), "VmRSS") - before
        figures.append(Figure("memory after 3 more lists", grown, MEGABYTES, "MB"))
        figures.append(Figure("peak of memory", memory(os.getpid()) - before, None, "MB"))
        figures.extend(look(view, clusters))
        return figures


def look(view: KueueView, clusters: int) -> Iterator[Figure]:
    """One pass over all jobs, of which a tenth is not measured yet."""
    terms = (PacedTerm("headroom", "gpu", 1, demand=5, delay=60.0, range=8_580.0),)
    scores = {"headroom": {f"cluster-{n:02}": score_of({"gpu": 50}) for n in range(clusters)}}
    # 8,640 seconds are a tenth of a day: delay and range of the term.
    began = time.process_time()
    jobs = jobs_of(
        CONFIG,
        view.workloads.items.values(),
        {"multikueue": CheckedConfig(CONFIG)},
        admitted_after=NOW - 8_640,
    )
    assumed_scores(scores, jobs.placed, terms, now=NOW)
    cpu = time.process_time() - began
    if len(jobs.busy) != clusters:
        sys.exit(f"jobs are on {len(jobs.busy)} of {clusters} clusters")
    yield Figure(f"CPU of one pass, {len(jobs.placed)} recent jobs", cpu, PASS_SECONDS, "s")


def main() -> int:
    args = options(__doc__, workloads=100_000, clusters=MAX_CLUSTERS)
    urls: Queue[str] = Queue()
    # A process of its own, because the memory of this one is measured.
    server = Process(target=serve, args=(urls, args.workloads, args.clusters), daemon=True)
    server.start()
    try:
        return shown(asyncio.run(measured(urls.get(), args.workloads, args.clusters)))
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    sys.exit(main())
