"""Ambiguous values: nothing follows from them."""

from pathlib import Path

import pytest

from gitops_dsf.pipeline import check
from tests.support import fleets
from tests.support.rendering import application, scorer

LABELLED = {"matchLabels": {"env": "prod"}}


@pytest.mark.parametrize("folder", ["clusters", "scorers", "config", "apps"])
def test_nothing_follows_from_a_value_that_readers_disagree_about(folder: str, tmp_path: Path) -> None:
    """The label that was meant may be the one that is looked for: no selector is blamed for finding
    nothing.
    """
    settings = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": "fleet"},
        "spec": {
            "git": {"url": "https://git.example.com/fleet.git"},
            "agent": {"image": "r.example.com/agent"},
            "reconciler": {"image": "r.example.com/reconciler"},
        },
    }
    placement = {"numberOfClusters": 1, "clusterSets": ["default"], "clusterSelector": LABELLED}
    masks = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterSelector": LABELLED, "scoreName": "other"}]},
    }
    documents = (
        fleets.cluster("c0", env="prod"),
        scorer("cpu", clusterSelector=LABELLED, scoreRange={"min": 0, "max": 1}),
        scorer("other", scoreRange={"min": 0, "max": 1}),
        fleets.cluster("c1"),
        masks,
        application("web", placement=placement),
    )
    root = fleets.write(tmp_path, fleets.FleetSources(settings=settings, documents=documents))
    assert check(root).diagnostics == ()
    for path in (root / folder).iterdir():
        path.write_text(path.read_text().replace('"env": "prod"', "env: on"))
    assert [(item.code, item.hint) for item in check(root).diagnostics] == [("DSF004", 'quote it: "on"')]
