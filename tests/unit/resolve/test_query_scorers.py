"""Scorers without a scoring API: what their rules report and where, and their effective values."""

import pytest

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.scorer import EffectiveScorer
from tests.unit.resolve.test_rules import BASE, findings

SCORER = """\
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu}
spec:
  description: d
  source: {host: "http://prom.svc:9090", params: {query: avg(up)}}
  scoring: {type: Query, params: {name: cpu_score, interval: 60}}
  scoreRange: {min: 0, max: 1}
"""


def changed(old: str = "", new: str = "", *, more: str = "") -> str:
    assert old in SCORER
    return SCORER.replace(old, new, 1) + more


def effective(text: str = SCORER) -> EffectiveScorer:
    documents = load_text(text, file="scorers/s.yaml")
    declared = declare(Loaded(documents=documents.documents, diagnostics=documents.diagnostics))
    assert not declared.diagnostics
    return context_of(declared).scorers["cpu"]


def told(found: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(item.code, f"{item.position.line}:{item.position.column}") for item in found]


def test_one_file_is_a_scorer() -> None:
    assert findings(scorers=SCORER) == []
    found = effective()
    assert found.source_endpoint == "http://prom.svc:9090/api/v1/query"
    assert (found.scoring_type, found.scoring_endpoint, found.scoring_origin) == ("Query", "", "")
    assert (found.source_type, found.range, found.step) == ("Prometheus", 0, 0)


@pytest.mark.parametrize(
    ("source", "endpoint"),
    [
        ('host: "http://p:1"', "http://p:1/api/v1/query"),
        ('host: "http://p:1", path: /api/v1/query_range', "http://p:1/api/v1/query"),
        ('host: "http://p:1", path: prom/api/v1/query_range', "http://p:1/prom/api/v1/query"),
        ('host: "http://p:1/prom/api/v1/query_range"', "http://p:1/prom/api/v1/query"),
        ('host: "http://p:1/prom/api/v1/query"', "http://p:1/prom/api/v1/query"),
        ('host: "http://p:1", path: /instant', "http://p:1/instant"),
    ],
)
def test_the_instant_query_beside_a_range_query_is_asked(source: str, endpoint: str) -> None:
    assert effective(changed('host: "http://prom.svc:9090"', source)).source_endpoint == endpoint


API_FIELDS = [
    ("scoring: {type: Query,", "scoring: {type: Query, host: 'http://a',", "7:26", "scoring.host"),
    ("scoring: {type: Query,", "scoring: {type: Query, path: /s,", "7:26", "scoring.path"),
    (
        "scoring: {type: Query,",
        "scoring: {type: Query, auth: {serviceAccountToken: true},",
        "7:26",
        "scoring.auth",
    ),
    ("scoring: {type: Query,", "scoring: {type: Query, arguments: {a: 1},", "7:26", "scoring.arguments"),
    ("  description: d", "  configURL: http://a/config\n  description: d", "5:3", "configURL"),
    ("  description: d", "  configSyncMode: Full\n  description: d", "5:3", "configSyncMode is Full"),
    ("query: avg(up)", "query: avg(up), range: 60", "6:67", "range"),
    ("query: avg(up)", "query: avg(up), step: 60", "6:67", "step"),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), API_FIELDS)
def test_fields_of_a_scoring_api(old: str, new: str, place: str, words: str) -> None:
    [item] = findings(scorers=changed(old, new))
    assert told([item]) == [("DSF132", place)]
    assert words in item.message
    assert item.hint.startswith("remove it")


def test_zeros_and_empty_texts_of_a_rendered_scorer_are_no_findings() -> None:
    """`import` reads what the hub has, with every default written out."""
    text = changed("query: avg(up)", "query: avg(up), range: 0, step: 0", more="  configSyncMode: None\n")
    assert findings(scorers=text) == []


@pytest.mark.parametrize("kind", ["", "type: API, "])
def test_a_scoring_api_still_needs_its_page(kind: str) -> None:
    """Both fields are reported, with the words of a missing field."""
    found = findings(scorers=changed("type: Query, ", kind))
    assert {(item.code, item.message) for item in found} == {
        ("DSF014", "spec.configURL is missing"),
        ("DSF014", "spec.configSyncMode is missing"),
    }
    assert "add configSyncMode: Full or None" in {item.hint for item in found}


def test_a_wrong_type_is_one_finding() -> None:
    found = findings(scorers=changed("type: Query", "type: query"))
    assert told(found) == [("DSF016", "7:19")]
    assert "write API or Query" in found[0].hint


def test_a_missing_host_is_not_taken_from_a_page() -> None:
    [item] = findings(scorers=changed('host: "http://prom.svc:9090", ', ""))
    assert (item.code, item.message) == (
        "DSF106",
        "spec.source.host is missing, and without it the scorer cannot run",
    )
    assert "http://prometheus.monitoring.svc:9090" in item.hint


def test_a_missing_query() -> None:
    [item] = findings(scorers=changed("params: {query: avg(up)}", "path: /api/v1/query"))
    assert (item.code, item.message.split(",")[0]) == ("DSF106", "spec.source.params.query is missing")


def test_without_a_source_there_is_nothing_to_score() -> None:
    found = findings(scorers=changed('host: "http://prom.svc:9090", params: {query: avg(up)}', "type: None"))
    assert "DSF133" in [item.code for item in found]


