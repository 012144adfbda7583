"""ScoredPlacements in previews: who follows a decision, and decisions in other namespaces."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_dsf.hub.placements import decision_of
from tests.integration.preview.gitfleet import RANGE, GitFleet, Run, application, save, scorer, snapshot
from tests.support import rendering


def placement(name: str, **spec: Any) -> dict[str, Any]:
    on = {"numberOfClusters": 1, "clusterSets": ["fleet"]}
    return rendering.placement(name, **{"placement": on, "stickiness": 0} | spec)


def follower(name: str, ref: str) -> dict[str, Any]:
    found = application(name)
    for field in ("scores", "stickiness"):
        del found["spec"][field]
    found["spec"]["placement"] = {"ref": ref}
    return found


def lower_is_better() -> dict[str, Any]:
    return scorer("cpu", scoreRange={**RANGE, "outputMin": 100, "outputMax": 1})


def test_a_shared_decision_moves_every_application_that_follows_it(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    followers = (follower(name, "frontends") for name in ("web", "shop"))
    fleet.write("apps/shared.yaml", placement("frontends"), *followers)
    fleet.commit("shared")
    fleet.write("scorers/cpu.yaml", lower_is_better())
    found = run.compared(fleet, "--scores", scores)
    assert [(move["application"], move["followers"], move["to"]) for move in found["moves"]] == [
        ("argocd/frontends", ["shop", "web"], ["us-1"]),
        ("argocd/guestbook", ["guestbook"], ["us-1"]),
    ]
    text = run.shown(fleet, "--scores", scores)
    assert "| `argocd/frontends (shop, web)` | eu-1 | us-1 |" in text
    assert "- **3 applications move**\n" in text


def test_a_decision_for_other_consumers_is_no_application(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    fleet.commit("training")
    fleet.write("scorers/cpu.yaml", lower_is_better())
    text = run.shown(fleet, "--scores", scores)
    assert "| `kueue-system/training` | eu-1 | us-1 |" in text
    assert "- **1 application moves, 1 decision for other consumers changes**\n" in text


def test_an_application_that_changes_to_a_shared_placement_says_so(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", placement("frontends"), follower("guestbook", "frontends"))
    moves = run.compared(fleet, "--scores", scores)["moves"]
    assert [(move["application"], move["to"]) for move in moves] == [
        ("argocd/frontends", ["eu-1"]),
        ("argocd/guestbook", []),
    ]
    assert moves[1]["reason"] == "the Placement is removed; guestbook follows argocd/frontends now"


def test_stickiness_counts_the_decision_of_its_own_namespace(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """A decision of the same name in another namespace belongs to another Placement."""
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system", stickiness=100))
    hub = snapshot(decided={"training": ["us-1"]})
    own = decision_of(
        namespace="kueue-system", name="training-decision-1", placement="training", clusters=("eu-2",)
    )
    folder = save(replace(hub, decisions=(*hub.decisions, own)), tmp_path / "hub")
    text = run("explain", "training", "eu-2", fleet.path, "--scores", folder)
    assert "kueue-system/training, cluster eu-2: selected" in text
