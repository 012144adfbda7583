"""Speed and memory of a scoring API made with the SDK: 10,000 series of 60 points in one request.

    .venv/bin/python -m benchmarks.bench_scorer [--series N] [--rounds N]

The scoring API runs as `gitops-dsf scorer run` in another process. Prints a Markdown table; exits with 1 when
a figure misses its goal.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from dsf_scorer import request
from tests.support.scorer.serving import serving

POINTS = 60
APP = """
from statistics import fmean
from dsf_scorer import Series, scorer

@scorer(name="mean", query="up", range_seconds=3600, step_seconds=60, interval_seconds=60)
def app(series: Series) -> float | None:
    return fmean(series.values) if series.values else None
"""


@dataclass(frozen=True)
class Figure:
    """One measured number against its goal; the smaller the better."""

    what: str
    value: float
    goal: float
    unit: str

    @property
    def line(self) -> str:
        verdict = "yes" if self.value <= self.goal else "NO"
        return f"| {self.what} | {self.value:.3g} {self.unit} | {self.goal:.3g} {self.unit} | {verdict} |"


def body_of(series: int) -> bytes:
    rows = []
    for number in range(series):
        values = [
            [1_700_000_000.123 + 60 * point, f"0.{(number * 7919 + point * 104_729) % 10**9:09d}"]
            for point in range(POINTS)
        ]
        rows.append(
            {
                "metric": {
                    "node": f"node-{number % 100}",
                    "namespace": f"ns-{number % 37}",
                    "pod": f"pod-{number}",
                },
                "values": values,
            }
        )
    return json.dumps({"data": rows}, separators=(",", ":")).encode()


def decoding(body: bytes, rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        request.decode(body, max_series=10**6)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def importing(rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import dsf_scorer"], check=True)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def post(host: str, body: bytes) -> int:
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.request("POST", "/scoring", body=body, headers={"Content-Type": "application/json"})
    results = len(json.loads(connection.getresponse().read())["results"])
    connection.close()
    return results


def slowest_health(host: str, worker: threading.Thread) -> float:
    slowest = 0.0
    while worker.is_alive():
        began = time.perf_counter()
        connection = http.client.HTTPConnection(host, timeout=120)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        connection.close()
        slowest = max(slowest, time.perf_counter() - began)
        time.sleep(0.005)
    return slowest


def memory(pid: int, field: str) -> int:
    """Bytes, from /proc: this runs on Linux."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def served(body: bytes, *, series: int, rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scorer.py").write_text(APP)
        with serving("scorer:app", Path(folder), programs=Path(sys.executable).parent) as api:
            host = api.url.removeprefix("http://")
            pid = api.process.pid
            idle = memory(pid, "VmRSS")
            counts: list[int] = []
            taken: list[tuple[float, float]] = []
            health: list[float] = []
            for _ in range(rounds):
                before, began = cpu_seconds(pid), time.perf_counter()
                worker = threading.Thread(target=lambda: counts.append(post(host, body)))
                worker.start()
                health.append(slowest_health(host, worker))
                worker.join()
                assert counts.pop() == series
                taken.append((time.perf_counter() - began, cpu_seconds(pid) - before))
            peak = memory(pid, "VmHWM")
    return [
        Figure("one request over HTTP, wall", statistics.median(one for one, _ in taken), 2.0, "s"),
        Figure(
            "one request over HTTP, CPU of the scoring API",
            statistics.median(one for _, one in taken),
            1.0,
            "s",
        ),
        Figure("longest /healthz meanwhile", max(health), 0.25, "s"),
        Figure("memory when idle", idle / 2**20, 60, "MiB"),
        Figure("memory at its peak", peak / 2**20, 200, "MiB"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    body = body_of(args.series)
    figures = [
        Figure("import dsf_scorer, interpreter included", importing(args.rounds), 0.3, "s"),
        Figure("bytes to typed series", decoding(body, args.rounds), 0.3, "s"),
        *served(body, series=args.series, rounds=args.rounds),
    ]
    print(f"{args.series} series of {POINTS} points, {len(body) / 1e6:.1f} MB, median of {args.rounds}\n")
    print("| what | measured | goal | met |\n|---|---|---|---|")
    for figure in figures:
        print(figure.line)
    return int(any(figure.value > figure.goal for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
