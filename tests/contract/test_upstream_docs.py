"""docs/reference/upstream.md against the code.

A manifest that is valid upstream is accepted, but for the table of what is refused, and each row is
true.
"""

import re
from pathlib import Path

import pytest

from gitops_dsf.diagnostics import Severity
from gitops_dsf.pipeline import CheckResult, check_declared
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve.scorer import EffectiveScorer

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: fleet}
spec: {git: {url: "https://git.example.com/fleet.git"}, agent: {image: r/a}, reconciler: {image: r/r}}
"""  # noqa: E501
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1}
"""
SCORER = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  configURL: http://api.svc:8000/config
  configSyncMode: None
  location: Internal
  scoreDestination: AddOnPlacementScore
  source:
    type: Prometheus
    host: http://prom:9090
    path: /api/v1/query_range
    params: {query: up, range: 3600, step: 60}
  scoring:
    path: /scoring
    params: {name: cpu, interval: 30}
"""
MASKS = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScoringConfig
metadata: {name: dynamic-scoring-config}
spec: {masks: [{clusterName: CLUSTER, scoreName: SCORE}]}
"""
LOCK = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: cpu}
spec: {configURL: "http://api.svc:8000/config", config: {source: {host: "http://elsewhere:9090"}}}
"""


def changed(old: str, new: str, text: str = SCORER) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


def judged(scorers: str, **others: str) -> CheckResult:
    texts = {"gitops-dsf.yaml": SETTINGS, "clusters/c.yaml": CLUSTER, "scorers/s.yaml": scorers}
    texts |= {f"{folder}/x.yaml": text for folder, text in others.items()}
    parts = [load_text(text, file=file) for file, text in texts.items()]
    documents = tuple(item for part in parts for item in part.documents)
    return check_declared(declare(Loaded(documents=documents, diagnostics=())))


def accepted(scorers: str) -> tuple[EffectiveScorer, list[str]]:
    result = judged(scorers)
    assert result.fleet is not None, result.diagnostics
    return result.fleet.scorers[0], [finding.code for finding in result.diagnostics]


def test_the_whole_manifest_is_accepted() -> None:
    assert accepted(SCORER)[1] == []


def test_an_omitted_source_host_is_the_origin_of_config_url() -> None:
    found, codes = accepted(changed("    host: http://prom:9090\n", ""))
    assert (found.source_origin, found.source_endpoint) == (
        "http://api.svc:8000",
        "http://api.svc:8000/api/v1/query_range",
    )
    assert codes == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("path: /scoring", "path: scoring"),
        ("path: /api/v1/query_range", "path: api/v1/query_range"),
    ],
)
def test_a_path_without_its_leading_slash_is_the_same_path(old: str, new: str) -> None:
    found, codes = accepted(changed(old, new))
    assert (found.scoring_endpoint, found.source_endpoint) == (
        "http://api.svc:8000/scoring",
        "http://prom:9090/api/v1/query_range",
    )
    assert (found.scoring_path, found.source_path, codes) == ("/scoring", "/api/v1/query_range", [])


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("MetricsQL", "up default 0"),
        ("MetricsQL", "sum(rate(up)) keep_metric_names; up"),
        ("MetricsQL", "range_first(up)"),
        ("MetricsQL", "up"),
        ("Other", 'sum(rate({app="a"} |= "x;y" [5m]))'),
        ("Other", "up"),
    ],
)
def test_queries_of_other_languages_are_passed_on(dialect: str, query: str) -> None:
    """Nothing is said of placeholders either: who cannot read a query does not know its labels."""
    text = changed(
        "    params: {query: up,", f"    dialect: {dialect}\n    params: {{query: '{query}',"
    )
    found, codes = accepted(text + "  scoreDimensionFormat: ${node}\n")
    assert (found.spec.source.params.query, codes) == (query, [])


def test_defaults_where_upstream_leaves_a_scorer_out() -> None:
    bare = changed("  location: Internal\n  scoreDestination: AddOnPlacementScore\n", "").replace(
        "    type: Prometheus\n", ""
    )
    found, codes = accepted(bare.replace("range: 3600", "range: 0"))
    assert (found.spec.location, found.spec.score_destination, found.source_type) == (
        "Internal",
        "AddOnPlacementScore",
        "Prometheus",
    )
    assert codes == []


TOKEN = "    auth: {tokenSecretRef: {name: t, key: token}}\n"
FULL = changed("configSyncMode: None", "configSyncMode: Full")
HOST = "    host: http://prom:9090\n"
AGENTS = TOKEN.replace("name: t,", "name: gitops-dsf-agent-hub-kubeconfig,")
REFUSED: list[tuple[str, dict[str, str]]] = [
    ("DSF116", {"scorers": changed(HOST, TOKEN, FULL), "locks": LOCK}),
    ("DSF117", {"scorers": FULL, "locks": LOCK}),
    (
        "DSF201",
        {"scorers": SCORER, "config": MASKS.replace("CLUSTER", "c2").replace("SCORE", "cpu")},
    ),
    (
        "DSF202",
        {"scorers": SCORER, "config": MASKS.replace("CLUSTER", "c1").replace("SCORE", "gpu")},
    ),
    (
        "DSF101",
        {"scorers": f"{SCORER}---\n{changed('metadata: {name: cpu}', 'metadata: {name: other}')}"},
    ),
    ("DSF112", {"scorers": SCORER + "  scoreDimensionFormat: ${zone}\n"}),
    *(
        (code, {"scorers": changed(old, new)})
        for code, old, new in (
            ("DSF127", HOST, "    host: http://prom.example.com\n" + TOKEN),
            ("DSF126", "    path: /scoring\n", AGENTS),
            ("DSF131", "host: http://prom:9090", "host: http://169.254.169.254"),
            (
                "DSF024",
                "{name: cpu}\nspec",
                "{name: cpu, annotations: {argocd.argoproj.io/hook: Sync}}\nspec",
            ),
            ("DSF109", "query: up", "query: up default 0"),
            ("DSF013", "  location:", "  locale: de\n  location:"),
            ("DSF106", "query: up, ", ""),
            ("DSF107", "interval: 30", "interval: 0"),
            ("DSF107", "step: 60", "step: -60"),
            ("DSF108", "range: 3600", "range: 3600000"),
            ("DSF103", "host: http://prom:9090", "host: 'http://${PROM}:9090'"),
            ("DSF104", "host: http://prom:9090", "host: http://me:secret@prom:9090"),
            ("DSF012", "v1alpha1", "v1"),
        )
    ),
]


@pytest.mark.parametrize(("code", "texts"), REFUSED)
def test_what_is_valid_upstream_and_refused_here(code: str, texts: dict[str, str]) -> None:
    errors = [item for item in judged(**texts).diagnostics if item.severity is Severity.ERROR]
    assert {item.code for item in errors} == {code}
    assert all(item.hint for item in errors), "each has a way out"


def test_the_table_lists_what_is_refused_and_nothing_else() -> None:
    text = (DOCS / "reference/upstream.md").read_text(encoding="utf-8")
    section = text[
        text.index("## What is valid upstream and refused here") : text.index("## Migrating")
    ]
    rows = re.findall(r"^\|.*\| (DSF\d{3}) \|$", section, re.MULTILINE)
    assert sorted(rows) == sorted({code for code, _ in REFUSED})
