"""What shall exist: shards, shared configurations, and scorers as a spoke's ConfigMap carries them.

Aspects covered: shards never move by themselves; a configuration is one value; delivery modes;
summaries hold ours only where set.
"""

from pathlib import Path

import pytest

from gitops_dsf.plan.works import shard_of
from tests.support.rendering import rendered, scorer


@pytest.mark.parametrize(
    ("cluster", "shards", "expected"),
    [("eu-west-1", 1, 0), ("eu-west-1", 8, 2), ("c0", 100, 19), ("a.b.c", 7, 3)],
)
def test_a_shard_depends_on_the_name_and_the_number_alone(
    cluster: str, shards: int, expected: int
) -> None:
    """Pinned: a cluster that changed its directory would be pruned from one Application and created
    by another.
    """
    assert shard_of(cluster, shards) == expected


def test_clusters_that_run_the_same_share_one_configuration(tmp_path: Path) -> None:
    config = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {
            "masks": [
                {"clusterName": "c1", "scoreName": "gpu"},
                {"clusterName": "c3", "scoreName": "gpu"},
            ]
        },
    }
    result = rendered(tmp_path, scorer("cpu"), scorer("gpu"), config, clusters=5)
    assert result.fleet is not None
    works = {work.cluster: work.configuration for work in result.fleet.works}
    assert works["c0"] is works["c2"] is works["c4"]
    assert works["c1"] is works["c3"]
    assert [item.name for item in works["c0"].summaries] == ["cpu", "gpu"]
    assert [item.name for item in works["c1"].summaries] == ["cpu"]