@pytest.mark.parametrize(
    ("template", "codes"),
    [("${node}", []), ("${pod}", ["DSF135"]), ("${meta}", ["DSF135"]), ("${cluster}", [])],
)
def test_labels_that_the_query_drops(template: str, codes: list[str]) -> None:
    text = changed("avg(up)", "avg by (node) (up)", more=f"  scoreDimensionFormat: '{template}'\n")
    text += "  scoreAggregation: Mean\n"
    assert [item.code for item in findings(scorers=text)] == codes


@pytest.mark.parametrize(
    ("query", "more", "severity"),
    [
        ("avg(up)", "", None),
        ("vector(1)", "", None),
        ("100 * (1 - avg(up))", "", None),
        ("up", "", Severity.NOTICE),
        ("rate(up[5m])", "", Severity.NOTICE),
        ("sum by (node) (up)", "", Severity.WARNING),
        ("topk(1, sum by (node) (up))", "", Severity.WARNING),
        ("sum by (node) (up)", "  scoreAggregation: Last\n", None),
        ("sum by (node) (up)", "  scoreDimensionFormat: '${node}'\n", None),
        ("sum by (node, pod) (up)", "  scoreDimensionFormat: '${node}'\n", Severity.WARNING),
        ("sum without (node) (up)", "  scoreDimensionFormat: '${pod}'\n", Severity.NOTICE),
        ("avg(up); avg(down)", "", Severity.WARNING),
        ("sum by (node) (up); sum by (node) (down)", "  scoreDimensionFormat: '${node}'\n", None),
    ],
)
def test_several_series_for_one_item(query: str, more: str, severity: Severity | None) -> None:
    found = findings(scorers=changed("query: avg(up)", f"query: '{query}'", more=more))
    assert [(item.code, item.severity) for item in found] == ([("DSF136", severity)] if severity else [])


@pytest.mark.parametrize(
    ("query", "template", "codes"),
    [
        ("cpu_available_ratio", "${scoreName}", []),
        ("node_cpu_available_ratio", "${scoreName}", ["DSF136"]),
        ("node_cpu_available_ratio", "${node}", []),
        ("cpu_available_ratio; memory_available_ratio", "${scoreName}", ["DSF136"]),
        ("extended_available", "${scoreName}", ["DSF136"]),
        ('extended_available{resource="nvidia.com/gpu"}', "${scoreName}", []),
    ],
)
def test_several_measures_for_one_item(query: str, template: str, codes: list[str]) -> None:
    text = changed(
        'host: "http://prom.svc:9090", params: {query: avg(up)}',
        f"type: Kubernetes, params: {{query: '{query}'}}",
        more=f"  scoreDimensionFormat: '{template}'\n",
    )
    found = findings(scorers=text)
    assert [item.code for item in found] == codes, found


@pytest.mark.parametrize("query", ["up[5m]", '"text"'])
def test_a_query_without_one_value_per_series(query: str) -> None:
    assert [item.code for item in findings(scorers=changed("query: avg(up)", f"query: '{query}'"))] == [
        "DSF111"
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("  scoreDimensionFormat: '${cluster};${node}'\n  defaultScore: 1\n", "${node}"),
        ("  scoreDestination: None\n  defaultScore: 1\n", "scoreDestination is None"),
    ],
)
def test_default_scores_that_cannot_be_published(more: str, words: str) -> None:
    found = findings(scorers=changed("avg(up)", "avg by (node) (up)", more=more))
    assert [item.code for item in found] == ["DSF134"]
    assert words in found[0].message


def test_a_default_score_of_a_scorer_without_a_source() -> None:
    text = f"{BASE['scorers/s.yaml']}  defaultScore: 1\n"
    assert [item.code for item in findings(scorers=text)] == ["DSF134"]


def test_a_default_score_of_a_scorer_whose_source_is_not_known_yet() -> None:
    """Its /config may name a query, so only the lock tells whether there is a source."""
    text = f"{BASE['scorers/s.yaml']}  defaultScore: 1\n".replace(
        "configSyncMode: None", "configSyncMode: Full"
    )
    text = text.replace("interval: 60", "interval: 0").replace(", interval: 0", "")
    assert [item.code for item in findings(scorers=text)] == ["DSF114"]


@pytest.mark.parametrize(("value", "code"), [("101", "DSF016"), ("-101", "DSF016"), ("1.5", "DSF015")])
def test_a_default_score_is_a_published_one(value: str, code: str) -> None:
    assert [item.code for item in findings(scorers=f"{SCORER}  defaultScore: {value}\n")] == [code]


def test_a_lock_of_a_scorer_by_query_is_not_read() -> None:
    lock = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScorerLock
metadata: {name: cpu}
spec: {configURL: "http://a/config", config: {scoring: {host: "http://evil", params: {interval: 5}}}}
"""
    [item] = findings(scorers=SCORER, locks=lock)
    assert (item.code, item.hint) == ("DSF118", "remove the file")


def test_upstreams_agent_cannot_run_it() -> None:
    settings = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {delivery: {mode: UpstreamController}, ")
    text = SCORER.replace("  scoreRange: {min: 0, max: 1}\n", "")
    [item] = findings(scorers=text, settings=settings)
    assert told([item]) == [("DSF022", "7:13")]
    assert "empty URL" in item.message
