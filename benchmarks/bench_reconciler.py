"""Memory and CPU of the reconciler on a hub with 1.05 million scores: 3,500 clusters, 300 scorers, and 1,000
paced Placements with refuges.

    .venv/bin/python -m benchmarks.bench_reconciler [--clusters N] [--scorers N] [--paced N]

At rest is a hub without paced Placements (`--paced 0`): a thousand that were placed anywhere move for long.
The reconciler runs as `gitops-dsf reconcile`, the API server is a process of its own. Prints a Markdown
table; exits with 1 when a figure misses its goal.
"""

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
from pathlib import Path

from benchmarks import fleet
from benchmarks.measure import Figure, allocator, memory, options, shown
from tests.support.agent.hub import kubeconfig

MEMORY, UNPACED_MEMORY = 400, 380
"""Megabytes, with and without paced Placements."""
MOVES = 30
"""Paced moves that are followed before memory is measured."""
RELISTS = 8
LOOK = 60
"""Seconds for which CPU is counted: six looks at what expired."""


class WideHub:
    """benchmarks.widehub, told what to do."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def tell(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def count(self) -> tuple[int, int, int]:
        """Scores that were listed, status patches and moves that were followed so far."""
        self.tell("count")
        listed, patches, followed = json.loads(self._line())
        return listed, patches, followed

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def wide_hub(*sizes: int) -> Iterator[WideHub]:
    command = [sys.executable, "-m", "benchmarks.widehub", *map(str, sizes)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
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
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._port}{path}", timeout=30
            ) as answer:
                return str(answer.read().decode())
        except OSError as error:
            return str(error)

    @property
    def cpu(self) -> float:
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, kind: str = "VmRSS") -> float:
        return memory(self._process.pid, kind)


@contextmanager
def reconciler(url: str, folder: Path) -> Iterator[Reconciler]:
    config = kubeconfig(folder / "kubeconfig", server=url)
    fleet.write(folder / "fleet", clusters=1, scorers=1, applications=0, paced=True)
    settings = folder / "fleet" / "gitops-dsf.yaml"
    busy = "concurrent: 10\n    refuges: true\n    settleSeconds: 0"
    settings.write_text(settings.read_text().replace("concurrent: 2", busy))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gitops_dsf", "reconcile", f"--kubeconfig={config}"]
    command += [f"--config={folder}/fleet/gitops-dsf.yaml", f"--metrics-address=127.0.0.1:{port}"]
    environment = {**os.environ, **allocator("reconciler")}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stderr=log, env=environment) as process,
    ):
        try:
            yield Reconciler(process, port)
        finally:
            process.terminate()


def on_a_wide_hub(clusters: int, scorers: int, paced: int) -> Iterator[Figure]:
    fresh = f'scored_clusters{{scorer="scorer-000-headroom",state="fresh"}} {float(clusters)}'
    most = MEMORY if paced else UNPACED_MEMORY
    with (
        tempfile.TemporaryDirectory() as folder,
        wide_hub(clusters, scorers, 0, paced) as hub,
        reconciler(hub.url, Path(folder)) as process,
    ):
        process.until("ok\n")
        process.until(fresh, path="/metrics")
        yield Figure(
            "CPU until every list is read and every status written", process.cpu, None, "s"
        )
        yield Figure("memory after the first list", process.memory(), most, "MB")
        if paced:
            yield from _moving(hub, process)
            _after_a_list(hub, process, clusters * scorers)
        time.sleep(12)
        written = hub.count()[1]
        renewals = clusters * scorers // 450
        for what, goal, rate in (
            ("more moves are made" if paced else "nothing changed", None if paced else 1.5, 0),
            (f"while agents renew {renewals} scores a second", 5, renewals),
        ):
            hub.tell(f"renew {rate}")
            before = process.cpu
            time.sleep(LOOK)
            yield Figure(f"CPU in 10 s, {what}", (process.cpu - before) * 10 / LOOK, goal, "s")
        hub.tell("renew 0")
        sizes = [_after_a_list(hub, process, clusters * scorers) for _ in range(RELISTS)]
        growth = max(sizes[RELISTS // 2 :]) - max(sizes[: RELISTS // 2])
        yield Figure(f"memory after {RELISTS} more lists", sizes[-1], most, "MB")
        yield Figure("growth from the first half of them to the second", growth, 10, "MB")
        yield Figure("peak of memory", process.memory("VmHWM"), most, "MB")
        yield Figure("statuses written after the first look", hub.count()[1] - written, 0)


def _moving(hub: WideHub, process: Reconciler) -> Iterator[Figure]:
    """Admissions, one after the other, while scores change."""
    hub.tell("change")
    hub.tell("renew 2000")
    before, began = process.cpu, time.monotonic()
    while (followed := hub.count()[2]) < MOVES:
        if time.monotonic() > began + 900:
            sys.exit(f"only {followed} moves were made")
        time.sleep(1)
    hub.tell("renew 0")
    seconds = time.monotonic() - began
    cpu = (process.cpu - before) * 10 / seconds
    yield Figure(f"CPU in 10 s, while {MOVES} moves are made", cpu, None, "s")
    yield Figure("peak of memory until then", process.memory("VmHWM"), MEMORY, "MB")


def _after_a_list(hub: WideHub, process: Reconciler, scores: int) -> float:
    """Memory after all scores were listed anew."""
    before, end = hub.count()[0], time.monotonic() + 600
    hub.tell("expire")
    while hub.count()[0] < before + scores:
        if time.monotonic() > end:
            sys.exit("the reconciler did not list the scores anew")
        time.sleep(0.2)
    time.sleep(3)
    return process.memory()


def main() -> int:
    return shown(on_a_wide_hub(**vars(options(__doc__, clusters=3500, scorers=300, paced=1000))))


if __name__ == "__main__":
    sys.exit(main())
