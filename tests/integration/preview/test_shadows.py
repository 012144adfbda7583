"""Shadows in a preview: how they agree with their live scorers, and what their promotion moves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.scores import score_of
from gitops_dsf.hub.snapshot import Snapshot
from tests.integration.preview.gitfleet import GitFleet, Run, application, save, scorer, snapshot

NEW_QUERY = "min(up)"


def shadow(**more: Any) -> dict[str, Any]:
    return scorer("next", query=NEW_QUERY, shadowOf="cpu", **more)


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """The shadow prefers us-1, and has no score of eu-2."""
    return save(with_shadow({"eu-1": 30, "us-1": 80}), tmp_path / "hub")


def with_shadow(values: dict[str, int]) -> Snapshot:
    live = snapshot()
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)
    scores = {name: score_of({"next": value}, valid_until=until) for name, value in values.items()}
    return Snapshot(
        origin="test",
        observed_at=live.observed_at,
        scores={**live.scores, "next": scores},
        decisions=live.decisions,
    )


def test_a_preview_says_how_a_shadow_agrees(fleet: GitFleet, hub: Path, run: Run) -> None:
    fleet.write("scorers/next.yaml", shadow())
    fleet.write("apps/other.yaml", application("other", region="eu"))
    fleet.commit("a shadow runs")
    found = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]
    assert found["moves"] == []
    assert found["shadows"] == [
        {
            "name": "next",
            "shadowOf": "cpu",
            "agreement": {
                "clusters": 2,
                "items": 2,
                "rankCorrelation": -1.0,
                "live": {"min": 20, "lowerQuartile": 20, "median": 20, "upperQuartile": 20, "max": 90},
                "shadow": {"min": 30, "lowerQuartile": 30, "median": 30, "upperQuartile": 30, "max": 80},
                "differences": [
                    {
                        "cluster": "eu-1",
                        "item": "cpu",
                        "live": 90,
                        "shadow": 30,
                        "liveRank": 1,
                        "shadowRank": 2,
                    },
                    {
                        "cluster": "us-1",
                        "item": "cpu",
                        "live": 20,
                        "shadow": 80,
                        "liveRank": 2,
                        "shadowRank": 1,
                    },
                ],
                "onlyLive": ["eu-2"],
                "onlyShadow": [],
            },
            "moves": {
                "found": [
                    {
                        "placement": "argocd/guestbook",
                        "followers": ["guestbook"],
                        "from": ["eu-1"],
                        "to": ["us-1"],
                    }
                ],
                "stay": 1,
                "open": [],
            },
        }
    ]
    text = run("diff", fleet.path, "--base", "main", "--scores", hub)
    assert (
        "Shadows\n"
        "  next, a shadow of cpu: 2 clusters with both scores, rank correlation -1.00\n"
        "    cpu 20 20 20 20 90, next 30 30 30 30 80 (lowest, quartile, median, quartile, highest)\n"
        "    differ most: eu-1 90 and 30 (rank 1 and 2); us-1 20 and 80 (rank 2 and 1)\n"
        "    no score of next, which would count as 0: eu-2\n"
        "    its promotion would move 1 of 2:\n"
        "      guestbook: eu-1 -> us-1\n"
    ) in text
    comment = run("diff", fleet.path, "--base", "main", "--scores", hub, "--format", "markdown")
    assert "<details><summary>Shadows (1)</summary>" in comment
    assert "\n  - guestbook: eu-1 → us-1\n" in comment


def test_a_new_shadow_scores_no_cluster_anew(fleet: GitFleet, hub: Path, run: Run) -> None:
    """Its scores decide nothing, so there is no warning about a large part of the fleet."""
    fleet.write("scorers/next.yaml", shadow())
    found = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]
    assert [(item["name"], item["change"]) for item in found["scorers"]] == [("next", "added")]
    assert found["warnings"] == []
    fleet.write("scorers/next.yaml", scorer("next", query=NEW_QUERY))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]
    assert [text for text in found["warnings"] if "are re-scored" in text]


def test_a_promotion_has_the_scores_of_the_shadow(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """The preview of its pull request shows the moves that were predicted, and nothing is unknown."""
    hub = save(with_shadow({"eu-1": 30, "eu-2": 40, "us-1": 80}), tmp_path / "hub")
    fleet.write("scorers/next.yaml", shadow())
    fleet.commit("a shadow runs")
    predicted = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]["shadows"]
    (fleet.path / "scorers/next.yaml").unlink()
    fleet.write("scorers/cpu.yaml", scorer("cpu", query=NEW_QUERY))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]
    [move] = found["moves"]
    [foreseen] = predicted[0]["moves"]["found"]
    assert (move["application"], move["from"], move["to"]) == ("argocd/guestbook", ["eu-1"], ["us-1"])
    assert (foreseen["placement"], foreseen["from"], foreseen["to"]) == (
        move["application"],
        move["from"],
        move["to"],
    )
    assert [(item["name"], item["effect"], item["promotedShadow"]) for item in found["scorers"]] == [
        ("cpu", "shadow", "next"),
        ("next", "none", None),
    ]
    assert "takes the scores of its shadow next on 3 clusters" in run(
        "diff", fleet.path, "--base", "main", "--scores", hub
    )


def test_a_cluster_without_a_score_of_the_shadow_stays_unknown(fleet: GitFleet, hub: Path, run: Run) -> None:
    fleet.write("scorers/next.yaml", shadow())
    fleet.commit("a shadow runs")
    (fleet.path / "scorers/next.yaml").unlink()
    fleet.write("scorers/cpu.yaml", scorer("cpu", query=NEW_QUERY))
    [move] = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]["moves"]
    assert move["to"] == "unknown"
    assert "its shadow has no score there" in move["reason"]


@pytest.mark.parametrize(
    "change", [{"query": "max(up)"}, {"query": NEW_QUERY, "scoreRange": {"min": 0, "max": 7}}]
)
def test_another_definition_than_the_shadows_is_not_known(
    fleet: GitFleet, hub: Path, run: Run, change: dict[str, Any]
) -> None:
    fleet.write("scorers/next.yaml", shadow())
    fleet.commit("a shadow runs")
    (fleet.path / "scorers/next.yaml").unlink()
    fleet.write("scorers/cpu.yaml", scorer("cpu", **change))
    found = run.json("diff", fleet.path, "--base", "main", "--scores", hub)["comparison"]
    assert [item["effect"] for item in found["scorers"]] == ["unknown", "none"]
