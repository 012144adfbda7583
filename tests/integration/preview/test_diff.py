"""What a change does, told from real git repositories."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.scores import score_of
from tests.integration.preview.gitfleet import (
    RAW,
    GitFleet,
    Run,
    application,
    cluster,
    save,
    scorer,
    snapshot,
)

LOWER_IS_BETTER = {"min": 0, "max": 100, "outputMin": 100, "outputMax": 1}


def test_nothing_changed(fleet: GitFleet, scores: Path, run: Run) -> None:
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores, "--exit-code")
    assert found["differs"] is False
    assert found["comparison"]["moves"] == []
    assert found["comparison"]["warnings"] == []
    assert 290 <= found["hub"]["ageSeconds"] <= 400


def test_a_new_range_moves_the_application_by_its_raw_scores(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=LOWER_IS_BETTER))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores, "--exit-code", code=1)[
        "comparison"
    ]
    # raw 90, 60, 20 -> 100 - 0.99 raw, floored
    [move] = found["moves"]
    assert (move["application"], move["from"], move["to"]) == ("argocd/guestbook", ["eu-1"], ["us-1"])
    leaving, coming = move["scores"]
    assert leaving["cluster"] == "eu-1"
    assert [(term["name"], term["before"], term["after"]) for term in leaving["terms"]] == [
        ("AddOn/cpu/cpu", 90, 10)
    ]
    assert [(term["name"], term["before"], term["after"]) for term in coming["terms"]] == [
        ("AddOn/cpu/cpu", 20, 80)
    ]
    assert "eu-1: rank 3 of 3" in move["reason"]
    [change] = found["scorers"]
    assert change["effect"] == "range"
    assert {field["path"] for field in change["fields"]} == {"scoreRange.outputMin", "scoreRange.outputMax"}
    assert found["summary"]["works"] == {"added": 0, "removed": 0, "changed": 3, "total": 3}
    assert "3 of 3 clusters (100 %) are re-scored, more than 25 %: cpu (3)" in found["warnings"]


def test_without_raw_scores_a_new_range_is_unknown(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    where = save(snapshot(raw=None, values={"eu-1": 90, "eu-2": 60, "us-1": 20}), tmp_path / "hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange=LOWER_IS_BETTER))
    [move] = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]["moves"]
    assert move["to"] == "unknown"
    assert "the raw score is not known" in move["reason"]


def test_a_changed_query_is_shown_as_a_query_and_its_score_is_unknown(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query='avg(up{job="node"})'))
    text = run("diff", fleet.path, "--base", "main", "--scores", scores)
    assert '- `source.params.query`: `avg(up)` → `avg(up{job="node"})`' in text
    assert "| `argocd/guestbook` | eu-1 | unknown |" in text
    assert (
        "cpu: query changed: 3 clusters could be selected; if the scores stayed as they are, it would stay"
        in text
    )
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
        name: score_of(values={"next": value}) for name, value in {"eu-1": 20, "eu-2": 30, "us-1": 70}.items()
    }
    known = snapshot()
    scores = save(replace(known, scores={**known.scores, "next": beside}), tmp_path / "state")
    fleet.write("apps/guestbook.yaml", application("guestbook", scorers=("next",)))
    found = run.json("diff", fleet.path, "--base", "HEAD", "--scores", scores)["comparison"]
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["us-1"])


def test_unknown_scores_that_cannot_change_the_decision_are_no_move(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("scorers/minor.yaml", scorer("minor"))
    scores = [{"scorer": "cpu", "weight": 10}, {"scorer": "minor", "weight": 1}]
    fleet.write("apps/guestbook.yaml", application("guestbook", scores=scores))
    fleet.commit("two scorers")
    where = save(snapshot(raw={"eu-1": 99.0, "eu-2": 10.0, "us-1": 5.0}), tmp_path / "hub")
    fleet.write("scorers/minor.yaml", scorer("minor", query="max(up)"))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]
    # 10 x 99 against 10 x 10 + 1 x 100: whatever the new query gives, eu-1 stays first.
    assert found["scorers"][0]["effect"] == "unknown"
    assert found["moves"] == []


def test_a_cluster_that_loses_the_scorer_counts_as_zero(fleet: GitFleet, scores: Path, run: Run) -> None:
    mask = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterName": "eu-1", "scoreName": "cpu"}]},
    }
    fleet.write("config/masks.yaml", mask)
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]
    [change] = found["scorers"]
    assert (change["gained"], change["lost"], change["kept"], change["effect"]) == ([], ["eu-1"], 2, "none")
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], ["eu-2"])
    assert move["scores"][0]["terms"][0] | {"name": ""} == {
        "name": "", "before": 90, "after": 0, "weightBefore": 1, "weightAfter": 1, "unknownBecause": None,
    }  # fmt: skip


def test_an_application_left_with_no_cluster(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.allow_unmatched_selectors()
    fleet.write("apps/guestbook.yaml", application("guestbook", region="mars"))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]
    [move] = found["moves"]
    assert (move["from"], move["to"]) == (["eu-1"], [])
    assert any(item.startswith("argocd/guestbook is left with no cluster: ") for item in found["warnings"])
    without_data = run.json("diff", fleet.path, "--base", "main")["comparison"]
    assert without_data["moves"] is None
    assert any(
        item.startswith("argocd/guestbook is left with no cluster: ") for item in without_data["warnings"]
    )


def test_an_application_that_sits_close_to_moving(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    where = save(snapshot(raw={"eu-1": 90.0, "eu-2": 89.0, "us-1": 20.0}), tmp_path / "hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 0, "max": 101}))
    arguments = ("diff", fleet.path, "--base", "main", "--scores", where)
    found = run.json(*arguments)["comparison"]["warnings"]
    # 89.2 and 88.2 become 89 and 88: eu-2 wins with one point more than a tie.
    assert (
        "argocd/guestbook is close to moving from eu-1 to eu-2: it does when AddOn/cpu/cpu falls from 89 to"
        " 87 on eu-1" in found
    )
    assert not [
        item
        for item in run.json(*arguments, "--warn-close", "1")["comparison"]["warnings"]
        if "close to moving" in item
    ]


@pytest.mark.parametrize(("percent", "warns"), [("99", True), ("100", False)])
def test_the_share_of_the_fleet_that_may_be_rescored(
    fleet: GitFleet, run: Run, percent: str, warns: bool
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    warnings = run.json("diff", fleet.path, "--base", "main", "--warn-rescored", percent)["comparison"][
        "warnings"
    ]
    assert any("are re-scored" in item for item in warnings) is warns


def test_placements_scorers_and_clusters_that_come_and_go(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.write("apps/second.yaml", application("second", scorers=["cpu"], count=2))
    fleet.write("clusters/new.yaml", cluster("eu-3", "eu"))
    (fleet.path / "apps/guestbook.yaml").unlink()
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]
    assert [(item["name"], item["change"]) for item in found["scorers"]] == [("net", "added")]
    assert [(item["placement"], item["change"]) for item in found["placements"]] == [
        ("argocd/guestbook", "removed"),
        ("argocd/second", "added"),
    ]
    assert found["summary"]["clusters"]["joined"] == ["eu-3"]
    assert found["summary"]["works"] == {"added": 1, "removed": 0, "changed": 3, "total": 4}
    gone, new = found["moves"]
    assert (gone["application"], gone["from"], gone["to"], gone["reason"]) == (
        "argocd/guestbook",
        ["eu-1"],
        [],
        "the Placement is removed",
    )
    # eu-3 has no score of cpu yet, and could have any.
    assert (new["application"], new["to"]) == ("argocd/second", "unknown")


def test_a_move_that_was_under_way_is_not_blamed_on_the_change(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    where = save(snapshot(decided={"guestbook": ["us-1"]}), tmp_path / "hub")
    fleet.write("scorers/net.yaml", scorer("net"))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]
    assert found["moves"] == []
    assert found["pending"] == ["argocd/guestbook"]


def test_stickiness_counts_from_where_the_application_is(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", stickiness=20))
    fleet.commit("sticky")
    state = snapshot(raw={"eu-1": 80.0, "eu-2": 70.0, "us-1": 0.0}, decided={"guestbook": ["eu-2"]})
    where = save(state, tmp_path / "hub")
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 0, "max": 90}))
    assert run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]["moves"] == []
    fleet.write("scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 60, "max": 90}))
    [move] = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]["moves"]
    assert (move["from"], move["to"]) == (["eu-2"], ["eu-1"])


def test_without_decisions_the_base_settles_before_the_change_is_judged(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", application("guestbook", stickiness=20))
    fleet.commit("sticky")
    where = save(snapshot(raw={"eu-1": 80.0, "eu-2": 70.0, "us-1": 0.0}, decided={}), tmp_path / "hub")
    fleet.write(
        "scorers/cpu.yaml",
        scorer("cpu", scoreRange={"min": 0, "max": 100, "outputMin": 100, "outputMax": 70}),
    )
    found = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]
    # 76 against us-1's 100: more than 20 points, so it moves although it would stick to eu-1.
    [move] = found["moves"]
    leaving = {term["name"]: (term["before"], term["after"]) for term in move["scores"][0]["terms"]}
    assert leaving["Steady"] == (100, 100)
    assert found["pending"] == []
    fleet.write(
        "scorers/cpu.yaml",
        scorer("cpu", scoreRange={"min": 0, "max": 100, "outputMin": 100, "outputMax": 80}),
    )
    # 84 against 100: within the stickiness.
    assert run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]["moves"] == []


def test_old_and_expired_data_are_pointed_out(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    where = save(snapshot(age=timedelta(hours=5)), tmp_path / "hub")
    warnings = run.json("diff", fleet.path, "--base", "main", "--scores", where)["comparison"]["warnings"]
    assert warnings == ["the scores were seen 5 h ago; what would move now may differ"]
    late = run.json("diff", fleet.path, "--base", "main", "--scores", where, "--now", "2999-01-01T00:00:00Z")[
        "comparison"
    ]["warnings"]
    assert any(item.startswith("3 of 3 AddOnPlacementScores had expired") for item in late)


def test_a_lock_change_shows_as_the_field_that_it_changes(fleet: GitFleet, run: Run) -> None:
    def lock(query: str) -> dict[str, Any]:
        config = {"source": {"type": "Prometheus", "params": {"query": query}}}
        spec = {"configURL": "http://api.scoring.svc:8000/config", "config": config}
        return {
            "apiVersion": "gitops-dsf.io/v1alpha1",
            "kind": "ScorerLock",
            "metadata": {"name": "cpu"},
            "spec": spec,
        }

    fleet.write("scorers/cpu.yaml", scorer("cpu", configSyncMode="Full"))
    fleet.write("locks/cpu.yaml", lock("avg(up)"))
    fleet.commit("locked")
    fleet.write("locks/cpu.yaml", lock("max(up)"))
    [change] = run.json("diff", fleet.path, "--base", "main")["comparison"]["scorers"]
    assert [(item["path"], item["before"], item["after"]) for item in change["fields"]] == [
        ("source.params.query", "avg(up)", "max(up)")
    ]


def test_raw_scores_outside_of_a_new_range_are_clamped(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write(
        "scorers/cpu.yaml", scorer("cpu", scoreRange={"min": 50, "max": 90, "outputMin": 100, "outputMax": 1})
    )
    [move] = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]["moves"]
    after = {item["cluster"]: item["after"] for item in move["scores"]}
    assert after == {"eu-1": 1, "us-1": 100}
    assert RAW["us-1"] < 50, "clamped"
