"""A real Prometheus with raw scores: two days of them for a backtest, and those of now."""

import asyncio
import itertools
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from gitops_dsf.hub.raw_results import ByCluster
from gitops_dsf.metricstore.client import OpenStore
from gitops_dsf.metricstore.currentscores import exported_now
from tests.hub.controlplane.gitrepository import GitRepository
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import past, start_prometheus
from tests.hub.scenario.fleet import Fleet, application, cluster_set, scorer

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

CLUSTERS: Final = ("c00", "c01", "c02")
SCORES: Final = ("idle", "memory", "cost")
STEP: Final = 60
DAY: Final = 86_400
DAYS: Final = 2
TURN: Final = 6 * 3600
"""The second cluster is twelve points better and worse than the first one, in turn."""


def _values(cluster: str, score: str, end: int) -> list[int]:
    """Raw scores, one each minute."""
    times = range(end - DAYS * DAY, end + STEP, STEP)
    if score != "idle":
        return [20 + (time // STEP + CLUSTERS.index(cluster)) % 5 for time in times]
    steady = {"c00": 50, "c02": 20}
    return [steady.get(cluster, 62 if time // TURN % 2 else 38) for time in times]


def _fleet(root: Path) -> Fleet:
    repository = GitRepository(url="https://git.example.com/fleet.git", bare=root, clone=root)
    fleet = Fleet(repository=repository, name="past")
    fleet.configure()
    fleet.write("clusters/set.yaml", cluster_set("past"))
    for name in CLUSTERS:
        fleet.join(name)
    for name in SCORES:
        item = scorer(
            name,
            source={
                "type": "Prometheus",
                "host": "http://p.m.svc:9090",
                "params": {"query": f"avg({name})"},
            },
            scoring={"type": "Query", "params": {"name": name, "interval": STEP}},
            scoreRange={"min": 0, "max": 100},
            publish={},
        )
        fleet.write(f"scorers/{name}.yaml", item)
    for name, scores in (("portal", ["idle"]), ("shop", list(SCORES))):
        ranked = [{"scorer": each} for each in scores]
        fleet.write(f"apps/{name}.yaml", application("past", name, scores=ranked))
    return fleet


def test_two_days_of_a_fleet(tmp_path: Path) -> None:
    """The portal follows each turn of the second cluster.

    For the shop a turn is a third as large.
    """
    fleet = _fleet(tmp_path / "fleet")
    end = int(time.time()) // DAY * DAY - 3 * 3600  # at the same time of day whenever the test runs
    history: list[str] = []
    for cluster, score in itertools.product(CLUSTERS, SCORES):
        labels = {"ds_cluster": cluster, "ds_score_name": score}
        history += past("dynamic_score", labels, _values(cluster, score, end), end=end, step=STEP)
    with Processes(logs=tmp_path / "logs") as processes:
        flags = ["--storage.tsdb.retention.time=30d"]
        prometheus = start_prometheus(
            processes=processes, folder=tmp_path / "prometheus", history=history, flags=flags
        )
        span = ["--to", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end)), "--days", str(DAYS)]
        done = fleet.run("backtest", "--prometheus", prometheus, *span, "-o", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["span"]["end"] - found["span"]["start"] == DAYS * DAY
    portal, shop = (found["head"]["placements"][f"argocd/{name}"] for name in ("portal", "shop"))
    assert portal["moves"] == end // TURN - (end - DAYS * DAY) // TURN
    # A renewal just before a turn puts the next write off by minIntervalSeconds.
    assert all(change["at"] % TURN <= STEP for change in portal["changes"])
    assert portal["secondsOn"] == pytest.approx({"c00": DAY, "c01": DAY}, abs=2 * STEP)
    assert shop["moves"] == 0
    assert found["head"]["gaps"] == {}


def test_the_raw_scores_of_now_have_bounds_and_an_age(tmp_path: Path) -> None:
    """Two replicas of an agent's Prometheus differ. A name with a dot is not a pattern."""
    end = int(time.time()) - 30
    history: list[str] = []
    for cluster, score, replica, value in (
        ("c00", "idle.cpu", "a", 41.25),
        ("c00", "idle.cpu", "b", 42.5),
        ("c01", "idle.cpu", "a", -7.75),
        ("c01", "idle-cpu", "a", 99.0),
        ("c01", "memory", "a", 0.125),
    ):
        labels = {"ds_cluster": cluster, "ds_score_name": score, "replica": replica}
        history += past("dynamic_score", labels, [1.0, value], end=end, step=STEP)
    with Processes(logs=tmp_path / "logs") as processes:
        prometheus = start_prometheus(
            processes=processes, folder=tmp_path / "prometheus", history=history
        )

        async def read() -> Mapping[str, ByCluster]:
            async with OpenStore(prometheus) as store:
                return await exported_now(
                    store, ["idle.cpu", "memory"], cluster_label="ds_cluster", at=end + 10
                )

        by_score = asyncio.run(read())
    assert {
        (score, cluster): [(result.low, result.high) for result in results.results]
        for score, by_cluster in by_score.items()
        for cluster, results in by_cluster.items()
    } == {
        ("idle.cpu", "c00"): [(41.25, 42.5)],
        ("idle.cpu", "c01"): [(-7.75, -7.75)],
        ("memory", "c01"): [(0.125, 0.125)],
    }
    assert by_score["memory"]["c01"].measured == end
