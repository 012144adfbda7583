"""Paced moves before they happen: `simulate --paced` and `diff`, from real git repositories."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.preview.gitfleet import (
    FLEET,
    HERD,
    NAMES,
    PACE,
    GitFleet,
    Run,
    application,
    cluster,
    herd_app,
    herd_fleet,
    herd_hub,
    save,
    scorer,
    settings,
    snapshot,
)

DEMAND = 2


def reversed_herd(
    folder: Path, *, pace: Mapping[str, Any] | None = PACE, demand: int = 0
) -> GitFleet:
    """The base prefers low scores, so c1 is the best; the working tree prefers high ones."""
    fleet = herd_fleet(folder, pace=pace, demand=0, stickiness=0, weight=-1)
    fleet.write(
        "apps/guestbook.yaml", *(herd_app(name, demand=demand, stickiness=0) for name in NAMES)
    )
    return fleet


def paced_pages(fleet: GitFleet, run: Run, hub: Path) -> list[str]:
    """The lines of the comment of a pull request."""
    text = run("diff", fleet.path, "--base", "main", "--scores", hub, "-o", "markdown")
    return text.splitlines()


def test_a_herd_moves_in_waves_and_ends_evenly(tmp_path: Path, run: Run) -> None:
    """Each move takes 2 points with it, so the twenty do not all go to the best cluster."""
    fleet = herd_fleet(tmp_path / "fleet", demand=DEMAND, stickiness=0)
    hub = save(herd_hub(), tmp_path / "hub")
    found = run.json("simulate", fleet.path, "--paced", "--scores", hub)
    waves = [
        [(each["placement"], each["from"], each["to"]) for each in wave["moves"]]
        for wave in found["waves"]
    ]
    assert waves[0] == [("argocd/app-00", "c1", "c2")]
    assert ("argocd/app-03", "c1", "c3") in waves[2]
    assert all(
        len(wave) <= 2 and len({target for *_, target in wave}) == len(wave) for wave in waves
    )
    left = Counter(HERD)
    for _, source, target in (move for wave in waves for move in wave):
        left[source] += DEMAND
        left[target] -= DEMAND
    assert max(left.values()) - min(left.values()) <= 3
    assert found["waves"][0]["moves"][0]["points"] == 22
    text = run("simulate", fleet.path, "--paced", "--scores", hub)
    assert "6 moves in 4 waves:\n1: app-00 c1 -> c2\n" in text
    assert "\n3: app-02 c1 -> c2, app-03 c1 -> c3\n" in text


def test_what_has_no_decision_is_placed_at_once(tmp_path: Path, run: Run) -> None:
    """A snapshot without decisions does not look like a fleet at rest."""
    fleet = herd_fleet(tmp_path / "fleet")
    hub = save(snapshot(values=HERD, decided={}), tmp_path / "hub")
    text = run("simulate", fleet.path, "--paced", "--scores", hub)
    assert "without a decision in this data, so OCM places them at once: argocd/app-00, " in text


def test_a_comparison_of_a_long_queue_says_that_more_follows(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = reversed_herd(tmp_path / "fleet")
    hub = save(herd_hub(), tmp_path / "hub")
    monkeypatch.setattr("gitops_dsf.views.preview.pacedchange.MAX_SIMULATED", 3 * len(NAMES))
    formats = run.formats(fleet, "--scores", hub)
    found = formats.comparison["paced"]
    assert (len(found["waves"]), found["complete"]) == (3, False)
    assert "The pace: at least 3 moves in 3 waves:" in formats.comment.splitlines()


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


def test_a_changed_ranking_moves_paced_applications_in_waves(tmp_path: Path, run: Run) -> None:
    fleet = reversed_herd(tmp_path / "fleet", demand=DEMAND)
    hub = save(herd_hub(), tmp_path / "hub")
    formats = run.formats(fleet, "--scores", hub)
    found = formats.comparison
    assert found["moves"] == []
    assert [len(wave["moves"]) for wave in found["paced"]["waves"]] == [1, 1, 2, 2]
    assert (found["paced"]["complete"], found["paced"]["withoutChange"]) == (True, 0)
    assert not [line for line in found["warnings"] if "at once" in line]
    lines = formats.comment.splitlines()
    assert "**No application moves at once; the pace would admit 6 moves**" in lines
    assert "<details><summary>Paced moves (6)</summary>" in lines
    assert "The pace: 6 moves in 4 waves:" in lines
    assert "- 3: app-02 c1 -> c2, app-03 c1 -> c3" in formats.text.splitlines()
    run("diff", fleet.path, "--base", "main", "--scores", hub, "--fail-on", "move", code=1)
    assert "--fail-on: paced: 6 moves in 4 waves" in run.err


def test_without_a_pace_the_herd_is_a_warning(tmp_path: Path, run: Run) -> None:
    fleet = reversed_herd(tmp_path / "fleet", pace=None)
    found = run.compared(fleet, "--scores", save(herd_hub(), tmp_path / "hub"))
    assert {tuple(move["to"]) for move in found["moves"]} == {("c2",)}
    assert "paced" not in found
    [warning] = [line for line in found["warnings"] if "at once" in line]
    assert warning.startswith("20 applications go to c2 at once (app-00, ")
    assert warning.endswith("): spec.pace in gitops-dsf.yaml lets them follow one another")


@pytest.mark.parametrize(("count", "warned"), [(5, False), (6, True)])
@pytest.mark.parametrize("pace", [None, PACE])
def test_new_applications_are_a_herd_too(
    tmp_path: Path, run: Run, count: int, warned: bool, pace: dict[str, int] | None
) -> None:
    fleet = herd_fleet(tmp_path / "fleet", pace=pace, demand=0)
    hub = save(herd_hub(on="c2"), tmp_path / "hub")
    fleet.write("apps/new.yaml", *(herd_app(f"new-{number}", demand=0) for number in range(count)))
    warnings = [
        line for line in run.compared(fleet, "--scores", hub)["warnings"] if "at once" in line
    ]
    expected = (
        "6 applications go to c2 at once (new-0, new-1, new-2, new-3, new-4 and 1 more):"
        " the pace does not apply to new applications and to those that lost their cluster: OCM"
        " places them at once"
    )
    assert warnings == ([expected] if warned else [])


def test_the_pace_moves_nothing_when_it_begins_and_all_that_waits_when_it_ends(
    tmp_path: Path, run: Run
) -> None:
    fleet = herd_fleet(tmp_path / "fleet", demand=0, stickiness=0)
    hub = save(herd_hub(), tmp_path / "hub")
    fleet.write("gitops-dsf.yaml", settings())
    off = run.compared(fleet, "--scores", hub)
    assert {move["application"].partition("/")[2] for move in off["moves"]} == {*NAMES}
    assert {tuple(move["to"]) for move in off["moves"]} == {("c2",)}
    fleet.commit("off")
    fleet.write("gitops-dsf.yaml", settings(pace=PACE))
    settled = save(herd_hub(on="c2"), tmp_path / "settled")
    formats = run.formats(fleet, "--scores", settled, base="HEAD")
    on, page = formats.comparison, formats.text
    assert (on["moves"], on["pending"], "paced" in on) == ([], [], False)
    assert page.count("\nPlacement **`") == 1, (
        "the item's name is all that the Placements differ in"
    )
    assert (
        "- `metadata.annotations.gitops-dsf.io/pace`: `(absent)` →"
        " `moves are paced: ranked by cpu x1, stickiness 0 points`\n" in page
    )
    assert (
        "- `spec.prioritizerPolicy.configurations[gitops-dsf-moves/NAMESPACE/NAME]`:"
        " added, weight 10\n" in page
    )
    assert "**Pace:** from now on the moves of 20 Placements wait for their turn\n" in page
    assert '"terms"' not in page, "people do not read the JSON for the reconciler"


def test_what_waits_anyway_is_not_of_the_change(tmp_path: Path, run: Run) -> None:
    """Another change says nothing of the queue; one that adds to it counts what was there."""
    fleet = herd_fleet(tmp_path / "fleet", demand=DEMAND, stickiness=0)
    hub = save(herd_hub(), tmp_path / "hub")
    fleet.write("apps/other.yaml", application("other", scorers=("cpu",), moves={"pace": "None"}))
    assert "paced" not in run.compared(fleet, "--scores", hub)
    (fleet.path / "apps/other.yaml").unlink()
    fleet.write("apps/guestbook.yaml", *(herd_app(name, demand=1, stickiness=0) for name in NAMES))
    paced = run.compared(fleet, "--scores", hub)["paced"]
    assert sum(len(wave["moves"]) for wave in paced["waves"]) > paced["withoutChange"] > 0


def test_scores_that_are_not_known_yet_are_named(tmp_path: Path, run: Run) -> None:
    fleet = herd_fleet(tmp_path / "fleet", stickiness=0)
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    hub = save(herd_hub(on="c2"), tmp_path / "hub")
    lines = paced_pages(fleet, run, hub)
    assert (
        "The pace: no paced move would follow; the new scores of cpu are unknown,"
        " so the present ones count."
    ) in lines


REFUGES = {**PACE, "refuges": True}


def failovers(found: dict[str, Any]) -> dict[str, dict[str, tuple[str | None, str | None]]]:
    """Before and after by application, for each cluster that fails."""
    return {
        item["cluster"]: {
            each["placement"].partition("/")[2]: (each["before"], each["to"])
            for each in item["moves"]
        }
        for item in found.get("refuges", ())
    }


def test_refuges_that_are_switched_on_are_shown(tmp_path: Path, run: Run) -> None:
    """Twenty are on c2, the best: when it fails, c3 and c4 share them, and c1 gets none."""
    fleet = herd_fleet(tmp_path / "fleet", demand=1)
    hub = save(herd_hub({**HERD, "c1": 20, "c2": 90}, on="c2"), tmp_path / "hub")
    assert failovers(run.compared(fleet, "--scores", hub)) == {}
    fleet.write("gitops-dsf.yaml", settings(pace=REFUGES))
    formats = run.formats(fleet, "--scores", hub)
    found = formats.comparison
    plan = failovers(found)
    assert found["moves"] == []
    assert plan.keys() == {"c2"}
    assert Counter(plan["c2"].values()) == {(None, "c3"): 10, (None, "c4"): 10}
    assert "- if c2 fails: app-00 -> c3, app-01 -> c4, " in formats.text
    fleet.commit("refuges")
    assert "refuges" not in run.compared(fleet, "--scores", hub, base="HEAD")


def test_only_refuges_that_change_are_shown(tmp_path: Path, run: Run) -> None:
    """An application that leaves the pace has none any more, and the others keep theirs."""
    fleet = herd_fleet(tmp_path / "fleet", pace=REFUGES, demand=1)
    hub = save(herd_hub({**HERD, "c2": 90, "c3": 80}, on="c2"), tmp_path / "hub")
    apps = [herd_app(name, demand=1) for name in NAMES]
    apps[0]["spec"]["moves"] = {"pace": "None"}
    del apps[0]["spec"]["scores"][0]["demand"]
    fleet.write("apps/guestbook.yaml", *apps)
    formats = run.formats(fleet, "--scores", hub)
    plan = failovers(formats.comparison)
    assert plan == {"c2": {"app-00": ("c3", None)}}
    assert "- if c2 fails: app-00 -> by the scores instead of c3\n" in formats.text


def test_a_paced_application_that_loses_its_cluster_is_told_by_the_scores_that_people_wrote(
    tmp_path: Path, run: Run
) -> None:
    """Items of moves are not scores, and sums that contain them tell a reviewer nothing."""
    fleet = herd_fleet(tmp_path / "fleet", stickiness=20, region="eu")
    clusters = (cluster(name, "us" if name == "c1" else "eu") for name in HERD)
    fleet.write("clusters/fleet.yaml", *clusters, FLEET)
    hub = save(herd_hub(), tmp_path / "hub")
    moves = run.compared(fleet, "--scores", hub)["moves"]
    assert {(*move["from"], *move["to"]) for move in moves} == {("c1", "c2")}
    for move in moves:
        terms = {term["name"] for item in move["scores"] for term in item["terms"]}
        assert terms == {"AddOn/cpu/cpu", "Steady"}
        (new,) = [item for item in move["scores"] if item["cluster"] == "c2"]
        assert new["after"] == 5 * HERD["c2"], "the weights of a stickiness of 20 points"


def test_waves_say_which_moves_will_be_verified_and_for_how_long(tmp_path: Path, run: Run) -> None:
    """An arrival is measured after 120 + 600 s, must hold for 10 minutes, and has an hour."""
    fleet = herd_fleet(tmp_path / "fleet", demand=DEMAND, stickiness=0)
    fleet.write("scorers/slo.yaml", scorer("slo"))
    moves = {"verify": [{"scorer": "slo", "atLeast": 80}], "verifySeconds": 3600}
    apps = [herd_app(name, demand=DEMAND, stickiness=0) for name in NAMES]
    apps[0]["spec"]["moves"] = moves
    fleet.write("apps/guestbook.yaml", *apps)
    hub = save(herd_hub(), tmp_path / "hub")
    found = run.json("simulate", fleet.path, "--paced", "--scores", hub)
    [first] = found["waves"][0]["moves"]
    assert first["placement"] == "argocd/app-00"
    assert first["verified"] == {"after": 1320, "until": 3600}
    assert all("verified" not in move for wave in found["waves"][1:] for move in wave["moves"])
    text = run("simulate", fleet.path, "--paced", "--scores", hub)
    assert "\n6 moves in 4 waves, 1 of them verified:\n" in text
    assert "\n1: app-00 c1 -> c2 (verified for 22 to 60 min)\n2: app-01 c1 -> c2\n" in text
    page = run("simulate", fleet.path, "--paced", "--scores", hub, "-o", "html")
    assert "22 to 60 min" in page
