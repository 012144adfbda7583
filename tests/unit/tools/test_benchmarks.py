"""Benchmarks run at any scale, so that people can try them before they wait."""

from pathlib import Path

import pytest

from benchmarks import fleet
from benchmarks.bench_views import build
from gitops_dsf.pipeline import check


@pytest.mark.parametrize("clusters", [40, 41])
def test_a_change_removes_no_cluster_that_a_mask_names(tmp_path: Path, clusters: int) -> None:
    last = fleet.cluster_name(clusters - 1)
    is_masked = last in dict(fleet.masks(clusters, 8))
    assert is_masked == (clusters == 40), "both cases are needed"
    build(tmp_path, clusters, 8, applications=1)
    checked = check(tmp_path).fleet
    assert checked is not None
    assert len(checked.cluster_names) == clusters - 1
    assert (last in checked.cluster_names) == is_masked
