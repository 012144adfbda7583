"""`validate --fix` writes what a hint of a rule states exactly."""

from pathlib import Path

import pytest

from tests.golden.findings_score_tests import score_test
from tests.support.commandline import gitops_dsf
from tests.support.repositories import BASE, UPSTREAM, app, asking

APPS = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: argocd}
spec:
  numberOfClusters: 1  # one
  clusterSets: [default]
  prioritizerPolicy:
    mode: Exact
    configurations: [{weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}]
---
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
    spec: {project: default, destination: {name: in-cluster}, source: {repoURL: "https://a.b/c.git", path: .}}
"""
SHARED = app("web}", "shared}").replace("ScoredApplication", "ScoredPlacement").partition("  application")[0]
FILES = {
    **BASE,
    "gitops-dsf.yaml": UPSTREAM,
    "scorers/s.yaml": asking("up"),
    "apps/web.yaml": f"{APPS}---\n{app('web}', 'app}')}---\n{SHARED}  scores: [{{scorer: cpu }}]\n",
    "tests/t.yaml": score_test("scores: [{scorer: cpu, cluster: prod-1, value: 1}]"),
}


@pytest.mark.parametrize(
    ("code", "right", "wrong"),
    [
        ("DSF317", "mode: Exact\n", "\n"),
        ("DSF317", "weight: 1, ", ""),
        ("DSF317", "type: BuiltIn, ", ""),
        ("DSF321", "numberOfClusters: 1 ", 'numberOfClusters: "1" '),
        ("DSF401", "namespace: argocd}\nspec:\n  goT", "namespace: apps}\nspec:\n  goT"),
        ("DSF405", "configMapRef: gitops-dsf-placement-decisions", "configMapRef: other"),
        ("DSF402", "        labelSelector", "        name: web\n        labelSelector"),
        ("DSF401", "namespace: argocd}\nspec:\n  num", "namespace: apps}\nspec:\n  num"),
        ("DSF345", "  goTemplate: true\n", ""),
        ("DSF024", "argocd}\nspec:\n  num", "argocd, labels: {argocd.argoproj.io/hook: a}}\nspec:\n  num"),
        ("DSF336", 'web.git", path: deploy', 'a/web/tree/main", path: deploy'),
        ("DSF350", "{scorer: cpu }", "{scorer: cpu, demand: 5}"),
        ("DSF016", "{scorer: cpu, cluster", "{resource: cpu-score, dimension: d, cluster"),
        ("DSF123", "'up'", "'up; ;'"),
        ("DSF146", "host: http://prom:9090", "type: Kubernetes, host: http://prom:9090, dialect: Other"),
    ],
)
def test_the_hint_is_written(tmp_path: Path, code: str, right: str, wrong: str) -> None:
    assert sum(text.count(right) for text in FILES.values()) == 1
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.replace(right, wrong), "utf-8")
    before = gitops_dsf("validate", cwd=tmp_path)
    assert code in before.stdout, before.stdout
    after = gitops_dsf("validate", "--fix", cwd=tmp_path)
    assert code not in after.stdout, after.stdout
    assert "# one" in (tmp_path / "apps/web.yaml").read_text("utf-8")
