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
"""  # noqa: E501
SWITCH = "  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n"
GO_TEMPLATE = APPS[APPS.index(SWITCH) : APPS.index("    spec: {project")]
SHARED = (
    app("web}", "shared}")
    .replace("ScoredApplication", "ScoredPlacement")
    .partition("  application")[0]
)
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
        ("DSF405", "configMapRef: gitops-dsf-placement-decisions", "configMapRef: other"),
        ("DSF402", "        labelSelector", "        name: web\n        labelSelector"),
        ("DSF345", "  goTemplate: true\n", ""),
        (
            "DSF024",
            "argocd}\nspec:\n  num",
            "argocd, labels: {argocd.argoproj.io/hook: a}}\nspec:\n  num",
        ),
        ("DSF336", 'web.git", path: deploy', 'a/web/tree/main", path: deploy'),
        ("DSF350", "{scorer: cpu }", "{scorer: cpu, demand: 5}"),
        ("DSF016", "{scorer: cpu, cluster", "{resource: cpu-score, dimension: d, cluster"),
        ("DSF123", "'up'", "'up; ;'"),
        (
            "DSF146",
            "host: http://prom:9090",
            "type: Kubernetes, host: http://prom:9090, dialect: Other",
        ),
    ],
)
def test_the_hint_is_written(tmp_path: Path, code: str, right: str, wrong: str) -> None:
    write(tmp_path, right, wrong)
    before = gitops_dsf("validate", cwd=tmp_path)
    assert code in before.stdout, before.stdout
    after = gitops_dsf("validate", "--fix", cwd=tmp_path)
    assert code not in after.stdout, after.stdout
    assert "# one" in (tmp_path / "apps/web.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        # The namespace may be right, and the one of Argo CD in gitops-dsf.yaml wrong.
        (
            "namespace: argocd}\nspec:\n  goT",
            "namespace: openshift-gitops}\nspec:\n  goT",
            (
                "DSF401: decisions are looked up in argocd, the Argo CD namespace, never in"
                " openshift-gitops\n"
            ),
        ),
        (
            "namespace: argocd}\nspec:\n  num",
            "namespace: openshift-gitops}\nspec:\n  num",
            (
                "DSF401: an ApplicationSet follows this Placement, but decisions are looked"
                " up in argocd only\n"
            ),
        ),
        # YAML 1.2 reads 60, kubectl 48.
        ("weight: 1, ", "weight: 060, ", 'quote it: "060", or write 60 or 48\n'),
        ("interval: 60", "interval: 060", "    write 60 or 48\n"),
        # The path may be in another repository.
        (
            'web.git", path: deploy',
            'web.git", path: ../deploy',
            "    write path: deploy, relative to the root",
        ),
        # goTemplate: true would break the tag beside it.
        (
            GO_TEMPLATE,
            GO_TEMPLATE.replace(SWITCH, "").replace(
                "web-{{.clusterName}}", "{{name}}-{{.clusterName}}"
            ),
            (
                "{{.clusterName}} is a Go template, and goTemplate is not set: Argo CD leaves"
                " it as it is\n"
            ),
        ),
        # The pace may be what is missing.
        (
            "scores: [{scorer: cpu}]",
            "scores: [{scorer: cpu, demand: 5}]",
            "DSF350: demand has no effect: gitops-dsf.yaml has no spec.pace\n",
        ),
        # The scorer may be meant to run on the hub.
        (
            "host: http://prom:9090",
            "clusterLabel: {name: cluster}, host: http://prom:9090",
            "DSF152: clusterLabel has no effect on a scorer that runs on the spokes\n",
        ),
    ],
)
def test_what_has_two_meanings_is_left_to_its_author(
    tmp_path: Path, right: str, wrong: str, finding: str
) -> None:
    write(tmp_path, right, wrong)
    before = {name: (tmp_path / name).read_text("utf-8") for name in FILES}
    after = gitops_dsf("validate", "--fix", cwd=tmp_path)
    assert finding in after.stdout
    assert {name: (tmp_path / name).read_text("utf-8") for name in FILES} == before


def write(folder: Path, right: str, wrong: str) -> None:
    """Writes the fleet with one mistake."""
    assert sum(text.count(right) for text in FILES.values()) == 1
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace(right, wrong), "utf-8")
