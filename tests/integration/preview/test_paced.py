"""Paced moves before they happen: `simulate --paced` and `diff`, from real git repositories."""

from collections import Counter
from pathlib import Path

from tests.integration.preview.gitfleet import Run, save
from tests.integration.preview.herd import NAMES, SCORES, herd_fleet, herd_hub

DEMAND = 2


def test_a_herd_moves_in_waves_and_ends_evenly(tmp_path: Path, run: Run) -> None:
    """Each move takes 2 points with it, so the twenty do not all go to the best cluster."""
    fleet = herd_fleet(tmp_path / "fleet", demand=DEMAND, stickiness=0)
    hub = save(herd_hub(), tmp_path / "hub")
    found = run.json("simulate", fleet.path, "--paced", "--scores", hub)
    waves = [
        [(each["placement"], each["from"], each["to"]) for each in wave["moves"]] for wave in found["waves"]
    ]
    assert waves[0] == [("argocd/app-00", "c1", "c2")]
    assert ("argocd/app-03", "c1", "c3") in waves[2]
    assert all(len(wave) <= 2 and len({target for *_, target in wave}) == len(wave) for wave in waves)
    left = Counter(SCORES)
    for _, source, target in (move for wave in waves for move in wave):
        left[source] += DEMAND
        left[target] -= DEMAND
    assert max(left.values()) - min(left.values()) <= 3
    assert found["waves"][0]["moves"][0]["points"] == 22
    text = run("simulate", fleet.path, "--paced", "--scores", hub)
    assert "6 moves in 4 waves:\n1: app-00 c1 -> c2\n" in text
    assert "\n3: app-02 c1 -> c2, app-03 c1 -> c3\n" in text


def test_a_herd_without_demand_follows_one_by_one(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=0)
    hub = save(herd_hub(), tmp_path / "hub")
    text = run("simulate", fleet.path, "--paced", "--scores", hub)
    assert "20 moves in 20 waves:" in text
    assert "\n20: app-19 c1 -> c2\n" in text


def test_a_fleet_that_is_where_it_should_be_has_no_wave(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet")
    hub = save(herd_hub(on="c2"), tmp_path / "hub")
    assert run("simulate", fleet.path, "--paced", "--scores", hub).endswith("\nno paced move follows\n")


def test_waves_need_a_pace_and_scores(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", pace=None, demand=0)
    hub = save(herd_hub(), tmp_path / "hub")
    run("simulate", fleet.path, "--paced", "--scores", hub, code=2)
    assert "gitops-dsf.yaml has no spec.pace" in run.err
    paced = herd_fleet(tmp_path / "paced")
    run("simulate", paced.path, "--paced", code=2)
    assert "--paced: no scores given (--scores, --state-branch or --context)" in run.err
    run("simulate", paced.path, "--paced", "--placement", NAMES[0], code=2)
    assert "not allowed with argument --paced" in run.err
