"""Memory and CPU of the reconciler on a hub with 1.05 million scores.

    .venv/bin/python -m benchmarks.bench_reconciler [--clusters N] [--scorers N] [--paced N]

There are 3,500 clusters, 300 scorers, and 1,000 paced Placements with refuges. At rest is a hub
without paced Placements (`--paced 0`): a thousand that were placed anywhere move for long. The
reconciler runs as `gitops-dsf reconcile`, the API server is a process of its own. Prints a Markdown
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

MEMORY = 400
"""Megabytes, with paced Placements."""
UNPACED_MEMORY = 380
MOVES = 30
"""Paced moves that are followed before memory is measured."""
RELISTS = 8
LOOK = 60
"""Seconds for which CPU is counted: six looks at what expired."""


class WideHub:
    """The process of benchmarks.widehub."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.url = self._line()

    def send(self, line: str) -> None:
        """One of the lines that it obeys."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def count(self) -> tuple[int, int, int]:
        """Scores that were listed, status patches and moves that were followed so far."""
        self.send("count")
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
            # It ends with its input.
            assert process.stdin is not None
            process.stdin.close()


class ReconcilerProcess:
    """`gitops-dsf reconcile` as a process, seen from outside."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self._port = port

    def until(self, wanted: str, *, path: str = "/readyz") -> None:
        """Waits until a page holds a text."""
        end = time.monotonic() + 300
        while wanted not in (seen := self._page(path)):
            if time.monotonic() > end or self._process.poll() is not None:
                sys.exit(f"{path} does not hold {wanted!r}; it ends with {seen[-500:]!r}")
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
        # The name of the program, in brackets, could hold spaces. utime and stime are fields 14 and
        # 15 of the line, and so the 12th and 13th after the name.
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, kind: str = "VmRSS") -> float:
        return memory(self._process.pid, kind)


@contextmanager
def reconciler(url: str, folder: Path) -> Iterator[ReconcilerProcess]:
    config = kubeconfig(folder / "kubeconfig", server=url)
    fleet.write(folder / "fleet", clusters=1, scorers=1, applications=0, paced=True)
    settings = folder / "fleet" / "gitops-dsf.yaml"
    # More at a time than people would permit, so that the moves are made within minutes.
    busy = "concurrent: 10\n    refuges: true\n    settleSeconds: 0"
    settings.write_text(settings.read_text().replace("concurrent: 2", busy))
    # Its metrics are read, so the port must be known, which port 0 would leave to the system.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gitops_dsf", "reconcile", f"--kubeconfig={config}"]
    command += [f"--config={folder}/fleet/gitops-dsf.yaml", f"--metrics-address=127.0.0.1:{port}"]
    # Memory depends on the allocator, so it has the one of the image.
    environment = {**os.environ, **allocator("reconciler")}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, stderr=log, env=environment) as process,
    ):
        try:
            yield ReconcilerProcess(process, port)
        finally:
            process.terminate()


def on_a_wide_hub(clusters: int, scorers: int, paced: int) -> Iterator[Figure]:
    fresh = f'scored_clusters{{scorer="scorer-000-headroom",state="fresh"}} {float(clusters)}'
    megabytes = UNPACED_MEMORY
    if paced:
        megabytes = MEMORY
    with (
        tempfile.TemporaryDirectory() as folder,
        wide_hub(clusters, scorers, 0, paced) as hub,
        reconciler(hub.url, Path(folder)) as process,
    ):
        # Ready is when all is read; the metrics follow with the first look at all scores.
        process.until("ok\n")
        process.until(fresh, path="/metrics")
        yield Figure(
            "CPU until every list is read and every status written", process.cpu, None, "s"
        )
        yield Figure("memory after the first list", process.memory(), megabytes, "MB")
        if paced:
            yield from _moving(hub, process)
            _after_a_list(hub, process, clusters * scorers)
        # Longer than between two looks, so that what the first one wrote is not counted.
        time.sleep(12)
        statuses = hub.count()[1]
        # Agents renew a score at half of its TTL of an hour, so a hub where nothing changes has a
        # quarter of these.
        renewals = clusters * scorers // 450
        cpu = _cpu_of_ten_seconds(process)
        if paced:
            yield Figure("CPU in 10 s, more moves are made", cpu, None, "s")
        else:
            yield Figure("CPU in 10 s, nothing changed", cpu, 1.5, "s")
        hub.send(f"renew {renewals}")
        cpu = _cpu_of_ten_seconds(process)
        yield Figure(f"CPU in 10 s, while agents renew {renewals} scores a second", cpu, 5, "s")
        hub.send("renew 0")
        sizes = [_after_a_list(hub, process, clusters * scorers) for _ in range(RELISTS)]
        # A leak goes on to grow; an allocator stops when it has holes enough.
        growth = max(sizes[RELISTS // 2 :]) - max(sizes[: RELISTS // 2])
        yield Figure(f"memory after {RELISTS} more lists", sizes[-1], megabytes, "MB")
        yield Figure("growth from the first half of them to the second", growth, 10, "MB")
        yield Figure("peak of memory", process.memory("VmHWM"), megabytes, "MB")
        # Renewals change no value, so nothing is to be said of them.
        yield Figure("statuses written after the first list", hub.count()[1] - statuses, 0)


def _cpu_of_ten_seconds(process: ReconcilerProcess) -> float:
    before = process.cpu
    time.sleep(LOOK)
    return (process.cpu - before) * 10 / LOOK


def _moving(hub: WideHub, process: ReconcilerProcess) -> Iterator[Figure]:
    """Admissions, one after the other, while scores change."""
    hub.send("change")
    hub.send("renew 2000")
    before = process.cpu
    began = time.monotonic()
    while (followed := hub.count()[2]) < MOVES:
        if time.monotonic() > began + 900:
            sys.exit(f"only {followed} moves were made")
        time.sleep(1)
    hub.send("renew 0")
    seconds = time.monotonic() - began
    cpu = (process.cpu - before) * 10 / seconds
    yield Figure(f"CPU in 10 s, while {MOVES} moves are made", cpu, None, "s")
    yield Figure("peak of memory until then", process.memory("VmHWM"), MEMORY, "MB")


def _after_a_list(hub: WideHub, process: ReconcilerProcess, scores: int) -> float:
    """Memory after all scores were listed again."""
    before = hub.count()[0]
    end = time.monotonic() + 600
    hub.send("expire")
    while hub.count()[0] < before + scores:
        if time.monotonic() > end:
            sys.exit("the reconciler did not list the scores again")
        time.sleep(0.2)
    # Scores count as listed when their page is sent; the last one must still be read.
    time.sleep(3)
    return process.memory()


def main() -> int:
    return shown(on_a_wide_hub(**vars(options(__doc__, clusters=3500, scorers=300, paced=1000))))


if __name__ == "__main__":
    sys.exit(main())
