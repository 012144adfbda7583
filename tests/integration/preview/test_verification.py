"""What a change does to the verification of moves, and what `explain` says of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.preview.gitfleet import (
    NAMES,
    Formats,
    GitFleet,
    Run,
    herd_app,
    herd_fleet,
    herd_hub,
    save,
    scorer,
    settings,
)
from tests.support.kept import copied

SLO = {"scorer": "slo", "atLeast": 80, "forSeconds": 300}
MOVES = {"verify": [SLO], "verifySeconds": 3600}
APPS = NAMES[:8]
"""Enough for a verification each. What the others of the herd do makes no difference."""
NOTHING = "no new host, credential or query, and no warning"


def write(fleet: GitFleet, pace: dict[str, Any] | None = None, **moves: dict[str, Any]) -> None:
    """All applications; `moves` are those of some, by name, such as `app_00`."""
    apps = [herd_app(name) for name in APPS]
    for app in apps:
        written = moves.get(app["metadata"]["name"].replace("-", "_"))
        if written is not None:
            app["spec"]["moves"] = written
    fleet.write("apps/guestbook.yaml", *apps)
    fleet.write("scorers/slo.yaml", scorer("slo"))
    fleet.write("gitops-dsf.yaml", settings(pace=pace or {"concurrent": 2}))


def review(formats: Formats) -> str:
    """The line of the comment that says what a reviewer must look at."""
    [line] = [line for line in formats.comment.splitlines() if line.startswith("- **To review:** ")]
    return line.removeprefix("- **To review:** ")


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    """app-00 verifies its moves, and the others do not."""

    def make(top: Path) -> None:
        fleet = herd_fleet(top)
        write(fleet, app_00=MOVES)
        fleet.commit("verify")

    copied(tmp_path / "fleet", key="one verifies", make=make)
    return GitFleet.at(tmp_path / "fleet")


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    return save(herd_hub(), tmp_path / "hub")


def test_what_is_verified_from_now_on_and_no_longer(fleet: GitFleet, hub: Path, run: Run) -> None:
    write(fleet, app_01=MOVES)
    formats = run.formats(fleet, "--scores", hub)
    assert review(formats) == (
        "moves no longer verified: app-00; moves verified from now on: app-01"
    )
    assert formats.comparison["verification"] == {
        "added": ["argocd/app-01"],
        "removed": ["argocd/app-00"],
        "loosened": [],
        "pace": [],
    }


Edit = tuple[dict[str, Any], str]
"""Another verification, and how the comment tells it."""
LOOSER: tuple[Edit, ...] = (
    ({"verify": [{**SLO, "atLeast": 79}]}, "slo atLeast 80 → 79"),
    ({"verify": [{**SLO, "forSeconds": 299}]}, "slo forSeconds 300 → 299"),
    ({"verify": [{"scorer": "slo", "noWorseThan": 5}]}, "slo atLeast 80 → none"),
    ({"onUnknown": "Complete"}, "onUnknown Hold → Complete"),
    ({"holdSeconds": 3600}, "holdSeconds 21600 → 3600"),
)
STRICTER: tuple[dict[str, Any], ...] = (
    {"verify": [{**SLO, "atLeast": 81}]},
    {"verify": [{**SLO, "forSeconds": 301}]},
    {"verify": [SLO, {"scorer": "slo", "noWorseThan": 5}]},
    {"verify": [SLO, {**SLO, "atLeast": 10}]},
    {"onUnknown": "Return"},
    {"holdSeconds": 86400},
    {"verifySeconds": 7200},
)


def edit(fleet: GitFleet, edits: Sequence[dict[str, Any]]) -> None:
    """An application for each edit, which verified its moves before."""
    apps = [name.replace("-", "_") for name in APPS[: len(edits)]]
    write(fleet, **dict.fromkeys(apps, MOVES))
    fleet.commit("verify some")
    write(fleet, **{app: {**MOVES, **moves} for app, moves in zip(apps, edits, strict=True)})


@pytest.mark.parametrize("looser", [LOOSER[:3], LOOSER[3:]], ids=["checks", "times"])
def test_checks_that_let_more_pass_are_loosened(
    fleet: GitFleet, hub: Path, run: Run, looser: Sequence[Edit]
) -> None:
    edit(fleet, [moves for moves, _ in looser])
    assert review(run.formats(fleet, "--scores", hub)) == "; ".join(
        f"verification of {name} loosened: {expected}"
        for name, (_, expected) in zip(APPS, looser, strict=False)
    )


def test_checks_that_let_less_pass_are_nothing_to_review(
    fleet: GitFleet, hub: Path, run: Run
) -> None:
    edit(fleet, STRICTER)
    formats = run.formats(fleet, "--scores", hub)
    assert review(formats) == NOTHING
    # Each of them is shown as an edit.
    assert len(formats.comparison["placements"]) == len(STRICTER)


def test_a_shorter_time_loosens_only_where_its_end_lets_a_move_pass(
    fleet: GitFleet, hub: Path, run: Run
) -> None:
    """With Complete. With Hold or Return nothing passes because the time is over."""
    write(fleet, app_00={**MOVES, "onUnknown": "Complete"})
    fleet.commit("complete")
    write(fleet, app_00={**MOVES, "onUnknown": "Complete", "verifySeconds": 3540})
    assert review(run.formats(fleet, "--scores", hub)) == (
        "verification of app-00 loosened: verifySeconds 3600 → 3540"
    )
    write(fleet, app_00={**MOVES, "onUnknown": "Complete", "verifySeconds": 3660})
    assert review(run.formats(fleet, "--scores", hub)) == NOTHING
    write(fleet, app_00={**MOVES, "onUnknown": "Return", "verifySeconds": 3540})
    assert review(run.formats(fleet, "--scores", hub)) == NOTHING


def test_a_fleet_that_stops_later_or_goes_on_is_to_be_reviewed(
    fleet: GitFleet, hub: Path, run: Run
) -> None:
    write(
        fleet,
        pace={
            "concurrent": 2,
            "stopAfterReturns": 5,
            "returnsWindowSeconds": 600,
            "acknowledgedStop": "2024-11-24T20:00:00Z",
        },
        app_00=MOVES,
    )
    assert review(run.formats(fleet, "--scores", hub)) == (
        "the fleet stops later: stopAfterReturns 3 → 5; the fleet stops later:"
        " returnsWindowSeconds 3600 → 600; acknowledges that moves stopped, until"
        " 2024-11-24T20:00:00Z"
    )
    write(fleet, pace={"concurrent": 2, "stopAfterReturns": 2}, app_00=MOVES)
    assert review(run.formats(fleet, "--scores", hub)) == NOTHING


def test_an_acknowledgement_in_the_future_is_said_to_have_no_effect_yet(
    fleet: GitFleet, hub: Path, run: Run
) -> None:
    """The reconciler ignores it, so nobody may read in the review that moves go on."""
    write(
        fleet,
        pace={"concurrent": 2, "acknowledgedStop": "2999-11-24T20:00:00Z"},
        app_00=MOVES,
    )
    formats = run.formats(fleet, "--scores", hub)
    assert review(formats) == (
        "acknowledgedStop 2999-11-24T20:00:00Z has no effect yet: it is in the future. Write the"
        " time that status shows"
    )
    assert formats.comparison["verification"] == {
        "added": [],
        "removed": [],
        "loosened": [],
        "pace": [],
        "future_acknowledgement": "2999-11-24T20:00:00Z",
    }


def test_the_rendered_placement_says_in_words_what_must_hold(
    fleet: GitFleet, hub: Path, run: Run
) -> None:
    """A changed scorer changes nothing but the revision, and no words."""
    write(fleet, app_00={**MOVES, "verify": [{**SLO, "atLeast": 79}]})
    text = run.shown(fleet, "--scores", hub)
    assert (
        "verified by slo at least 79 for 5 min, within 60 min; if still unknown, both copies stay"
    ) in text
    write(fleet, app_00=MOVES)
    fleet.write("scorers/slo.yaml", scorer("slo", scoreTTLSeconds=1200))
    text = run.shown(fleet, "--scores", hub)
    assert "`: the same pace; the change ends holds after returns" in text


def test_explain_says_what_must_hold_after_a_move(fleet: GitFleet, hub: Path, run: Run) -> None:
    line = (
        "\n  moves verified by: slo at least 80 for 5 min, within 60 min; if still unknown, both"
        " copies stay\n"
    )
    assert line in run("explain", APPS[0], fleet.path, "--scores", hub)
    assert "verified" not in run("explain", APPS[1], fleet.path, "--scores", hub)
    found = run.json("explain", APPS[0], fleet.path, "--scores", hub)["verification"]
    assert found["checks"][0]["atLeast"] == 80
    assert "verification" not in run.json("explain", APPS[1], fleet.path, "--scores", hub)
