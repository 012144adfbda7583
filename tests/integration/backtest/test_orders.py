"""`gitops-dsf backtest` says in which order Kueue would have offered clusters to jobs."""

import json
from pathlib import Path

import pytest

from tests.integration.backtest.formats import formats
from tests.integration.preview.gitfleet import HERD, GitFleet, herd_fleet
from tests.support.commandline import gitops_dsf
from tests.support.metricstore import Value, answer_of, matrix

START, MINUTE = 1_780_272_000, 60  # 2026-06-01T00:00:00Z
HOURS = 5
ORDERS = "the order in which Kueue would have offered clusters to jobs"


def cpu(cluster: str) -> Value:
    """For two hours c1 is the best cluster, then c2."""
    first = cluster == "c1"
    return lambda at: (
        (90.0 if (at < START + 2 * 60 * MINUTE) is first else 40.0)
        if cluster in {"c1", "c2"}
        else float(HERD[cluster])
    )


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    jobs = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": "gpu-jobs", "namespace": "kueue-system"},
        "spec": {
            "placement": {"clusterSets": ["fleet"]},
            "scores": [{"scorer": "cpu", "demand": 5}],
            "stickiness": 10,
            "multiKueue": {"config": "gpu-jobs", "reorderSeconds": 60},
        },
    }
    fleet.write("apps/jobs.yaml", jobs)
    return fleet


@pytest.fixture
def history(tmp_path: Path) -> Path:
    values: dict[tuple[str, str], Value] = {("cpu", cluster): cpu(cluster) for cluster in HERD}
    path = tmp_path / "scores.json"
    end = START + HOURS * 60 * MINUTE
    path.write_bytes(answer_of(matrix(values, start=START, end=end, step=60)))
    return path


def said(fleet: GitFleet, path: Path, *words: str) -> str:
    done = gitops_dsf("backtest", fleet.path, "--history", path, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_order_is_replayed(fleet: GitFleet, history: Path) -> None:
    output = json.loads(said(fleet, history, "-o", "json"))
    order = output["head"]["orders"]["kueue-system/gpu-jobs"]
    assert (order["config"], order["changes"], order["mostLeftOut"]) == ("gpu-jobs", 1, 0)
    assert order["changesPerDay"] == pytest.approx(24 / HOURS, rel=0.02)
    hours = {name: seconds / 3600 for name, seconds in order["secondsFirst"].items()}
    assert hours == {"c2": pytest.approx(3, abs=0.1), "c1": pytest.approx(2, abs=0.1)}
    assert list(hours) == ["c2", "c1"]


def test_the_order_is_told(fleet: GitFleet, history: Path) -> None:
    for style in ("text", "markdown", "html"):
        shown = said(fleet, history, "--placement", "gpu-jobs", "-o", style)
        assert "reordered 1 time, 4.8 a day; first: c2 60 %, c1 40 %" in shown, style
        assert ORDERS in shown.lower().replace("kueue", "Kueue"), style
        assert "jobs of the past are not known" in shown, style


def test_without_such_a_placement_nothing_is_told_of_it(tmp_path: Path, history: Path) -> None:
    fleet = herd_fleet(tmp_path / "other", demand=0, stickiness=10)
    told = formats(fleet.path, "--history", history, "--placement", "app-00")
    assert "Kueue" not in told.text
    assert "orders" not in told.head
