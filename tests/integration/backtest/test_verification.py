"""`gitops-dsf backtest` says how often a check of moves would have failed: an estimate."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.backtest.formats import formats
from tests.integration.preview.gitfleet import HERD, NAMES, GitFleet, herd_app, herd_fleet, scorer
from tests.support.commandline import gitops_dsf
from tests.support.metricstore import Value, answer_of, matrix

START, MINUTE = 1_780_272_000, 60  # 2026-06-01T00:00:00Z
HOURS = 5


def cpu(cluster: str) -> Value:
    """For an hour c1 is the best cluster, then c2."""
    return lambda at: float(90 if cluster == "c1" and at < START + 60 * MINUTE else HERD[cluster])


def slo(cluster: str) -> Value:
    """On c1 85, and 95 on c2, but for half an hour, for ten minutes, and while nobody knows."""

    def score(at: float) -> float | None:
        minute = (at - START) / MINUTE
        if cluster != "c2":
            return 85.0
        if 120 <= minute < 150 or 180 <= minute < 190:
            return 60.0
        return None if 240 <= minute < 280 else 95.0

    return score


def history(folder: Path, *names: str) -> Path:
    values: dict[tuple[str, str], Value] = {}
    for cluster in HERD:
        values["cpu", cluster] = cpu(cluster)
        if "slo" in names:
            values["slo", cluster] = slo(cluster)
    path = folder / "scores.json"
    end = START + HOURS * 60 * MINUTE
    path.write_bytes(answer_of(matrix(values, start=START, end=end, step=60)))
    return path


def verifying(folder: Path, *checks: dict[str, Any]) -> GitFleet:
    """The herd, whose first application verifies its moves."""
    fleet = herd_fleet(folder, demand=0, stickiness=10)
    apps = [herd_app(name, demand=0, stickiness=10) for name in NAMES]
    apps[0]["spec"]["moves"] = {"verify": list(checks), "verifySeconds": 7200}
    fleet.write("apps/guestbook.yaml", *apps)
    fleet.write("scorers/slo.yaml", scorer("slo"))
    return fleet


def said(fleet: GitFleet, path: Path, *words: str) -> str:
    done = gitops_dsf("backtest", fleet.path, "--history", path, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


FIRST = ("--placement", "app-00")
"""The application that verifies its moves. To decide the others, too, takes most of the time."""
CHECK = {"scorer": "slo", "atLeast": 80, "forSeconds": 900}


def test_a_score_that_is_too_low_for_long_enough_would_have_failed(tmp_path: Path) -> None:
    """Of the two stretches on c2 the one of ten minutes is too short; on c1 it never ran then."""
    fleet = verifying(tmp_path / "fleet", CHECK)
    path = history(tmp_path, "slo")
    output = json.loads(said(fleet, path, "-o", "json"))
    [(key, [estimate])] = output["head"]["verification"].items()
    assert key == "argocd/app-00"
    assert (estimate["scorer"], estimate["failures"]) == ("slo", 1)
    assert estimate["failingSeconds"] == pytest.approx(30 * MINUTE, abs=2 * MINUTE)
    # An arrival counts when it is measured, 12 minutes after the move. A score is valid for a
    # quarter of an hour after its last write, which is up to half of that before the outage.
    counted = HOURS * 60 - 12 - 40
    assert (counted + 7) * MINUTE <= estimate["seconds"] <= (counted + 16) * MINUTE
    first = formats(fleet.path, "--history", path, *FIRST)
    assert "\nhow often verification would have failed (an estimate)\n" in first.text
    assert "  argocd/app-00: slo at least 80 for 15 min: 1 time, for 0.5 of " in first.text
    assert "an estimate" in first.comment
    assert "an estimate" in first.page


def test_a_check_against_the_old_copy_compares_each_move(tmp_path: Path) -> None:
    """On c1 it had 85. On c2 the half hour with 60 is more than 20 points worse."""
    path = history(tmp_path, "slo")
    fleet = verifying(tmp_path / "a", {"scorer": "slo", "noWorseThan": 20, "forSeconds": 900})
    [estimate] = json.loads(said(fleet, path, *FIRST, "-o", "json"))["head"]["verification"][
        "argocd/app-00"
    ]
    assert estimate["failures"] == 1
    lenient = verifying(tmp_path / "b", {"scorer": "slo", "noWorseThan": 30, "forSeconds": 900})
    [estimate] = json.loads(said(lenient, path, *FIRST, "-o", "json"))["head"]["verification"][
        "argocd/app-00"
    ]
    assert estimate["failures"] == 0


def test_without_a_past_of_the_verifier_the_decisions_stay_known(tmp_path: Path) -> None:
    """A verifier ranks nothing, so its missing history hides nothing else."""
    fleet = verifying(tmp_path / "fleet", CHECK)
    path = history(tmp_path)
    text = said(fleet, path, *FIRST)
    assert "argocd/app-00  1 move; without the pace 1 move" in text
    assert (
        "  argocd/app-00: slo at least 80 for 15 min: not known: the history has no result of slo"
        " in this time\n" in text
    )
    assert "slo has gaps" not in text


def test_without_verification_nothing_is_said_of_it(tmp_path: Path) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=10)
    first = formats(fleet.path, "--history", history(tmp_path), *FIRST)
    assert "verification" not in first.head
    assert "verification" not in first.text
