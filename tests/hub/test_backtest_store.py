"""`gitops-dsf backtest` with a real Prometheus that has two days of raw scores, one each minute."""

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pytest
import yaml

from tests.hub.controlplane.api import Object
from tests.hub.controlplane.binaries import Binaries, obtain
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import Prometheus, start_prometheus
from tests.support.commandline import gitops_dsf

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

CLUSTERS: Final = tuple(f"c{number:02}" for number in range(10))
SCORES: Final = ("idle", "memory", "cost")
STEP: Final = 60
DAY: Final = 86_400
DAYS: Final = 2
TURN: Final = 6 * 3600
"""The second cluster is twelve points better and worse than the first one, in turn."""
PIECE: Final = 6 * 3600
"""promtool reads a file once for each block of two hours, so a file has only a few."""


@dataclass(frozen=True, kw_only=True)
class Past:
    prometheus: Prometheus
    end: int


def _values(score: str, times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Raw scores: a row for each time, a column for each cluster."""
    values = np.full((len(times), len(CLUSTERS)), 20, dtype=np.int64)
    if score == "idle":
        values[:, 0] = 50
        values[:, 1] = np.where(times // TURN % 2, 62, 38)
    else:
        values += (times[:, None] // STEP + np.arange(len(CLUSTERS))) % 5
    return values


def _write(binaries: Binaries, folder: Path, *, end: int) -> None:
    """Writes the past into blocks below `folder`/data."""
    folder.mkdir()
    file = folder / "past.txt"
    first = end - DAYS * DAY
    for begin in range(first - first % PIECE, end, PIECE):
        times = np.arange(max(begin, first), min(begin + PIECE, end + STEP), STEP)
        rows = {score: _values(score, times).tolist() for score in SCORES}
        with file.open("w", encoding="utf-8") as out:
            for place, at in enumerate(times.tolist()):
                for score in SCORES:
                    out.writelines(
                        f'dynamic_score{{ds_cluster="{cluster}",ds_score_name="{score}"}} {value} {at}\n'
                        for cluster, value in zip(CLUSTERS, rows[score][place], strict=True)
                    )
            out.write("# EOF\n")
        command: list[str | Path] = [
            binaries.path("promtool"),
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            "--quiet",
        ]
        subprocess.run([*command, file, folder / "data"], check=True, capture_output=True, timeout=60)
    file.unlink()


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    folder = tmp_path_factory.mktemp("prometheus")
    binaries = obtain("prometheus")
    end = int(time.time()) // DAY * DAY - 3 * 3600  # at the same time of day whenever the test runs
    _write(binaries, folder / "prometheus", end=end)
    with Processes(logs=folder / "logs") as processes:
        prometheus = start_prometheus(
            binaries=binaries,
            processes=processes,
            folder=folder / "prometheus",
            flags=["--storage.tsdb.retention.time=30d"],
        )
        yield Past(prometheus=prometheus, end=end)


def _fleet(root: Path) -> Path:
    dsf, ocm = "dynamic-scoring.open-cluster-management.io/v1alpha1", "cluster.open-cluster-management.io"
    made = gitops_dsf("init", root, "--git-url", "https://git.example.com/fleet.git")
    assert made.returncode == 0, made.stderr
    for folder in ("apps", "clusters", "config", "locks", "scorers", "tests"):
        for file in (root / folder).glob("*.yaml"):
            file.unlink()
    clusters = [
        {
            "apiVersion": f"{ocm}/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {f"{ocm}/clusterset": "all"}},
            "spec": {"hubAcceptsClient": True},
        }
        for name in CLUSTERS
    ]
    members = {"apiVersion": f"{ocm}/v1beta2", "kind": "ManagedClusterSet", "metadata": {"name": "all"}}
    (root / "clusters" / "all.yaml").write_text(yaml.safe_dump_all([*clusters, members]))
    for name in SCORES:
        source = {"type": "Prometheus", "host": "http://p.m.svc:9090", "params": {"query": f"avg({name})"}}
        spec: Object = {
            "description": name,
            "source": source,
            "scoreRange": {"min": 0, "max": 100},
            "scoring": {"type": "Query", "params": {"name": name, "interval": STEP}},
        }
        scorer = {"apiVersion": dsf, "kind": "DynamicScorer", "metadata": {"name": name}, "spec": spec}
        (root / "scorers" / f"{name}.yaml").write_text(yaml.safe_dump(scorer))
    for name, scores in (("portal", ["idle"]), ("shop", list(SCORES))):
        spec = {
            "placement": {"clusterSets": ["all"], "numberOfClusters": 1},
            "scores": [{"scorer": each} for each in scores],
            "stickiness": 10,
            "application": {
                "source": {"repoURL": "https://git.example.com/a.git", "path": "d", "targetRevision": "main"},
                "destinationNamespace": name,
            },
        }
        app = {
            "apiVersion": "gitops-dsf.io/v1alpha1",
            "kind": "ScoredApplication",
            "metadata": {"name": name},
            "spec": spec,
        }
        (root / "apps" / f"{name}.yaml").write_text(yaml.safe_dump(app))
    return root


def test_two_days_of_a_fleet(past: Past, tmp_path: Path) -> None:
    """The portal follows each turn of the second cluster. For the shop a turn is a third as large."""
    fleet = _fleet(tmp_path / "fleet")
    span = ["--to", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(past.end)), "--days", str(DAYS)]
    done = gitops_dsf("backtest", fleet, "--prometheus", past.prometheus.url, *span, "-o", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["span"]["end"] - found["span"]["start"] == DAYS * DAY
    portal, shop = (found["head"]["placements"][f"argocd/{name}"] for name in ("portal", "shop"))
    assert portal["moves"] == past.end // TURN - (past.end - DAYS * DAY) // TURN
    # A renewal just before a turn puts the next write off by minIntervalSeconds.
    assert all(change["at"] % TURN <= STEP for change in portal["changes"])
    assert portal["secondsOn"] == pytest.approx({"c00": DAY, "c01": DAY}, abs=2 * STEP)
    assert shop["moves"] == 0
    assert found["head"]["gaps"] == {}
