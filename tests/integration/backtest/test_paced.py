"""`gitops-dsf backtest` of a repository with a pace: a herd of twenty whose cluster gets worse."""

import json
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitops_dsf.journal.lines import appended
from gitops_dsf.journal.record import new_record
from tests.integration.backtest.formats import formats
from tests.integration.preview.gitfleet import HERD, GitFleet, herd_fleet
from tests.support.commandline import gitops_dsf
from tests.support.metricstore import Value, answer_of, matrix

START, HOUR = 1_780_272_000, 3600  # 2026-06-01T00:00:00Z
WIDE = {"concurrent": 20, "arrivalsPerCluster": 20, "settleSeconds": 7200, "cooldownSeconds": 60}


def _history(folder: Path, *, hours: float = 4) -> Path:
    """For an hour c1 is the best cluster, then the scores are those of a herd."""

    def score(name: str) -> Value:
        return lambda at: float(90 if name == "c1" and at < START + HOUR else HERD[name])

    values = {("cpu", name): score(name) for name in HERD}
    path = folder / "scores.json"
    path.write_bytes(answer_of(matrix(values, start=START, end=START + hours * HOUR, step=60)))
    return path


def _said(fleet: GitFleet, history: Path, *words: str) -> str:
    done: subprocess.CompletedProcess[str] = gitops_dsf(
        "backtest", fleet.path, "--history", history, *words
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _head(fleet: GitFleet, history: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_said(fleet, history, *words, "-o", "json"))["head"]
    return found


def _last(head: dict[str, Any]) -> Counter[str]:
    """How many applications are on each cluster at the end."""
    return Counter(
        each["changes"][-1]["joined"][0] if each["changes"] else "c1"
        for each in head["placements"].values()
    )


def test_a_herd_spreads_when_it_sees_the_load_of_others(tmp_path: Path) -> None:
    """All may move at once.

    Without a demand all go to the best cluster, as they would without a pace. With one they stop
    when the clusters are even.
    """
    history = _history(tmp_path, hours=1.1)
    blind = herd_fleet(tmp_path / "blind", pace=WIDE, demand=0, stickiness=0)
    assert _last(_head(blind, history)) == {"c2": 20}
    fleet = herd_fleet(tmp_path / "fleet", pace=WIDE, demand=3, stickiness=0)
    head = _head(fleet, history)
    assert {each["paced"]["movesWithout"] for each in head["placements"].values()} == {1}
    found = _last(head)
    free = [value - 3 * (found[name] - 20 * (name == "c1")) for name, value in HERD.items()]
    assert max(free) - min(free) < 6, "another move would gain nothing"
    assert found["c2"] < 5
    assert found["c3"] >= 1


def test_the_pace_tells_how_long_moves_wait(tmp_path: Path) -> None:
    """One arrival in each cluster at a time: the scores measure it in 5 minutes, and the best one
    is c2.
    """
    pace = {"concurrent": 2, "arrivalsPerCluster": 1, "settleSeconds": 300}
    fleet = herd_fleet(tmp_path / "fleet", pace=pace, demand=0, stickiness=10)
    history = _history(tmp_path)
    told = formats(fleet.path, "--history", history)
    head = told.head
    waits = sorted(each["paced"]["longestWaitSeconds"] for each in head["placements"].values())
    assert waits == [360.0 * number for number in range(20)], (
        "a minute to move, and five to measure it"
    )
    assert _last(head) == {"c2": 20}
    assert {each["movesRange"] for each in head["placements"].values()} == {None}
    assert "argocd/app-00  1 move; without the pace 1 move  " in told.text
    assert "argocd/app-19  1 move; without the pace 1 move; longest wait 114 min" in told.text
    assert "decided pass by pass, or paced" in told.text


def test_one_application_alone_waits_for_nobody_and_it_is_said(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    said = _said(fleet, _history(tmp_path), "--placement", "app-19")
    assert "argocd/app-19  1 move; without the pace 1 move  " in said
    assert (
        "19 paced Placements left out of the pace: argocd/app-00 (not asked for),"
        " argocd/app-01 (not"
        " asked for), argocd/app-02 (not asked for) and 16 more\n" in said
    )


def test_filters_that_depend_on_time_are_decided_without_the_pace(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    inventory = fleet.path / "clusters" / "fleet.yaml"
    spec = "spec: {taints: [{key: night, effect: NoSelectIfNew}]}\n"
    inventory.write_text(
        inventory.read_text().replace("metadata:\n  name: c4\n", spec + "metadata:\n  name: c4\n")
    )
    said = _said(fleet, _history(tmp_path, hours=2))
    assert "20 paced Placements left out of the pace: argocd/app-00 (its filters depend on" in said


def test_advice_leaves_the_pace_out_and_says_so(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    said = _said(fleet, _history(tmp_path), "--placement", "app-19", "--advise")
    assert "argocd/app-19: keep stickiness 10 (without the pace): it does not flap" in said


def _journal(folder: Path, *, count: int) -> tuple[Path, Path]:
    """app-03 goes from c1 to c2 and back, every two hours, and takes 6 points where it runs: the
    journal, and the history.
    """
    records, came, before = [], list[int](), "c1"
    for number in range(2 * count):
        at, cluster = START + 3600 + number * 7200, "c1" if number % 2 else "c2"
        record = new_record(
            placement="argocd/app-03",
            number=number + 1,
            time=datetime.fromtimestamp(at, UTC),
            kind="Change",
            before=[before],
            after=[cluster],
        )
        records.append(record)
        came += [at] if cluster == "c2" else []
        before = cluster
    journal = folder / "journal"
    journal.mkdir()
    for name, content in appended({}, records).items():
        (journal / name).write_bytes(content)

    def score(name: str) -> Value:
        def free(at: float) -> float:
            there = any(since + 60 <= at < since + 7260 for since in came)
            return 50.0 - 6 * (there if name == "c2" else not there if name == "c1" else 0)

        return free

    values = {("cpu", name): score(name) for name in HERD}
    path = folder / "scores.json"
    end = START + 4 * HOUR * count + HOUR
    path.write_bytes(answer_of(matrix(values, start=START, end=end, step=60)))
    return journal, path


def test_recorded_arrivals_show_the_demand(tmp_path: Path) -> None:
    """What is written is told by line.

    Few arrivals, and a journal of other applications, tell nothing.
    """
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    journal, history = _journal(tmp_path, count=3)
    words = ("--advise", "--placement", "app-03", "--journal", str(journal))
    told = formats(fleet.path, "--history", history, *words)
    [advised] = told.head["demands"]["argocd/app-03"]
    advice = (
        "demand 6 of cpu instead of 0: 6 recorded arrivals took 6.0 points on average, with"
        " a standard"
    )
    assert f"  argocd/app-03: {advice} deviation of 0.0\n" in told.text
    place = advised["field"]
    change = "spec.scores[0].demand: 6 instead of 0"
    assert f"      {place['file']}:{place['line']}: {change}\n" in told.text
    line = (fleet.path / place["file"]).read_text().splitlines()[place["line"] - 1]
    assert "scorer: cpu" in line
    assert advice in told.comment
    assert advice in told.page
    other = ("--advise", "--placement", "app-04", "--journal", str(journal))
    assert _head(fleet, history, *other)["demands"] == {}
    assert _head(fleet, history, *words[:3])["demands"] == {}, "this clone has no journal"


def test_a_demand_that_is_written_right_is_not_told(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=6, stickiness=10)
    journal, history = _journal(tmp_path, count=3)
    words = ("--advise", "--placement", "app-03", "--journal", str(journal))
    assert _head(fleet, history, *words)["demands"] == {}
