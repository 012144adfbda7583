"""examples/fleet: a repository of realistic size has no findings, renders, and runs each scorer where its
masks and selectors say.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.pipeline import Rendered, produce
from tests.support import yamlfast

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
EVERYWHERE = {"cpu-headroom-forecast", "memory-pressure", "site-facts"}
WITH_GPU = {"gpu-memory-free", "inference-efficiency"}


@pytest.fixture(scope="module")
def rendered() -> Rendered:
    return produce(FLEET)


def scores_on(rendered: Rendered, cluster: str) -> dict[str, dict[str, Any]]:
    """What the agent of a cluster runs, by score name."""
    assert rendered.tree is not None
    path = next(path for path in rendered.tree.files if path.endswith(f"/{cluster}.manifestwork.yaml"))
    manifests = yamlfast.load(rendered.tree.read(path))["spec"]["workload"]["manifests"]
    config = next(item for item in manifests if item["kind"] == "ConfigMap")
    return {summary["scoreName"]: summary for summary in json.loads(config["data"]["summaries"])}


def test_it_has_the_size_that_its_readme_says(rendered: Rendered) -> None:
    assert rendered.resolved is not None
    assert len(rendered.resolved.clusters) == 12
    assert len(rendered.resolved.scorers) == 10
    assert len(rendered.resolved.applications) == 5
    assert len(list((FLEET / "locks").iterdir())) == 2


def test_it_is_valid_with_strict_and_renders_to_a_fresh_tree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(FLEET), "--strict"]) == 0
    assert "5 applications, 1 ScoredPlacement; about" in capsys.readouterr().err
    out = ["render", str(FLEET), "--out", str(tmp_path / "tree")]
    assert main(out) == 0
    assert main([*out, "--check"]) == 0


def test_its_tests_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(FLEET)]) == 0
    assert capsys.readouterr().out.endswith("4 tests passed\n")


@pytest.mark.parametrize(
    ("cluster", "others"),
    [
        ("core-tokyo", {"vcpu-cost", "energy-price", "user-latency", "simple_prediction_score", *WITH_GPU}),
        ("core-vienna", {"vcpu-cost", "energy-price", "user-latency", "simple_prediction_score"}),
        ("edge-munich", {"vcpu-cost", "user-latency", *WITH_GPU}),
        ("edge-prague", {"user-latency"}),
        ("edge-portland", {"vcpu-cost"}),
    ],
)
def test_masks_and_selectors_decide_what_runs(rendered: Rendered, cluster: str, others: set[str]) -> None:
    assert scores_on(rendered, cluster).keys() == EVERYWHERE | others


@pytest.mark.parametrize(
    ("cluster", "endpoint"),
    [
        ("core-tokyo", "https://thanos-query-frontend.monitoring.svc:9090/api/v1/query"),
        ("edge-prague", "http://prometheus-operated.monitoring.svc:9090/api/v1/query"),
    ],
)
def test_one_scorer_asks_the_metrics_of_each_site(rendered: Rendered, cluster: str, endpoint: str) -> None:
    assert scores_on(rendered, cluster)["memory-pressure"]["sourceEndpoint"] == endpoint
