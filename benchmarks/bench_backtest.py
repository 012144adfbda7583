"""How long a backtest takes.

    python -m benchmarks.bench_backtest

Two weeks of 100 clusters, 3 scorers each minute and 50 applications: at most 20 s and 300 MB, read
from a store on loopback that another process plays. Exits with 1 when a target is missed.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np

from benchmarks import fleet
from benchmarks.measure import Figure, best, shown
from tests.support.threadserver import Handler, ThreadServer

SIZES = {"clusters": 100, "scorers": 3, "applications": 50}
END = 1_780_272_000
STEP = 60


@cache
def answer(name: str, first: float, last: float) -> bytes:
    """A wave with noise of a score on each cluster."""
    # Answers are kept, because to write them takes longer than the backtest: the first run counts
    # least.
    times = np.arange(round((last - first) / STEP) + 1) * STEP + first
    # Every run must read the same scores, and each scorer others.
    rng = np.random.default_rng(int(first) + int(name.rpartition("-")[2]))
    rows: list[str] = []
    for number in range(SIZES["clusters"]):
        wave = 0.5 + 0.15 * np.sin(times / 20_000 + number) + rng.normal(0, 0.03, len(times))
        points = zip(times, wave, strict=True)
        values = ",".join(f'[{time_of:.0f},"{value:.4f}"]' for time_of, value in points)
        cluster = fleet.cluster_name(number)
        rows.append(f'{{"metric":{{"ds_cluster":"{cluster}"}},"values":[{values}]}}')
    result = ",".join(rows)
    return f'{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}'.encode()


class TimedStore(Handler):
    """Answers range queries."""

    def serve(self) -> None:
        # Short queries are asked with GET, long ones with POST.
        text = urlsplit(self.path).query if self.command == "GET" else self.body().decode()
        form = parse_qs(text)
        name = form["query"][0].split('ds_score_name="')[1].split('"')[0]
        self.send(200, answer(name, float(form["start"][0]), float(form["end"][0])))


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        with ThreadServer(TimedStore) as store:
            print(store.url, flush=True)
            threading.Event().wait()
    # A process of its own, because a backtest's peak is never counted below that of its parent,
    # and the answers would be in it.
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bench_backtest", "serve"],
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(END))
            plain = Path(folder) / "fleet"
            paced = Path(folder) / "paced"
            # Not regional, so that each application chooses among all clusters.
            fleet.write(plain, **SIZES, regional=False, paced=False)
            fleet.write(paced, **SIZES, regional=False, paced=True)
            backtest = [sys.executable, "-m", "gitops_dsf", "backtest"]
            span = ["--prometheus", url, "--to", end]
            return shown(figures([*backtest, str(plain), *span], [*backtest, str(paced), *span]))
        finally:
            server.terminate()


def figures(verb: list[str], paced: list[str]) -> Iterator[Figure]:
    cost = best([*verb, "-o", "json"], repeats=2)
    yield from cost.figures("100 clusters, 3 scorers, 50 applications", seconds=20, megabytes=300)
    cost = best([*paced, "-o", "json"], repeats=2)
    yield from cost.figures("the same with a pace", seconds=20, megabytes=300)
    # More repeats, because a short run differs more from the next one.
    cost = best([*verb, "--placement", "app-0000"], repeats=5)
    note = f"{cost.wall:.2f} s elapsed"
    yield Figure("the same, one application with one scorer: CPU", cost.cpu, 2, "s", note)


if __name__ == "__main__":
    sys.exit(main())
