"""Memory and CPU of the reconciler on a hub of 2,000 clusters and 200 scorers, and a round of probes of which
some hang.

    .venv/bin/python -m benchmarks.bench_reconciler [--clusters N] [--scorers N]

The reconciler runs as `gitops-dsf reconcile`; the API server and the scoring APIs are processes of their own.
Prints a Markdown table; exits with 1 when a figure misses its goal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import msgspec

from benchmarks import fleet
from benchmarks.measure import Figure, shown
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer
from gitops_dsf.reconciler.run import CONCURRENT
from gitops_dsf.reconciler.scorers.prober import probe
from gitops_dsf.sync.fetch import Fault, Fetcher, FetchLimits, Page
from tests.integration.reconciler.scorers.manypages import many_pages
from tests.support.agent.hub import kubeconfig

HERE = Path(__file__).parent
LIMIT = 5.0
RELISTS = 8
LOOK = 60
"""Seconds for which CPU is counted: six looks at what expired."""


class WideHub:
    """widehub.py, told what to do."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def count(self) -> tuple[int, int]:
        """Pages of scores and status patches so far."""
        self.tell("count")
        pages, patches = json.loads(self._line())
        return pages, patches

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def wide_hub(*sizes: int) -> Iterator[WideHub]:
    command = [sys.executable, str(HERE / "widehub.py"), *map(str, sizes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield WideHub(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


class Reconciler:
    """`gitops-dsf reconcile` as a process, seen from outside."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process, self._port = process, port

    def until(self, wanted: str, *, path: str = "/readyz") -> None:
        """Waits until a page holds a text."""
        end = time.monotonic() + 300
        while wanted not in (seen := self._page(path)):
            if time.monotonic() > end or self._process.poll() is not None:
                sys.exit(f"{path} never said {wanted}, but {seen[-500:]}")
            time.sleep(0.2)

    def _page(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=30) as answer:
                return str(answer.read().decode())
        except OSError as error:
            return str(error)

    @property
    def cpu(self) -> float:
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, kind: str = "VmRSS") -> float:
        """Megabytes; VmHWM is the peak."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


@contextmanager
def reconciler(url: str, folder: Path) -> Iterator[Reconciler]:
    config = kubeconfig(folder / "kubeconfig", server=url)
    fleet.write(folder / "fleet", clusters=1, scorers=1, applications=0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gitops_dsf", "reconcile", f"--kubeconfig={config}"]
    command += [f"--config={folder}/fleet/gitops-dsf.yaml", f"--metrics-address=127.0.0.1:{port}"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            yield Reconciler(process, port)
        finally:
            process.terminate()


def on_a_wide_hub(clusters: int, scorers: int) -> Iterator[Figure]:
    fresh = f'scored_clusters{{scorer="scorer-000-headroom",state="fresh"}} {float(clusters)}'
    with (
        tempfile.TemporaryDirectory() as folder,
        wide_hub(clusters, scorers) as hub,
        reconciler(hub.url, Path(folder)) as process,
    ):
        process.until("ok\n")
        process.until(fresh, path="/metrics")
        yield Figure("CPU until every list is read and every status written", process.cpu, None, "s")
        yield Figure("memory after the first list", process.memory(), 300, "MB")
        time.sleep(12)
        written = hub.count()[1]
        renewals = clusters * scorers // 450
        for what, goal, rate in (
            ("one look at what expired, nothing changed", 0.5, 0),
            (f"while agents renew {renewals} scores a second", 5, renewals),
        ):
            hub.tell(f"renew {rate}")
            before = process.cpu
            time.sleep(LOOK)
            yield Figure(f"CPU in 10 s, {what}", (process.cpu - before) * 10 / LOOK, goal, "s")
        hub.tell("renew 0")
        sizes = [_after_a_list(hub, process, -(-clusters * scorers // 500)) for _ in range(RELISTS)]
        growth = max(sizes[RELISTS // 2 :]) - max(sizes[: RELISTS // 2])
        yield Figure(f"memory after {RELISTS} more lists", sizes[-1], 300, "MB")
        yield Figure("growth from the first half of them to the second", growth, 10, "MB")
        yield Figure("peak of memory", process.memory("VmHWM"), 300, "MB")
        yield Figure("statuses written after the first look", hub.count()[1] - written, 0)


def _after_a_list(hub: WideHub, process: Reconciler, pages: int) -> float:
    """Memory after all scores were listed anew."""
    before, end = hub.count()[0], time.monotonic() + 120
    hub.tell("expire")
    while hub.count()[0] < before + pages:
        if time.monotonic() > end:
            sys.exit("the reconciler did not list the scores anew")
        time.sleep(0.2)
    time.sleep(3)
    return process.memory()


def made(url: str) -> DynamicScorer:
    item = {"metadata": {"name": url}, "spec": {"configURL": f"{url}/config", "configSyncMode": "Full"}}
    return scorer(msgspec.Raw(json.dumps(item).encode()))[1]


def a_round_of_probes() -> Iterator[Figure]:
    """1,000 scorers of which 100 hang."""

    async def timed() -> tuple[float, float, int, int]:
        async with Fetcher(limits=FetchLimits(seconds=LIMIT, concurrent=CONCURRENT)) as fetcher:
            clock, cpu = time.monotonic(), time.process_time()
            found = await probe(map(made, urls), fetcher=fetcher)
            wall, used = time.monotonic() - clock, time.process_time() - cpu
        right = sum(
            isinstance(found[f"{url}/{page}"], Page)
            for url in urls
            if url not in silent
            for page in ("healthz", "config")
        )
        faults = [found[f"{url}/healthz"] for url in silent]
        hung = sum(isinstance(each, Fault) and each.reason == "Timeout" for each in faults)
        return wall, used, right // 2, hung

    with many_pages(good=900, hanging=100) as (urls, silent):
        rounds = [asyncio.run(timed()) for _ in range(3)]
    wall, cpu = min(each[0] for each in rounds), min(each[1] for each in rounds)
    wrong = max(900 - right + 100 - hung for _, _, right, hung in rounds)
    what = f"1,000 scorers of which 100 hang, time limit {LIMIT:g} s"
    yield Figure(f"{what}: one round, best of three", wall, LIMIT + 2, "s")
    yield Figure(f"{what}: CPU of a round", cpu, None, "s")
    yield Figure(f"{what}: judged wrong, worst of three", wrong, 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clusters", type=int, default=2000)
    parser.add_argument("--scorers", type=int, default=200)
    options = parser.parse_args()
    return shown(chain(a_round_of_probes(), on_a_wide_hub(options.clusters, options.scorers)))


if __name__ == "__main__":
    sys.exit(main())
