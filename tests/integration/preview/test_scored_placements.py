"""ScoredPlacements in previews: who follows a decision, and decisions in other namespaces."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_dsf.hub.decisions import decision_of
from tests.integration.preview.gitfleet import RANGE, GitFleet, Run, application, save, scorer, snapshot


def placement(name: str, **spec: Any) -> dict[str, Any]:
    namespace = spec.pop("namespace", None)
    return {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoredPlacement",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {
            "placement": {"numberOfClusters": 1, "clusterSets": ["fleet"]},
            "scores": [{"scorer": "cpu"}],
            "stickiness": 0,
            **spec,
        },
    }


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
    found = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]
    assert [(move["application"], move["followers"], move["to"]) for move in found["moves"]] == [
        ("argocd/frontends", ["shop", "web"], ["us-1"]),
        ("argocd/guestbook", ["guestbook"], ["us-1"]),
    ]
    text = run("diff", fleet.path, "--base", "main", "--scores", scores)
    assert "| `argocd/frontends (shop, web)` | eu-1 | us-1 |" in text
    assert "- **3 applications move**\n" in text


def test_a_hand_written_applicationset_follows_one_too(fleet: GitFleet, scores: Path, run: Run) -> None:
    raw = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "raw", "namespace": "argocd"},
        "spec": {
            "goTemplate": True,
            "generators": [
                {
                    "clusterDecisionResource": {
                        "configMapRef": "gitops-dsf-placement-decisions",
                        "labelSelector": {
                            "matchLabels": {"cluster.open-cluster-management.io/placement": "frontends"}
                        },
                    }
                }
            ],
            "syncPolicy": {"applicationsSync": "create-update"},
            "template": {
                "metadata": {"name": "raw-{{.name}}"},
                "spec": {"project": "default", "destination": {"name": "{{.name}}"}},
            },
        },
    }
    fleet.write("apps/shared.yaml", placement("frontends"), follower("web", "frontends"), raw)
    fleet.commit("shared")
    fleet.write("scorers/cpu.yaml", lower_is_better())
    text = run("diff", fleet.path, "--base", "main", "--scores", scores)
    assert "| `argocd/frontends (raw, web)` | eu-1 | us-1 |" in text


def test_a_decision_for_other_consumers_is_no_application(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    fleet.commit("training")
    fleet.write("scorers/cpu.yaml", lower_is_better())
    text = run("diff", fleet.path, "--base", "main", "--scores", scores)
    assert "| `kueue-system/training` | eu-1 | us-1 |" in text
    assert "- **1 application moves, 1 decision for other consumers changes**\n" in text


def test_an_application_that_changes_to_a_shared_placement_says_so(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("apps/guestbook.yaml", placement("frontends"), follower("guestbook", "frontends"))
    moves = run.json("diff", fleet.path, "--base", "main", "--scores", scores)["comparison"]["moves"]
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


def test_simulate_and_explain_take_its_name(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("apps/training.yaml", placement("training", namespace="kueue-system"))
    [found] = run.json("simulate", fleet.path, "--scores", scores, "--placement", "training")["placements"]
    assert found["placement"] == "kueue-system/training"
    text = run("explain", "training", "eu-1", fleet.path, "--scores", scores)
    assert "kueue-system/training, cluster eu-1: selected" in text
