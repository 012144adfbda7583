"""A preview with raw scores: from the state branch, and from a metric store.

    python -m benchmarks.bench_rawscores [--scale 0.1]

2,000 clusters, 500 applications, 50 scorers of which all get another scoreRange. The store is a
process on loopback whose answer is made beforehand. The last figures are what the reconciler
needs for the branch: the CPU to read the answers of 50 scorers, and the bytes of the files.
Everything is made here. Exits with 1 when a target is missed.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import Process, Queue
from pathlib import Path

from benchmarks import fleet
from benchmarks.bench_views import NOW, PROGRAM, build_apart
from benchmarks.measure import Cost, Figure, best, options, shown
from dsf_wire.dimension import LABELS
from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.hub.snapshots.file_format import RAW_FOLDER, files
from gitops_dsf.hub.snapshots.snapshot import Snapshot
from gitops_dsf.metricstore.rawanswers import exported_results
from gitops_dsf.metricstore.vector import read
from tests.support.pageserver import Answer, ConfigPageServer

CLUSTERS = 2000
APPLICATIONS = 500
SCORERS = 50
MAX_MEGABYTES = 400


def previews(scale: float, repeats: int) -> Iterator[Figure]:
    clusters = int(CLUSTERS * scale)
    with tempfile.TemporaryDirectory() as scratch:
        applications = int(APPLICATIONS * scale)
        build_apart(Path(scratch), clusters, SCORERS, applications=applications, raw=True)
        diff = [*PROGRAM, "diff", scratch, "--base", "main", "--state-branch", "state"]
        diff += ["-o", "json"]
        cost = best(diff, repeats=repeats)
        _check(cost, clusters)
        yield from cost.figures("diff, raw scores of the state branch", megabytes=MAX_MEGABYTES)
        urls: Queue[str] = Queue()
        server = Process(target=serve, args=(urls, clusters), daemon=True)
        server.start()
        asking = ["--prometheus", urls.get(), "--now", NOW.isoformat()]
        cost = best([*diff, *asking], repeats=repeats)
        _check(cost, clusters)
        yield from cost.figures("diff, raw scores of a store", megabytes=MAX_MEGABYTES)
        server.terminate()
        server.join()
    yield from reconciler(clusters)


def _check(cost: Cost, clusters: int) -> None:
    # A preview without raw scores would be quick as well. The change removes one cluster.
    if f'"answered": {clusters - 1},' not in cost.output:
        raise AssertionError("the preview has not used the raw scores")


def rows(clusters: int, number: int) -> list[tuple[dict[str, str], float]]:
    """The series of one scorer, as a store answers them: lowest and highest number, and time."""
    rng = random.Random(number)
    series: list[tuple[dict[str, str], float]] = []
    for index in range(clusters):
        # A score of a whole cluster has no other label.
        labels = {f"ds_{label}": "" for label in LABELS}
        labels["ds_cluster"] = fleet.cluster_name(index)
        labels["ds_score_name"] = fleet.scorer_name(number)
        value = rng.random()
        for part, sample in (("low", value), ("high", value), ("time", NOW.timestamp() - 60)):
            series.append((labels | {"gitops_dsf_part": part}, sample))
    return series


def body(kind: str, result: list[dict[str, object]]) -> bytes:
    return json.dumps(
        {"status": "success", "data": {"resultType": kind, "result": result}}
    ).encode()


def serve(urls: "Queue[str]", clusters: int) -> None:
    """A store that has all raw scores, in a process of its own."""
    matrix: list[dict[str, object]] = []
    for number in range(SCORERS):
        for labels, value in rows(clusters, number):
            matrix.append({"metric": labels, "values": [[NOW.timestamp(), str(value)]]})
    with ConfigPageServer() as server:
        server.pages["/api/v1/query_range"] = Answer(body=body("matrix", matrix))
        urls.put(server.url)
        # Until it is terminated.
        time.sleep(3600)


def reconciler(clusters: int) -> Iterator[Figure]:
    # Written before the clock runs: that is the store's part. The reconciler asks for the scores of
    # one scorer after the other.
    answers: dict[str, bytes] = {}
    for number in range(SCORERS):
        vector: list[dict[str, object]] = []
        for labels, value in rows(clusters, number):
            vector.append({"metric": labels, "value": [NOW.timestamp(), str(value)]})
        answers[fleet.scorer_name(number)] = body("vector", vector)
    begin = time.process_time()
    raw_scores: dict[str, ByCluster] = {}
    for name, content in answers.items():
        samples = read(content, where="the store")
        raw_scores |= exported_results(
            samples, [name], cluster_label="ds_cluster", at=NOW.timestamp()
        )
    yield Figure("answers of 50 scorers, CPU", time.process_time() - begin, None, "s")
    begin = time.process_time()
    snapshot = Snapshot(origin="", observed_at=NOW, raw_scores=raw_scores)
    size = 0
    for path, text in files(snapshot, hub="hub"):
        if path.startswith(RAW_FOLDER):
            size += len(text)
    yield Figure("files of the branch, CPU", time.process_time() - begin, None, "s")
    yield Figure("files of the branch", size / 1e6, 10, "MB")


def main() -> int:
    sizes = vars(options(__doc__, scale=1.0, repeats=1))
    return shown(previews(**sizes))


if __name__ == "__main__":
    sys.exit(main())
