"""The scorer of the framework's announcement, as people paste it.

It gives a score after `validate --fix`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops_dsf.cli.main import main
from tests.support.agent.http import (
    HttpFake,
    RecordedRequest,
    SentReply,
    last_values,
    matrix,
    series,
)
from tests.support.agent.running import AgentFolder
from tests.support.waiting import until

ANNOUNCED = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata:
  name: cpu-predictor
  namespace: gitops-dsf
spec:
  name: cpu-predictor
  source:
    type: Prometheus
    endpoint:
      host: http://prometheus.monitoring.svc:9090
      path: /api/v1/query_range
    query:
      query: "rate(container_cpu_usage_seconds_total[5m])"
      range: 3600
      step: 60
  scoring:
    endpoint:
      host: http://cpu-predictor-api.default.svc:8000
      path: /scoring
    params:
      model: "linear_regression"
      horizon: 3600
"""
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1}
spec: {hubAcceptsClient: true}
"""


async def test_it_gives_a_score_after_fix(
    place: AgentFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    assert main(["init", str(fleet), "--empty"]) == 0
    (fleet / "scorers" / "cpu.yaml").write_text(ANNOUNCED)
    (fleet / "clusters" / "c1.yaml").write_text(CLUSTER)
    assert main(["validate", str(fleet)]) == 1
    capsys.readouterr()
    assert main(["validate", "--fix", str(fleet)]) == 0
    fixed = capsys.readouterr().err
    assert (
        "fixed: the scorer has no interval, as in an older text: nothing says how often it runs;"
        in fixed
    )
    assert "write scoring.params.interval: 60, or other seconds between two runs\n" in fixed
    assert main(["render", str(fleet)]) == 0
    [summary] = _summaries(fleet)
    assert (summary["scoringInterval"], summary["scoringArguments"]) == (
        60,
        {"model": "linear_regression", "horizon": 3600},
    )

    def source(seen: RecordedRequest) -> SentReply:
        assert seen.query["query"] == "rate(container_cpu_usage_seconds_total[5m])"
        return matrix(series(1))

    async with HttpFake(source) as prometheus, HttpFake(last_values) as api:
        # The names of the announcement's hosts lead to the servers of this test.
        text = json.dumps(summary).replace("http://prometheus.monitoring.svc:9090", prometheus.url)
        place.put(json.loads(text.replace("http://cpu-predictor-api.default.svc:8000", api.url)))
        async with place.agent():
            await until(place.written, what="a score is published")
    assert api.seen[0].path == "/scoring"
    assert api.seen[0].json()["arguments"] == {"model": "linear_regression", "horizon": 3600}
    written = yaml.safe_load((place.out / "cpu-predictor.yaml").read_text())
    assert [score["name"] for score in written["status"]["scores"]] == ["cpu-predictor"]


def _summaries(fleet: Path) -> list[dict[str, Any]]:
    """The scoring configuration that is rendered for the one cluster."""
    [file] = (fleet / "rendered").glob("works-*/c1.manifestwork.yaml")
    work = yaml.safe_load(file.read_text())
    manifests = work["spec"]["workload"]["manifests"]
    [config] = [manifest for manifest in manifests if manifest["kind"] == "ConfigMap"]
    summaries: list[dict[str, Any]] = json.loads(config["data"]["summaries"])
    return summaries
