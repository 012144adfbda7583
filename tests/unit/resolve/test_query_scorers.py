"""Scorers without a scoring API: their effective values."""

import pytest

from gitops_dsf.repository.load import Loaded, load_text
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve.context import context_of
from gitops_dsf.resolve.scorer import EffectiveScorer
from tests.support.repositories import findings

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


def effective(text: str = SCORER) -> EffectiveScorer:
    documents = load_text(text, file="scorers/s.yaml")
    declared = declare(Loaded(documents=documents.documents, diagnostics=documents.diagnostics))
    assert not declared.diagnostics
    return context_of(declared).scorers["cpu"]


def test_one_file_is_a_scorer() -> None:
    assert findings(scorers=SCORER) == []
    found = effective()
    assert found.source_endpoint == "http://prom.svc:9090/api/v1/query"
    assert (found.scoring_type, found.scoring_endpoint, found.scoring_origin) == ("Query", "", "")
    assert (found.source_type, found.spec.source.params.range, found.spec.source.params.step) == (
        "Prometheus",
        0,
        0,
    )


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
    assert effective(SCORER.replace('host: "http://prom.svc:9090"', source)).source_endpoint == endpoint
