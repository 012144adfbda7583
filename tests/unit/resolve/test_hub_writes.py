"""The estimate of hub writes that `validate` prints: clusters x scorers / refresh, of what is published."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.support.rendering import rendered, scorer

RANGE = {"min": 0, "max": 1}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, 10 / 450),
        ({"scoreTTLSeconds": 100}, 10 / 50),
        ({"scoring": {"params": {"name": "cpu", "interval": 300}}}, 10 / 1500),
        ({"suspend": True}, 0),
        ({"scoreDestination": "None"}, 0),
    ],
)
def test_every_published_score_is_written_at_half_of_its_ttl(
    spec: dict[str, object], expected: float, tmp_path: Path
) -> None:
    """The default TTL is 900 s or ten intervals, whichever is more."""
    resolved = rendered(tmp_path, scorer("cpu", scoreRange=RANGE, **spec), clusters=10).resolved
    assert resolved is not None
    assert resolved.hub_writes_per_second == pytest.approx(expected)


def test_clusters_that_are_masked_do_not_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    masks = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterName": "c0", "scoreName": "cpu"}]},
    }
    rendered(tmp_path, scorer("cpu", scoreTTLSeconds=60, scoreRange=RANGE), masks, clusters=4)
    assert main(["validate", str(tmp_path)]) == 0
    assert (
        "4 clusters, 1 scorer, 0 applications; about 0.1 score writes per second on the hub"
        in capsys.readouterr().err
    )
