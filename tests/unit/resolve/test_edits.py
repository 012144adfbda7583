"""`validate --fix` writes what a hint of a rule states exactly."""

from pathlib import Path

import pytest

from tests.support.commandline import gitops_dsf

PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: argocd}
spec:
  numberOfClusters: 1  # one
  clusterSets: [default]
  prioritizerPolicy:
    mode: Exact
    configurations:
      - weight: 1
        scoreCoordinate: {type: BuiltIn, builtIn: Steady}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
    - clusterDecisionResource:
        configMapRef: gitops-dsf-placement-decisions
        labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: web}}
  template:
    metadata: {name: "web-{{.clusterName}}"}
    spec:
      project: default
      source: {repoURL: "https://git.example.com/web.git", targetRevision: main, path: .}
      destination: {name: "{{.clusterName}}", namespace: web}
"""


@pytest.mark.parametrize(
    ("code", "right", "wrong"),
    [
        ("DSF317", "mode: Exact\n", "\n"),
        ("DSF317", "weight: 1\n        ", ""),
        ("DSF317", "type: BuiltIn, ", ""),
        ("DSF321", "numberOfClusters: 1 ", 'numberOfClusters: "1" '),
        ("DSF401", "namespace: argocd}\nspec:\n  goT", "namespace: apps}\nspec:\n  goT"),
        ("DSF405", "configMapRef: gitops-dsf-placement-decisions", "configMapRef: other"),
        ("DSF402", "        labelSelector", "        name: web\n        labelSelector"),
    ],
)
def test_the_hint_is_written(tmp_path: Path, code: str, right: str, wrong: str) -> None:
    assert gitops_dsf("init", "fleet", "--empty", cwd=tmp_path).returncode == 0
    file = tmp_path / "fleet/apps/web.yaml"
    whole = f"{PLACEMENT}---\n{SET}"
    assert whole.count(right) == 1
    file.write_text(whole.replace(right, wrong), "utf-8")
    before = gitops_dsf("validate", "fleet", cwd=tmp_path)
    assert code in before.stdout, before.stdout
    after = gitops_dsf("validate", "--fix", "fleet", cwd=tmp_path)
    assert code not in after.stdout, after.stdout
    assert "# one" in file.read_text("utf-8")
