"""Texts compare clusters in points of the weighted mean, the scale of `stickiness`.

Sums are in the JSON output only.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from gitops_dsf.hub.scores import score_of
from tests.integration.preview.gitfleet import GitFleet, Run, application, save, scorer, snapshot

NET = {"eu-1": 40, "eu-2": 60, "us-1": 100}
"""With cpu of 90, 60 and 20 the means are 65, 60 and 60."""


@pytest.fixture
def two(fleet: GitFleet) -> GitFleet:
    """Two scores of the same weight and a stickiness of 20: OCM reads the weights 5, 5 and 2."""
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write(
        "apps/guestbook.yaml", application("guestbook", scorers=("cpu", "net"), stickiness=20)
    )
    fleet.commit("two scores")
    return fleet


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """guestbook is on eu-1, which is the best cluster."""
    known = snapshot()
    net = {name: score_of({"net": value}) for name, value in NET.items()}
    return save(replace(known, scores={**known.scores, "net": net}), tmp_path / "hub")


def test_the_ranking(two: GitFleet, hub: Path, run: Run) -> None:
    """The stickiness of 20 is what Steady adds to the mean of eu-1."""
    out = run("simulate", two.path, "--scores", hub)
    assert (
        "  rank     cluster  points  cpu x5  net x5  Steady x2\n"
        "     1  *  eu-1         85      90      40        100\n"
        "     2     eu-2         60      60      60          0\n"
        "     3     us-1         60      20     100          0\n"
    ) in out


def test_one_cluster(two: GitFleet, hub: Path, run: Run) -> None:
    out = run("explain", "guestbook", "eu-2", two.path, "--scores", hub)
    assert out.partition("\n\n")[2] == (
        "argocd/guestbook, cluster eu-2: not selected\n"
        "  rank 2 of 3 with 60 points; the last that is selected is eu-1 with 85\n"
        "\n"
        "  prioritizer    score  weight  points\n"
        "  AddOn/cpu/cpu     60     x 5      30\n"
        "  AddOn/net/net     60     x 5      30\n"
        "  Steady             0     x 2       0\n"
        "  total                             60\n"
        "\n"
        "  what would have to change: it must gain 25.1 points against eu-1 (85)\n"
        "    not by AddOn/cpu/cpu alone: it is 60 and would have to be 111\n"
        "    not by AddOn/net/net alone: it is 60 and would have to be 111\n"
    )
    out = run("explain", "guestbook", "eu-1", two.path, "--scores", hub)
    assert "rank 1 of 3 with 85 points; the first that is not selected is eu-2 with 60\n" in out
    assert "it must lose 25.1 points against eu-2 (60)\n" in out


def test_json_has_the_sums_of_ocm(two: GitFleet, hub: Path, run: Run) -> None:
    found = run.json("explain", "guestbook", "eu-2", two.path, "--scores", hub)
    assert (found["points"], found["rivalPoints"], found["margin"]) == (600, 850, 251)
    assert [part["points"] for part in found["contributions"]] == [300, 300, 0]
    [verdict] = run.json("simulate", two.path, "--scores", hub)["placements"]
    assert verdict["scores"] == {"eu-1": 850, "eu-2": 600, "us-1": 600}


def test_a_change_of_weights_keeps_the_scale(two: GitFleet, hub: Path, run: Run) -> None:
    """The weights 5, 5 and 2 become 1, 4 and 1. Sums would halve although nothing got worse."""
    spec = application("guestbook", scorers=("cpu", "net"), stickiness=20)
    spec["spec"]["scores"][1]["weight"] = 4
    two.write("apps/guestbook.yaml", spec)
    formats = run.formats(two, "--scores", hub)
    text = formats.text
    reason = "eu-1: rank 2 of 3 with 70 points; the last that is selected is us-1 with 84"
    assert f"\n- `argocd/guestbook` **eu-1 → us-1**: {reason}\n" in text
    assert "eu-1: 85 points -> 70 points (cpu x5->x1: 90 -> 90, net x5->x4: 40 -> 40" in text
    assert "us-1: 60 points -> 84 points (cpu" in text
    [move] = formats.comparison["moves"]
    assert {each["cluster"]: (each["before"], each["after"]) for each in move["scores"]} == {
        "eu-1": (850, 350),
        "us-1": (600, 420),
    }
    assert move["reason"] == reason


def test_a_mean_that_is_no_whole_number(fleet: GitFleet, scores: Path, run: Run) -> None:
    """What is missing is rounded up: a smaller gain would not be enough."""
    fleet.write("scorers/net.yaml", scorer("net"))
    spec = application("guestbook", scorers=("cpu", "net"), stickiness=0)
    spec["spec"]["scores"][0]["weight"] = 2
    fleet.write("apps/guestbook.yaml", spec)
    out = run("explain", "guestbook", "us-1", fleet.path, "--scores", scores)
    assert "rank 3 of 3 with 13.33 points; the last that is selected is eu-1 with 60\n" in out
    assert "it must gain 47 points against eu-1 (60)\n" in out
    out = run("explain", "guestbook", "eu-2", fleet.path, "--scores", scores)
    assert "it must gain 20.34 points against eu-1 (60)\n" in out


@pytest.mark.parametrize(("cpu", "warns"), [(61, True), (60, False)])
def test_how_close_a_move_is_is_in_the_same_points(
    fleet: GitFleet, tmp_path: Path, run: Run, cpu: int, warns: bool
) -> None:
    """eu-1 has a mean of 65, eu-2 of 63.5 or 63.

    With two scores, one of them must change by 4 for a change of the mean by 2.
    """
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("a score that runs already")
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("cpu", "net")))
    known = snapshot(values={"eu-1": 90, "eu-2": cpu, "us-1": 0})
    net = {
        name: score_of({"net": value})
        for name, value in {"eu-1": 40, "eu-2": 66, "us-1": 0}.items()
    }
    where = save(replace(known, scores={**known.scores, "net": net}), tmp_path / "hub")
    told = "argocd/guestbook would move from eu-1 to eu-2 if AddOn/cpu/cpu falls from 90 to"
    warnings = run.compared(fleet, "--scores", where, base="HEAD")["warnings"]
    assert any(each.startswith(told) for each in warnings) is warns, warnings
