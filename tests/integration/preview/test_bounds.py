"""Edits of what is published of raw scores.

The present scores bound the new ones, and often decide.
"""

from pathlib import Path

import pytest

from tests.integration.preview.gitfleet import (
    RANGE,
    GitFleet,
    Run,
    application,
    save,
    scorer,
    snapshot,
)

TURNED = {**RANGE, "outputMin": 100, "outputMax": 1}
"""Lower raw scores are better."""
WIDE = {"min": 0, "max": 200}


def test_a_turned_range_moves_the_application_for_certain(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    found = run.compared(fleet, "--scores", scores)
    [move] = found["moves"]
    assert (move["from"], move["to"], move["possible"], move["openPlaces"]) == (
        ["eu-1"],
        ["us-1"],
        [],
        None,
    )
    assert move["reason"] == "cpu: scoreRange changed; us-1 79 to 82 points, eu-1 9 to 12 points"
    leaving, coming = move["scores"]
    assert (leaving["cluster"], leaving["before"], leaving["after"]) == ("eu-1", 90, "unknown")
    assert (leaving["afterLow"], leaving["afterHigh"]) == (9, 12)
    assert coming["terms"] == [
        {
            "name": "AddOn/cpu/cpu",
            "before": 20,
            "after": "unknown",
            "weightBefore": 1,
            "weightAfter": 1,
            "unknownBecause": "scoreRange changed",
            "afterLow": 79,
            "afterHigh": 82,
        }
    ]
    [change] = found["scorers"]
    assert change["effect"] == "range"
    assert {field["path"] for field in change["fields"]} == {
        "scoreRange.outputMin",
        "scoreRange.outputMax",
    }
    assert found["summary"]["works"] == {"added": 0, "removed": 0, "changed": 3, "total": 3}
    assert "3 of 3 clusters (100 %) are re-scored, more than 25 %: cpu (3)" in found["warnings"]


def test_people_read_between_which_points_a_certain_move_is(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=TURNED))
    text = run.shown(fleet, "--scores", scores)
    first_screen = text.splitlines()[:12]
    assert "**1 application moves**" in first_screen
    assert (
        "- `argocd/guestbook` **eu-1 → us-1**: cpu: scoreRange changed; us-1 79 to 82 points,"
        " eu-1 9 to 12 points" in first_screen
    )
    assert (
        "- **How sure:** certain; the new scores are known between bounds, and the bounds decide"
        in first_screen
    )
    assert [line for line in first_screen if line.endswith("seen 5 min ago")]
    assert (
        "us-1: 20 points -> 79 to 82 points (cpu x1: 20 -> 79 to 82 (scoreRange changed))" in text
    )
    assert "- what is published of raw scores changes on 3 clusters" in text


def test_where_the_bounds_do_not_decide_the_clusters_are_named_with_their_points(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """Two clusters are one point apart, which a deadband of 2 hides."""
    scores = save(snapshot(values={"eu-1": 50, "eu-2": 51, "us-1": 20}), tmp_path / "close")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=WIDE))
    formats = run.formats(fleet, "--scores", scores)
    [move] = formats.comparison["moves"]
    assert (move["from"], move["to"]) == (["eu-2"], "unknown")
    assert (move["possible"], move["openPlaces"], move["stays"]) == (["eu-1", "eu-2"], 1, 0)
    assert move["reason"] == ("cpu: scoreRange changed; eu-1 or eu-2: 25 to 26 and 25 to 26 points")
    assert [(one["cluster"], one["afterLow"], one["afterHigh"]) for one in move["scores"]] == [
        ("eu-2", 25, 26),
        ("eu-1", 25, 26),
    ]
    text = formats.text
    assert "\n**1 application may move**\n" in text
    assert "\n- `argocd/guestbook` may move, **eu-2 → eu-1 or eu-2**: cpu: scoreRange" in text
    assert "the decision is open, because the bounds of the new scores overlap\n" in text


