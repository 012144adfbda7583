"""A ScoredPlacement with multiKueue tells the reconciler which order it should keep."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gitops_dsf.hub.multikueue import MultiKueueOrder, multikueue_order
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PacedTerm
from tests.support.rendering import objects, placement, rendered, scorer

ANNOTATION = "gitops-dsf.io/multikueue"
HEADROOM = scorer(
    "gpu-headroom",
    source={
        "host": "http://prometheus.svc:9090",
        "params": {"query": "up", "range": 600, "step": 60},
    },
    scoreRange={"min": 0, "max": 1},
)
IDLE = scorer("idle", scoreRange={"min": 0, "max": 1})


def gpu_jobs(**spec: Any) -> dict[str, Any]:
    """A ScoredPlacement for Kueue, on all clusters of the set `default`."""
    base = {
        "placement": {"clusterSets": ["default"]},
        "scores": [{"scorer": "gpu-headroom", "demand": 5}],
        "stickiness": 10,
        "multiKueue": {"config": "gpu-jobs"},
    }
    return placement("gpu-jobs", namespace="kueue-system", **{**base, **spec})


def rendered_placement(root: Path, document: dict[str, Any]) -> dict[str, Any]:
    items = objects(rendered(root, HEADROOM, IDLE, document)).values()
    return next(item for item in items if item["kind"] == "Placement")


def test_the_annotation_says_what_people_wrote(tmp_path: Path) -> None:
    """As JSON, without the fields that have their default."""
    document = rendered_placement(tmp_path, gpu_jobs())
    assert json.loads(document["metadata"]["annotations"][ANNOTATION]) == {
        "config": "gpu-jobs",
        "reorderSeconds": 60.0,
        "terms": [
            {
                "resource": "gpu-headroom",
                "dimension": "gpu-headroom",
                "weight": 1,
                "demand": 5,
                "delay": 120.0,
                "range": 600.0,
            }
        ],
        "stickiness": 10.0,
    }


def test_a_stickiness_that_no_weights_express_orders_jobs_as_it_is_written(tmp_path: Path) -> None:
    """OCM decides for every cluster whatever its Steady is, so the nearest weight does."""
    document = rendered_placement(tmp_path, gpu_jobs(stickiness=15))
    order = multikueue_order(msgspec.convert(document, Placement))
    assert order is not None
    assert order.stickiness == 15
    nearest = rendered_placement(tmp_path / "nearest", gpu_jobs(stickiness=10))
    assert document["spec"] == nearest["spec"]


def test_points_are_those_of_the_weights_as_written(tmp_path: Path) -> None:
    """A factor that only expresses the stickiness for OCM does not change them."""
    scores = [
        {"scorer": "gpu-headroom", "weight": 3, "demand": 4},
        {"scorer": "idle", "weight": -1, "demand": 8},
    ]
    written = gpu_jobs(
        scores=scores, stickiness=25, multiKueue={"config": "jobs", "reorderSeconds": 5}
    )
    order = multikueue_order(msgspec.convert(rendered_placement(tmp_path, written), Placement))
    assert order == MultiKueueOrder(
        config="jobs",
        reorder_seconds=5,
        terms=(
            PacedTerm("gpu-headroom", "gpu-headroom", 3, demand=4, delay=120, range=600),
            PacedTerm("idle", "idle", -1, demand=8, delay=120, range=0),
        ),
        stickiness=25,
    )
    assert order.total_weight == 4
    assert order.measured_after == 720


def test_only_the_annotation_differs(tmp_path: Path) -> None:
    """OCM decides as it would without multiKueue."""
    ordered = rendered_placement(tmp_path / "ordered", gpu_jobs())
    plain = gpu_jobs(scores=[{"scorer": "gpu-headroom"}])
    del plain["spec"]["multiKueue"]
    without = rendered_placement(tmp_path / "plain", plain)
    assert ANNOTATION not in without["metadata"].get("annotations", {})
    assert ordered["spec"] == without["spec"]


@pytest.mark.parametrize("text", ["{}", '{"config": "a"}', "[]"])
def test_an_annotation_of_another_format_is_refused(text: str) -> None:
    """A text that is not ours is not taken for an order."""
    metadata = {"name": "a", "namespace": "b", "annotations": {ANNOTATION: text}}
    with pytest.raises(msgspec.DecodeError):
        multikueue_order(msgspec.convert({"metadata": metadata}, Placement))
