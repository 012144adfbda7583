"""What is found about scorers whose metrics OpenTelemetry collectors push."""

import pytest

from tests.unit.resolve.test_rules import BASE, findings

RECEIVER = BASE["gitops-dsf.yaml"].replace(
    "agent: {", "agent: {openTelemetry: {image: prom:3.13, collectorNamespaces: [otel]}, "
)
UPSTREAM = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {delivery: {mode: UpstreamController}, ")


def asking(query: str = "k8s_pod_cpu_usage_ratio", more: str = "", step: int = 60) -> str:
    source = (
        f"source:\n    type: OpenTelemetry\n    params: {{query: '{query}', range: 60, step: {step}}}{more}"
    )
    return BASE["scorers/s.yaml"].replace("  scoring:", f"  {source}\n  scoring:")


def said(**changes: str) -> list[tuple[str, int, str, str]]:
    return [(item.code, item.position.line, item.message, item.hint) for item in findings(**changes)]


def test_with_a_receiver_nothing_is_missing() -> None:
    assert said(settings=RECEIVER, scorers=asking()) == []


def test_without_one_the_error_says_what_to_write() -> None:
    ((code, line, message, hint),) = said(scorers=asking())
    assert (code, line) == ("DSF154", 9)
    assert message == "no receiver for OpenTelemetry metrics runs beside the agent"
    assert "spec.agent.openTelemetry with image and collectorNamespaces" in hint


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("\n    host: http://prometheus.svc:9090", "host"),
        ("\n    path: /api/v1/query", "path"),
        ("\n    auth: {tokenSecretRef: {name: t, key: k}}", "auth"),
    ],
)
def test_an_address_is_refused(more: str, name: str) -> None:
    found = [item for item in said(settings=RECEIVER, scorers=asking(more=more)) if item[0] == "DSF155"]
    assert [(line, message.split()[0]) for _, line, message, _ in found] == [(11, name)]


def test_a_host_of_the_pod_itself_is_reported_for_the_scoring_api_only() -> None:
    """The source has no host. That one is written is reported in its own way (DSF155)."""
    text = asking(more="\n    host: http://127.0.0.1:9090").replace(
        "scoring: {", "scoring: {host: 'http://localhost:8000', "
    )
    assert [(code, line) for code, line, _, _ in said(settings=RECEIVER, scorers=text)] == [
        ("DSF155", 11),
        ("DSF166", 12),
    ]


SOURCE = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: MetricSource
metadata: {name: platform}
spec:
  variants:
  - clusterSelector: {matchLabels: {env: test}}
    host: http://prometheus.monitoring.svc:9090
  - type: OpenTelemetry
"""


def referring() -> str:
    source = "source: {ref: platform, params: {query: a, range: 60, step: 60}}"
    return BASE["scorers/s.yaml"].replace("  scoring:", f"  {source}\n  scoring:")


def test_a_variant_of_a_metric_source_needs_the_receiver_too() -> None:
    found = [item for item in said(scorers=referring(), config=SOURCE) if item[0] == "DSF154"]
    assert [line for _, line, _, _ in found] == [8]
    assert [item[0] for item in said(settings=RECEIVER, scorers=referring(), config=SOURCE)] == []


def test_a_variant_has_no_address_either() -> None:
    source = SOURCE.replace("- type: OpenTelemetry", "- type: OpenTelemetry\n    host: http://otel:4318")
    found = said(settings=RECEIVER, scorers=referring(), config=source)
    assert [(code, line) for code, line, _, _ in found if code == "DSF155"] == [("DSF155", 9)]


@pytest.mark.parametrize("dialect", ["MetricsQL", "Other"])
def test_the_receiver_reads_promql(dialect: str) -> None:
    found = said(settings=RECEIVER, scorers=asking(more=f"\n    dialect: {dialect}"))
    assert [(line, message) for code, line, message, _ in found if code == "DSF155"] == [
        (11, f"source.dialect is {dialect}, and the receiver is a Prometheus: it reads PromQL only")
    ]
    by_reference = referring().replace("params:", f"dialect: {dialect}, params:", 1)
    codes = [item[0] for item in said(settings=RECEIVER, scorers=by_reference, config=SOURCE)]
    assert codes.count("DSF155") == 1


def test_upstreams_add_on_has_no_receiver() -> None:
    scorers = asking().replace("  scoreRange: {min: 0, max: 1}\n", "")
    ((code, line, message, _),) = said(settings=UPSTREAM, scorers=scorers)
    assert (code, line) == ("DSF123", 9)
    assert message == "upstream's add-on runs no receiver for OpenTelemetry metrics"


@pytest.mark.parametrize("settings", [BASE["gitops-dsf.yaml"], RECEIVER])
def test_the_hub_scorer_has_no_receiver(settings: str) -> None:
    on_hub = asking().replace("  description: d", "  description: d\n  runsOn: Hub")
    found = [(code, line, message) for code, line, message, _ in said(settings=settings, scorers=on_hub)]
    message = "source.type OpenTelemetry gives no series of a central store, and this scorer runs on the hub"
    assert ("DSF152", 10, message) in found
    assert "DSF154" not in {code for code, _, _ in found}


def test_the_hint_translates_an_opentelemetry_name() -> None:
    ((code, _, _, hint),) = said(settings=RECEIVER, scorers=asking("sum(k8s.pod.cpu.usage)"))
    assert code == "DSF109"
    assert "write k8s_pod_cpu_usage, and for metrics the suffix" in hint


def test_the_name_at_the_mistake_is_translated() -> None:
    query = 'a{host="x.y"} + sum(k8s.pod.cpu.usage)'
    ((_, _, _, hint),) = said(settings=RECEIVER, scorers=asking(query))
    assert "write k8s_pod_cpu_usage, and for metrics the suffix" in hint


def test_promql_is_checked_as_for_any_prometheus() -> None:
    assert [item[0] for item in said(settings=RECEIVER, scorers=asking("rate(a)"))] == ["DSF109"]
    assert [item[0] for item in said(settings=RECEIVER, scorers=asking(step=0))] == ["DSF107"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("image: prom:3.13, ", "", "openTelemetry.image is missing"),
        ("collectorNamespaces: [otel]", "collectorNamespaces: []", "collectorNamespaces"),
        ("image: prom", "memory: 64Mi, image: prom", "64Mi of memory is too little for Prometheus"),
        ("image: prom", "storage: 100Mi, image: prom", "100Mi of storage is too little for Prometheus"),
        ("image: prom", "memory: 300M, image: prom", "memory"),
        ("image: prom", "resourceAttributes: [a, b, a], image: prom", "a is listed twice"),
        ("image: prom", "runAsUser: 0, image: prom", "runAsUser"),
    ],
)
def test_wrong_settings_are_found(old: str, new: str, words: str) -> None:
    found = said(settings=RECEIVER.replace(old, new), scorers=asking())
    assert any(words in f"{message} {hint}" for _, _, message, hint in found), found
