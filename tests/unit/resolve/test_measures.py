"""Findings about sources of type Kubernetes, besides the examples of docs/reference/diagnostics.md."""

import pytest

from tests.unit.resolve.test_rules import BASE, codes, findings, scorer


def kubernetes(source: str, **settings: str) -> list[str]:
    text = scorer("  scoring: {", f"  source: {{type: Kubernetes, {source}}}\n  scoring: {{")
    return codes(scorers=text, **settings)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("params: {query: cpu_available_ratio}", []),
        ("params: {query: 'nodes; extended_available{resource=\"nvidia.com/gpu\"};'}", []),
        ("params: {query: cpu_available_ratio, range: 3600, step: 60}", ["DSF147"]),
        ("params: {query: cpu_available_ratio, step: 0}", []),
        ("params: {}", ["DSF106"]),
        ("params: {query: nodes, range: 3600}", ["DSF147"]),
        ("params: {query: nodes, range: 0, step: 0}", []),
        ("params: {query: ' ; '}", ["DSF145"]),
        ("params: {query: 'nodes; pod_pending; cpu'}", ["DSF145", "DSF145"]),
        ("path: /api, params: {query: nodes}", ["DSF146"]),
        ("auth: {serviceAccountToken: true}, params: {query: nodes}", ["DSF146"]),
        ("dialect: PromQL, params: {query: nodes}", ["DSF146"]),
        ("host: 'http://a.b.svc', dialect: Other, params: {query: nodes}", ["DSF146", "DSF146"]),
    ],
)
def test_a_source_of_type_kubernetes(source: str, expected: list[str]) -> None:
    assert kubernetes(source) == expected


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("cpu_availble_ratio", "there is no measure cpu_availble_ratio", "did you mean cpu_available_ratio?"),
        ("zzz", "there is no measure zzz", "write the name of a measure, such as cpu_available_ratio"),
        ("sum(nodes)", "there is no measure sum", "write measures only"),
        ("nodes > 2", "nodes is followed by > 2", "write measures only"),
    ],
)
def test_a_finding_says_what_to_write_instead(query: str, message: str, hint: str) -> None:
    text = scorer(
        "  scoring: {", f"  source: {{type: Kubernetes, params: {{query: {query!r}}}}}\n  scoring: {{"
    )
    (found,) = findings(scorers=text)
    assert message in found.message
    assert found.hint.startswith(hint)


def test_only_measures_of_nodes_fill_the_placeholder_for_nodes() -> None:
    def found(query: str, template: str) -> list[str]:
        text = scorer(
            "  scoring: {",
            f"  scoreDimensionFormat: ${{{template}}}\n"
            f"  source: {{type: Kubernetes, params: {{query: {query}}}}}\n  scoring: {{",
        )
        return codes(scorers=text)

    assert found("node_cpu_available_ratio", "node") == []
    assert found("cpu_available_ratio", "node") == ["DSF113"]
    assert found("node_cpu_available_ratio", "pod") == ["DSF113"]


def test_the_upstream_controller_cannot_run_it() -> None:
    settings = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {delivery: {mode: UpstreamController}, ")
    text = scorer("  scoring: {", "  source: {type: Kubernetes, params: {query: nodes}}\n  scoring: {")
    found = findings(settings=settings, scorers=text.replace("  scoreRange: {min: 0, max: 1}\n", ""))
    assert [item.code for item in found] == ["DSF123"]
    assert "does not know source type Kubernetes" in found[0].message


MIXED = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: MetricSource
metadata: {name: platform}
spec:
  variants:
    - clusterSelector: {matchLabels: {env: prod}}
      type: Kubernetes
    - clusterSelector: {matchLabels: {env: test}}
      type: Kubernetes
    - host: http://prometheus.monitoring.svc:9090
"""
FLEET = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: prod-1, labels: {env: prod}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: test-1, labels: {env: test}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: other-1, labels: {env: other}}
"""


def referring(query: str) -> str:
    return scorer(
        "  scoring: {",
        f"  source: {{ref: platform, params: {{query: {query!r}, range: 600, step: 60}}}}\n  scoring: {{",
    )


def test_one_query_serves_clusters_with_and_without_a_prometheus() -> None:
    assert codes(scorers=referring("cpu_available_ratio"), config=MIXED, clusters=FLEET) == []


def test_a_query_must_be_a_measure_where_a_variant_is_of_type_kubernetes() -> None:
    """It is reported once, however many variants there are."""
    assert codes(scorers=referring("sum(up)"), config=MIXED, clusters=FLEET) == ["DSF145"]


def test_a_variant_of_type_kubernetes_has_no_address() -> None:
    text = MIXED.replace(
        "      type: Kubernetes\n", "      type: Kubernetes\n      host: http://a.b.svc\n", 1
    )
    found = findings(scorers=referring("nodes"), config=text, clusters=FLEET)
    assert [(item.code, item.position.line) for item in found] == [("DSF146", 8)]
