"""What a change does, told from real git repositories."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from gitops_dsf.hub.scores import score_of
from gitops_dsf.render.tree import shared_objects
from tests.integration.preview.gitfleet import (
    FLEET,
    GitFleet,
    Run,
    application,
    cluster,
    save,
    scorer,
    snapshot,
)

EVERYTHING = '{__name__=~".+"}'


def test_nothing_changed(fleet: GitFleet, scores: Path, run: Run) -> None:
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores, "--exit-code")
    assert found["differs"] is False
    assert found["comparison"]["moves"] == []
    assert found["comparison"]["warnings"] == []
    assert 290 <= found["hub"]["ageSeconds"] <= 400


def test_each_side_is_rendered_once(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("clusters/fleet.yaml", cluster("eu-1", "eu"), cluster("us-1", "us"), FLEET)
    with mock.patch(
        "gitops_dsf.views.preview.applied.shared_objects", wraps=shared_objects
    ) as rendering:
        found = run.compared(fleet, "--scores", scores)
    assert found["summary"]["clusters"]["left"] == ["eu-2"]
    assert rendering.call_count == 2


def test_a_new_weight_moves_the_application_by_its_scores(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.prefer_low_scores()
    found = run.compared(fleet, "--scores", scores, "--exit-code", code=1)
    [move] = found["moves"]
    assert (move["application"], move["from"], move["to"]) == (
        "argocd/guestbook",
        ["eu-1"],
        ["us-1"],
    )
    leaving, coming = move["scores"]
    assert leaving["cluster"] == "eu-1"
    terms = [
        (one["name"], one["before"], one["weightAfter"])
        for item in (leaving, coming)
        for one in item["terms"]
    ]
    assert terms == [("AddOn/cpu/cpu", 90, -1), ("AddOn/cpu/cpu", 20, -1)]
    assert "eu-1: rank 3 of 3" in move["reason"]


def test_a_changed_query_is_shown_as_a_query_and_its_score_is_unknown(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query='avg(up{job="node"})'))
    text = run.shown(fleet, "--scores", scores)
    assert '- `source.params.query`: `avg(up)` → `avg(up{job="node"})`' in text
    assert "\n- `argocd/guestbook` may move, **eu-1 → unknown**: cpu: query changed, so any" in text
    stay = "by the present scores it would stay"
    assert f"cpu: query changed, so any of 3 clusters may be selected; {stay}" in text
    assert "\n- **To review:** changed query: cpu; 1 warning, below\n" in text
    assert "eu-1: 90 points -> unknown (cpu x1: 90 -> unknown (query changed))" in text
    assert "new scores are **unknown** on 3 clusters: query changed" in text
    assert "seen 5 min ago" in text


def test_ranking_by_a_scorer_that_ran_beside_the_old_one_is_decided_by_its_scores(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """No Placement of the base ranks by it, and the state branch has its scores all the same."""
    fleet.write("scorers/next.yaml", scorer("next", query="max(up)"))
    fleet.commit("next, beside cpu")
    beside = {
        name: score_of(values={"next": value})
        for name, value in {"eu-1": 20, "eu-2": 30, "us-1": 70}.items()
    }
    known = snapshot()
    scores = save(replace(known, scores={**known.scores, "next": beside}), tmp_path / "state")
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("next",)))
    found = run.compared(fleet, "--scores", scores, base="HEAD")
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["us-1"])


def test_an_application_left_with_no_cluster(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.allow_unmatched_selectors()
    fleet.write("apps/guestbook.yaml", application("guestbook", region="mars"))
    found = run.compared(fleet, "--scores", scores)
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], [])
    without_data = run.compared(fleet)
    assert without_data["moves"] is None
    for each in (found, without_data):
        assert any(
            item.startswith("argocd/guestbook is left with no cluster: ")
            for item in each["warnings"]
        )


def test_an_application_that_sits_close_to_moving(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    where = save(snapshot(values={"eu-1": 89, "eu-2": 88, "us-1": 20}), tmp_path / "hub")
    fleet.write("apps/guestbook.yaml", application("guestbook", region="eu"))
    arguments = ("diff", fleet.path, "--base", "main", "--scores", where)
    found = run.json(*arguments)["comparison"]["warnings"]
    # eu-2 wins with one point more than a tie.
    flip = "AddOn/cpu/cpu falls from 89 to 87 on eu-1"
    assert f"argocd/guestbook would move from eu-1 to eu-2 if {flip}" in found
    calm = run.json(*arguments, "--warn-close", "1")["comparison"]["warnings"]
    assert not [item for item in calm if "would move from" in item]


@pytest.mark.parametrize(("percent", "warns"), [("99", True), ("100", False)])
def test_the_share_of_the_fleet_that_may_be_rescored(
    fleet: GitFleet, run: Run, percent: str, warns: bool
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    warnings = run.compared(fleet, "--warn-rescored", percent)["warnings"]
    assert any("are re-scored" in item for item in warnings) is warns


def test_placements_scorers_and_clusters_that_come_and_go(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    outside = "https://scores.attacker.example.com"
    net = scorer("net", query=EVERYTHING, configURL=f"{outside}/config")
    net["spec"]["scoring"]["host"] = outside
    fleet.write("scorers/net.yaml", net)
    fleet.write("apps/second.yaml", application("second", scorers=["cpu"], count=2))
    fleet.write("clusters/new.yaml", cluster("eu-3", "eu"))
    fleet.remove("apps/guestbook.yaml")
    found = run.compared(fleet, "--scores", scores)
    # Of what is new, a reviewer sees what is asked, where metrics go, and what is deployed where.
    [added] = found["scorers"]
    assert (added["name"], added["change"]) == ("net", "added")
    assert {field["path"]: field["after"] for field in added["fields"]} == {
        "configURL": f"{outside}/config",
        "scoring.host": outside,
        "source.host": "http://prometheus:9090",
        "source.params.query": EVERYTHING,
    }
    [second] = [item for item in found["sources"] if item["names"] == ["second"]]
    assert {
        field["path"].removeprefix("spec.application."): field["after"]
        for field in second["fields"]
    } == {
        "destinationNamespace": "second",
        "source.path": "second",
        "source.repoURL": "https://git.example.com/apps.git",
        "source.targetRevision": "main",
        "spec.placement.clusterSets": ["fleet"],
        "spec.placement.numberOfClusters": 2,
        "spec.scores[cpu].scorer": "cpu",
        "spec.scores[cpu].weight": 1,
        "spec.stickiness": 0,
    }
    for form in ("text", "markdown"):
        printed = run.shown(fleet, "-o", form)
        assert all(
            text in printed for text in (EVERYTHING, outside, "https://git.example.com/apps.git")
        )
    assert [(item["placement"], item["change"]) for item in found["placements"]] == [
        ("argocd/guestbook", "removed"),
        ("argocd/second", "added"),
    ]
    assert found["summary"]["clusters"]["joined"] == ["eu-3"]
    assert found["summary"]["works"] == {"added": 1, "removed": 0, "changed": 3, "total": 4}
    gone, new = found["moves"]
    assert (gone["application"], gone["from"], gone["to"]) == ("argocd/guestbook", ["eu-1"], [])
    assert gone["reason"] == "the Placement is removed"
    # eu-3 has no score of cpu yet, and could have any.
    assert (new["application"], new["to"]) == ("argocd/second", "unknown")


def test_a_move_that_was_under_way_is_not_blamed_on_the_change(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    where = save(snapshot(decided={"guestbook": ["us-1"]}), tmp_path / "hub")
    fleet.write("scorers/net.yaml", scorer("net"))
    found = run.compared(fleet, "--scores", where)
    assert found["moves"] == []
    assert found["pending"] == ["argocd/guestbook"]


def test_without_decisions_the_base_settles_before_the_change_is_judged(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", stickiness=20))
    fleet.commit("sticky")
    fleet.prefer_low_scores(stickiness=20)
    where = save(
        snapshot(values={"eu-1": 80, "eu-2": 70, "us-1": 56}, decided={}), tmp_path / "hub"
    )
    found = run.compared(fleet, "--scores", where)
    # 24 points less than eu-1: more than 20, so it moves although it would stick to eu-1.
    [move] = found["moves"]
    leaving = {term["name"]: (term["before"], term["after"]) for term in move["scores"][0]["terms"]}
    assert leaving["Steady"] == (100, 100)
    assert found["pending"] == []
    near = save(
        snapshot(values={"eu-1": 80, "eu-2": 70, "us-1": 64}, decided={}), tmp_path / "near"
    )
    assert run.compared(fleet, "--scores", near)["moves"] == [], "within the stickiness"


def test_old_and_expired_data_are_pointed_out(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    where = save(snapshot(age=timedelta(hours=5)), tmp_path / "hub")
    warnings = run.compared(fleet, "--scores", where)["warnings"]
    assert warnings == ["the scores were seen 5 h ago; what would move now may differ"]
    late = run.compared(fleet, "--scores", where, "--now", "2999-01-01T00:00:00Z")["warnings"]
    assert any(item.startswith("3 of 3 AddOnPlacementScores had expired") for item in late)
