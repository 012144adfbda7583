"""Applications that rank by the scores of other add-ons, as every verb shows them."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.hub.scores import score_of
from tests.integration.preview.gitfleet import GitFleet, Run, application, save, snapshot
from tests.integration.preview.test_surroundings import placement
from tests.support import yamlfast

USAGE = "resource-usage-score"
FREE_GPUS = {"eu-1": -100, "eu-2": -70, "us-1": -20}
"""As the add-on publishes 0, 3 and 8 free GPUs."""


def usage(name: str = "gpuClusterAvailable", weight: int = 1) -> dict[str, Any]:
    return {"addOn": {"resource": USAGE, "name": name}, "weight": weight}


def training(*scores: dict[str, Any], **spec: Any) -> dict[str, Any]:
    missing = {"onMissingScore": "Exclude"}
    return application("training", scores=list(scores), **missing | spec)


@pytest.fixture
def declared(fleet: GitFleet) -> GitFleet:
    """A fleet whose settings declare the scores of the add-on."""
    settings = yamlfast.load((fleet.path / "gitops-dsf.yaml").read_text("utf-8"))
    settings["spec"]["externalScores"] = [
        {"resource": USAGE, "names": ["cpuClusterAvailable", "gpuClusterAvailable"]}
    ]
    fleet.write("gitops-dsf.yaml", settings)
    fleet.write("apps/training.yaml", training(usage()))
    fleet.commit("training")
    return fleet


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A hub on which the add-on publishes without an end, as it does."""
    known = snapshot()
    column = {
        name: score_of({"cpuClusterAvailable": 0, "gpuClusterAvailable": value})
        for name, value in FREE_GPUS.items()
    }
    known.scores[USAGE] = column
    return save(known, tmp_path / "hub")