def test_of_several_places_the_open_ones_are_told(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", count=2))
    fleet.commit("two places")
    scores = save(
        snapshot(
            values={"eu-1": 90, "eu-2": 51, "us-1": 50},
            decided={"guestbook": ["eu-1", "eu-2"]},
        ),
        tmp_path / "close",
    )
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=WIDE))
    [move] = run.compared(fleet, "--scores", scores, base="HEAD")["moves"]
    assert (move["from"], move["to"], move["stays"]) == (["eu-2"], "unknown", 1)
    assert (move["possible"], move["openPlaces"]) == (["eu-2", "us-1"], 1)


def test_a_range_that_keeps_the_order_moves_nothing_for_certain(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Twice the scale halves all scores, and 90 stays before 60."""
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=WIDE))
    found = run.compared(fleet, "--scores", scores, "--fail-on", "move")
    assert found["moves"] == []


def test_a_middle_value_is_never_told_as_known(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """eu-1 stays before eu-2 for certain, by 2 or 3 points. The warning would name one number."""
    scores = save(snapshot(values={"eu-1": 90, "eu-2": 84, "us-1": 20}), tmp_path / "near")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=WIDE))
    found = run.compared(fleet, "--scores", scores, "--warn-close", "9")
    assert found["moves"] == []
    assert not [warning for warning in found["warnings"] if "would move from" in warning]


@pytest.mark.parametrize(
    ("spec", "moves"),
    [
        ({"scoreRange": {"min": 0, "max": 19}}, ["eu-1"]),
        ({"scoreRange": {"min": 95, "max": 99}}, ["eu-1"]),
        ({"scoreRange": None}, ["eu-1"]),
        ({"publish": {"deadband": 1, "minIntervalSeconds": 60}}, ["eu-1"]),
        ({"defaultScore": 40}, ["eu-1"]),
    ],
)
def test_clamped_ends_and_other_fields_are_decided_too(
    fleet: GitFleet, scores: Path, run: Run, spec: dict[str, object], moves: list[str]
) -> None:
    """All clusters at an end are equal, and of equal clusters the first by name is chosen."""
    document = scorer("cpu", **spec)
    if spec.get("scoreRange", RANGE) is None:
        del document["spec"]["scoreRange"]
    fleet.write("scorers/cpu.yaml", document)
    assert run.compared(fleet, "--scores", scores)["moves"] == []
    assert moves == ["eu-1"]


def test_a_renamed_score_moves_nothing_and_the_gap_is_told(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Until the agents have published the new name, OCM counts 0 on every cluster."""
    host = "http://api.scoring.svc:8000"
    params = {"name": "free", "interval": 60}
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoring={"host": host, "params": params}))
    found = run.compared(fleet, "--scores", scores)
    assert found["moves"] == []
    assert (
        "scores of cpu get another name: until the agents have published it, OCM counts 0 on every"
        " cluster, and an application may move for that time" in found["warnings"]
    )


def test_a_renamed_score_that_placements_require_is_open(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    """Before the first run no cluster passes the predicate."""
    excluding = application("guestbook", onMissingScore="Exclude")
    fleet.write("apps/guestbook.yaml", excluding)
    fleet.commit("exclude")
    host = "http://api.scoring.svc:8000"
    params = {"name": "free", "interval": 60}
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoring={"host": host, "params": params}))
    [move] = run.compared(fleet, "--scores", scores, base="HEAD")["moves"]
    assert (move["to"], move["openPlaces"]) == ("unknown", None)
    assert move["reason"].startswith("free: score name changed")


def test_a_predicate_that_compares_values_is_open(fleet: GitFleet, scores: Path, run: Run) -> None:
    """What passes it depends on the new score, which is between two bounds only."""
    text = 'managedCluster.scores("cpu").exists(s, s.name == "cpu" && s.value > 40)'
    predicate = {"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}}
    asking = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "busy", "namespace": "argocd"},
        "spec": {"numberOfClusters": 1, "clusterSets": ["fleet"], "predicates": [predicate]},
    }
    fleet.write("apps/busy.yaml", asking)
    fleet.commit("more than 40")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=WIDE))
    [move] = run.compared(fleet, "--scores", scores, base="HEAD")["moves"]
    assert (move["application"], move["to"]) == ("argocd/busy", "unknown")
    assert move["possible"] == ["eu-1", "eu-2", "us-1"]
