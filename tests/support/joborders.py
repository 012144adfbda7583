"""A fleet in which jobs are ordered, and the MultiKueueConfig of its order, as views show them."""

import json
from typing import Any

import msgspec

from gitops_dsf.hub.multikueue import MultiKueueConfig
from gitops_dsf.show.pages.fleet import Past, ShownFleet, fleet_page
from gitops_dsf.views.status.build import build
from tests.support.hubobjects import Object, decision, fleet, placement
from tests.support.overviews import inputs_of

KEY = "kueue-system/gpu-jobs"
OURS = {"app.kubernetes.io/managed-by": "gitops-dsf-reconciler"}
WRITTEN = {
    "placement": KEY,
    "clusters": ["cluster2", "cluster1", "cluster3"],
    "points": {"cluster2": 81.5, "cluster1": 70.0},
    "reason": "cluster2 leads cluster1 by 11.5 points",
}


def ordering() -> list[Object]:
    """A hub with the Placement kueue-system/gpu-jobs, which orders gpu-jobs."""
    item = placement("gpu-jobs", "cpu", namespace="kueue-system")
    term = {"resource": "cpu", "dimension": "cpu", "weight": 1}
    order = {"config": "gpu-jobs", "reorderSeconds": 60.0, "terms": [term], "stickiness": 10.0}
    item["metadata"]["annotations"] = {"gitops-dsf.io/multikueue": json.dumps(order)}
    return [*fleet(), item, decision("gpu-jobs", "cluster1", namespace="kueue-system")]


def config(
    written: dict[str, Any],
    clusters: list[str] | None = None,
    labels: dict[str, str] = OURS,
) -> MultiKueueConfig:
    """As the hub has it; by default with the list that was written."""
    spec = {"clusters": written["clusters"] if clusters is None else clusters}
    annotations = {"gitops-dsf.io/order": json.dumps(written)}
    metadata = {"name": "gpu-jobs", "labels": labels, "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "spec": spec}, MultiKueueConfig)


def page_of_jobs(*configs: MultiKueueConfig, objects: list[Object] | None = None) -> str:
    """The page of a fleet in which jobs are ordered."""
    overview = build(inputs_of(objects or ordering(), multi_kueue_configs=configs))
    fleet_of_jobs = ShownFleet(
        overview=overview, findings=(), sources={}, sources_note="", past=Past()
    )
    return fleet_page(fleet_of_jobs)