def prioritizers(fleet: GitFleet, run: Run) -> list[dict[str, Any]]:
    run("render", fleet.path)
    text = (fleet.path / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    configurations: list[dict[str, Any]] = yamlfast.load(text)["spec"]["prioritizerPolicy"][
        "configurations"
    ]
    return configurations


def test_it_is_rendered_as_ocm_reads_it_beside_a_scorer(declared: GitFleet, run: Run) -> None:
    declared.write("apps/training.yaml", training({"scorer": "cpu", "weight": 2}, usage(weight=-1)))
    assert prioritizers(declared, run) == [
        {
            "scoreCoordinate": {
                "type": "AddOn",
                "addOn": {"resourceName": "cpu", "scoreName": "cpu"},
            },
            "weight": 2,
        },
        {
            "scoreCoordinate": {
                "type": "AddOn",
                "addOn": {"resourceName": USAGE, "scoreName": "gpuClusterAvailable"},
            },
            "weight": -1,
        },
    ]


def test_a_cluster_without_the_add_on_is_excluded(declared: GitFleet, run: Run) -> None:
    run("render", declared.path)
    text = (declared.path / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    (predicate,) = yamlfast.load(text)["spec"]["predicates"]
    assert predicate["requiredClusterSelector"]["celSelector"]["celExpressions"] == [
        (
            'managedCluster.scores("resource-usage-score")'
            '.exists(score, score.name == "gpuClusterAvailable")'
        )
    ]


def test_simulate_and_explain_use_the_present_values_of_the_hub(
    declared: GitFleet, hub: Path, run: Run
) -> None:
    placements = run.json("simulate", declared.path, "--scores", hub)["placements"]
    (verdict,) = [item for item in placements if item["placement"] == "argocd/training"]
    assert verdict["ranked"] == ["us-1"]
    assert verdict["scores"] == {"eu-1": -100, "eu-2": -70, "us-1": -20}
    assert "ranked by: resource-usage-score/gpuClusterAvailable x1" in run(
        "explain", "training", declared.path, "--scores", hub
    )
    (flip,) = run.json("explain", "training", "eu-2", declared.path, "--scores", hub)["flips"]
    assert flip["name"] == "AddOn/resource-usage-score/gpuClusterAvailable"
    assert (flip["score"], flip["needed"]) == (-70, -20)


def test_a_pull_request_that_ranks_by_it_shows_who_moves(
    declared: GitFleet, hub: Path, run: Run
) -> None:
    """By CPU guestbook is on eu-1, which has no GPUs."""
    declared.write("apps/guestbook.yaml", application("guestbook", scores=[usage()]))
    formats = run.formats(declared, "--scores", hub)
    (move,) = formats.comparison["moves"]
    assert (move["application"], move["from"], move["to"]) == (
        "argocd/guestbook",
        ["eu-1"],
        ["us-1"],
    )
    shown = formats.text
    assert "`spec.scores[resource-usage-score/gpuClusterAvailable]`: added, weight 1" in shown
    assert (
        "eu-1: 90 points -> -100 points (cpu x1->out: 90 -> -,"
        " resource-usage-score/gpuClusterAvailable x1: - -> -100)"
    ) in shown


def test_a_new_application_is_shown_with_the_score_as_written(
    declared: GitFleet, hub: Path, run: Run
) -> None:
    declared.write("apps/other.yaml", application("other", scores=[usage(weight=2)]))
    (move,) = run.compared(declared, "--scores", hub)["moves"]
    assert move["placement"]["scores"] == ["resource-usage-score/gpuClusterAvailable x2"]


def test_a_declaration_that_changes_is_shown_by_its_name(declared: GitFleet, run: Run) -> None:
    settings = yamlfast.load((declared.path / "gitops-dsf.yaml").read_text("utf-8"))
    settings["spec"]["externalScores"][0]["range"] = {"min": 0, "max": 100}
    declared.write("gitops-dsf.yaml", settings)
    assert "spec.externalScores[resource-usage-score].range.min" in run.shown(declared)


def test_a_score_test_gives_its_values(declared: GitFleet, run: Run) -> None:
    given = [
        {"resource": USAGE, "dimension": "gpuClusterAvailable", "cluster": name, "value": value}
        for name, value in FREE_GPUS.items()
    ]
    expected = [{"at": "0s", "application": "training", "clusters": ["us-1"]}]
    document = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScoreTest",
        "metadata": {"name": "training"},
        "spec": {"given": {"scores": given}, "expect": {"decisions": expected}},
    }
    declared.write("tests/training.yaml", document)
    run("test", declared.path)
    expected[0]["clusters"] = ["eu-1"]
    declared.write("tests/training.yaml", document)
    run("test", declared.path, code=1)


def test_a_paced_placement_says_when_it_has_measured(declared: GitFleet, run: Run) -> None:
    """The reconciler assumes a demand for so long, and nothing of a score without one."""
    settings = yamlfast.load((declared.path / "gitops-dsf.yaml").read_text("utf-8"))
    settings["spec"]["pace"] = {}
    settings["spec"]["externalScores"][0]["measuredAfterSeconds"] = 90
    declared.write("gitops-dsf.yaml", settings)
    cpu = usage("cpuClusterAvailable")
    declared.write("apps/training.yaml", training(usage() | {"demand": 10}, cpu, stickiness=50))
    run("render", declared.path)
    text = (declared.path / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    annotations = yamlfast.load(text)["metadata"]["annotations"]
    paced = json.loads(annotations["gitops-dsf.io/pace"])
    assert paced["terms"] == [
        {
            "resource": USAGE,
            "dimension": "gpuClusterAvailable",
            "weight": 1,
            "demand": 10,
            "delay": 90.0,
            "range": 0.0,
        },
        {
            "resource": USAGE,
            "dimension": "cpuClusterAvailable",
            "weight": 1,
            "delay": 90.0,
            "range": 0.0,
        },
    ]


def test_jobs_are_ordered_by_it(declared: GitFleet, hub: Path, run: Run) -> None:
    spec = {
        "placement": {"clusterSets": ["fleet"]},
        "scores": [usage()],
        "stickiness": 10,
        "onMissingScore": "Exclude",
        "multiKueue": {"config": "gpu-jobs"},
    }
    declared.write("apps/jobs.yaml", placement("gpu-jobs", namespace="kueue-system", **spec))
    (order,) = run.compared(declared, "--scores", hub)["jobOrders"]
    assert [(item["cluster"], item["points"]) for item in order["after"]] == [
        ("us-1", -20.0),
        ("eu-2", -70.0),
        ("eu-1", -100.0),
    ]


def test_prioritizers_of_ocm_rank_beside_scores(declared: GitFleet, run: Run) -> None:
    """They read no score that could be missing, so Exclude asks only for that of the add-on."""
    balance = {"builtIn": "Balance", "weight": 2}
    declared.write("apps/training.yaml", training(balance, usage(weight=-1)))
    assert prioritizers(declared, run)[0] == {
        "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"},
        "weight": 2,
    }
    text = (declared.path / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    (predicate,) = yamlfast.load(text)["spec"]["predicates"]
    assert len(predicate["requiredClusterSelector"]["celSelector"]["celExpressions"]) == 1
    declared.write("apps/training.yaml", training({"builtIn": "ResourceAllocatableCPU"}))
    run("render", declared.path)
    text = (declared.path / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    assert "predicates" not in yamlfast.load(text)["spec"]


def test_a_preview_names_a_prioritizer_of_ocm(declared: GitFleet, hub: Path, run: Run) -> None:
    """One application decides for eu-1, so Balance gives it -100."""
    balance = {"builtIn": "Balance", "weight": 3}
    declared.write("apps/other.yaml", application("other", scores=[balance]))
    (move,) = run.compared(declared, "--scores", hub)["moves"]
    assert move["placement"]["scores"] == ["Balance x3"]
    assert move["to"] == ["eu-2"]
