"""MetricSources: which variant a cluster uses, and what rules say about scorers and variants.

Aspects covered: the first matching variant counts; findings and their places; rules about hosts, tokens and
paths hold for variants; a rule about the source looks at each variant that is in use; mistakes elsewhere keep
rules about absence silent.
"""

from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.pipeline import Rendered
from gitops_dsf.resolve.types import Resolved
from tests.support.rendering import metric_source, produced, scorer

OPENSHIFT = {"matchLabels": {"vendor": "OpenShift"}}
PARAMS = {"query": "up", "range": 60, "step": 15}
HOST = "http://prometheus.monitoring.svc:9090"
THANOS = "https://thanos-querier.openshift-monitoring.svc:9091"


def cluster(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels},
    }


def fleet(root: Path, *documents: dict[str, Any], **settings: Any) -> Rendered:
    inventory = [
        cluster("metal"),
        cluster("shift-1", vendor="OpenShift"),
        cluster("shift-2", vendor="OpenShift"),
    ]
    return produced(root, *inventory, *documents, clusters=0, **settings)


def asking(name: str = "cpu", **spec: Any) -> dict[str, Any]:
    return scorer(name, source={"ref": "platform", "params": PARAMS}, **spec)


def found(result: Rendered) -> list[tuple[str, str]]:
    return [(item.code, item.message) for item in result.diagnostics]


def resolved(result: Rendered) -> Resolved:
    assert result.resolved is not None, result.diagnostics
    return result.resolved


def by_code(result: Rendered, code: str) -> list[Diagnostic]:
    return [item for item in result.diagnostics if item.code == code]


def test_a_cluster_uses_the_first_variant_that_selects_it(tmp_path: Path) -> None:
    variants = [
        {"clusterSelector": OPENSHIFT, "host": THANOS},
        {
            "clusterSelector": {"matchLabels": {"vendor": "OpenShift", "size": "big"}},
            "host": "http://never.svc",
        },
        {"host": HOST, "path": "api/v1/query_range"},
    ]
    result = resolved(fleet(tmp_path, asking(), metric_source("platform", *variants)))
    (cpu,) = result.scorers
    endpoints = {name: result.on_cluster(cpu, name).source_endpoint for name in result.targets}
    assert endpoints == {
        "metal": f"{HOST}/api/v1/query_range",
        "shift-1": f"{THANOS}/api/v1/query_range",
        "shift-2": f"{THANOS}/api/v1/query_range",
    }


def test_a_lock_does_not_say_where_the_source_of_a_reference_is(tmp_path: Path) -> None:
    config = "http://api.svc:8000/config"
    lock = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "ScorerLock",
        "metadata": {"name": "cpu"},
        "spec": {
            "configURL": config,
            "config": {
                "source": {
                    "type": "None",
                    "host": "http://other.example.com",
                    "path": "/other",
                    "params": PARAMS,
                },
                "scoring": {"params": {"name": "cpu", "interval": 60}},
            },
        },
    }
    full = scorer("cpu", configURL=config, configSyncMode="Full", source={"ref": "platform"}, scoring={})
    result = fleet(tmp_path, full, lock, metric_source("platform", {"host": HOST}))
    assert found(result) == []
    summary = result.plan.works[0].configuration.summaries[0] if result.plan else None
    assert summary is not None
    assert (summary.source_endpoint, summary.source_query) == (f"{HOST}/api/v1/query_range", "up")


def test_an_unknown_source_is_named_with_the_closest_one(tmp_path: Path) -> None:
    result = fleet(tmp_path, asking(), metric_source("platfrom", {"host": HOST}))
    assert found(result) == [("DSF137", "there is no MetricSource platform")]
    assert result.diagnostics[0].hint == "did you mean platfrom?"


def test_without_any_source_the_hint_says_where_to_write_one(tmp_path: Path) -> None:
    (finding,) = fleet(tmp_path, asking()).diagnostics
    assert (finding.code, finding.hint) == ("DSF137", "write it into config/, or write source.host")


@pytest.mark.parametrize("field", ["type", "host", "path", "auth"])
def test_what_the_source_says_is_a_finding_beside_the_reference(tmp_path: Path, field: str) -> None:
    values = {"type": "Prometheus", "host": HOST, "path": "/x", "auth": {"serviceAccountToken": True}}
    item = scorer("cpu", source={"ref": "platform", "params": PARAMS, field: values[field]})
    result = fleet(tmp_path, item, metric_source("platform", {"host": HOST}))
    assert found(result) == [
        ("DSF138", f"source.{field} has no effect beside source.ref: MetricSource platform says it")
    ]


def test_clusters_without_a_variant_are_named_up_to_a_limit(tmp_path: Path) -> None:
    source = metric_source("platform", {"clusterSelector": OPENSHIFT, "host": THANOS})
    result = fleet(tmp_path / "one", asking(), source)
    assert [message for _, message in found(result)] == [
        "cpu runs on metal, and MetricSource platform has no variant for this cluster"
    ]
    many = [cluster(f"edge-{number}") for number in range(9)]
    (finding,) = fleet(tmp_path / "many", asking(), source, *many).diagnostics
    assert finding.code == "DSF139"
    assert "edge-0, edge-1, edge-2, edge-3, edge-4 and 5 more" in finding.message


@pytest.mark.parametrize(
    "spec", [{"clusterSelector": OPENSHIFT}, {"suspend": True}], ids=["not-selected", "suspended"]
)
def test_clusters_where_the_scorer_does_not_run_need_no_variant(tmp_path: Path, spec: dict[str, Any]) -> None:
    source = metric_source("platform", {"clusterSelector": OPENSHIFT, "host": THANOS})
    assert found(fleet(tmp_path, asking(**spec), source)) == []


def test_an_unused_source_is_reported_unless_a_name_is_misspelt(tmp_path: Path) -> None:
    spare = metric_source("spare", {"host": HOST})
    assert found(fleet(tmp_path / "a", scorer("cpu"), spare)) == [
        ("DSF140", "no scorer names MetricSource spare")
    ]
    assert [code for code, _ in found(fleet(tmp_path / "b", asking(), spare))] == ["DSF137"]


def test_variants_that_are_never_used_are_reported(tmp_path: Path) -> None:
    selected = {"clusterSelector": OPENSHIFT, "host": THANOS}
    again = {"clusterSelector": OPENSHIFT, "host": HOST}
    empty = {"clusterSelector": {}, "host": HOST}
    result = fleet(tmp_path, asking(), metric_source("platform", selected, again, empty, {"host": THANOS}))
    assert found(result) == [
        ("DSF141", "variants[1] is never used: variants[0] has the same clusterSelector and comes first"),
        ("DSF141", "variants[3] is never used: variants[2] selects every cluster and comes first"),
    ]


@pytest.mark.parametrize(
    ("variant", "code", "message"),
    [
        (
            {"host": "prometheus:9090"},
            "DSF103",
            "variants[0].host: prometheus:9090 is not an http or https URL",
        ),
        ({"host": HOST, "path": "/a?b"}, "DSF103", "variants[0].path: /a?b is not a path"),
        ({"host": "http://user:pw@p.svc"}, "DSF104", "variants[0].host contains credentials"),
        ({"host": "http://169.254.169.254"}, "DSF131", "169.254.169.254 is a link-local address"),
        (
            {"host": "http://p.example.com", "auth": {"tokenSecretRef": {"name": "t", "key": "k"}}},
            "DSF127",
            "variants[0].auth sends the token in Secret t to http://p.example.com",
        ),
        (
            {"host": "https://p.example.com", "auth": {"serviceAccountToken": True}},
            "DSF128",
            "variants[0].auth sends the token of the agent's pod",
        ),
        (
            {"host": "https://p.example.com", "auth": {"tokenSecretRef": {"name": "t", "key": "k"}}},
            "DSF129",
            "variants[0].auth sends the token in Secret t to https://p.example.com",
        ),
        (
            {"host": HOST, "auth": {"tokenSecretRef": {"name": "x-hub-kubeconfig", "key": "k"}}},
            "DSF126",
            "variants[0].auth: Secret x-hub-kubeconfig holds credentials for the hub",
        ),
        (
            {"host": HOST, "clusterSelector": {"matchLabels": {"a b": "c"}}},
            "DSF206",
            "a b is not a label key",
        ),
    ],
)
def test_the_rules_about_hosts_tokens_and_selectors_hold_for_variants(
    tmp_path: Path, variant: dict[str, Any], code: str, message: str
) -> None:
    result = fleet(tmp_path, asking(), metric_source("platform", variant))
    (finding,) = by_code(result, code)
    assert finding.message.startswith(message)
    assert "MetricSource" in (tmp_path / finding.position.file).read_text()


def test_a_host_of_a_variant_may_get_tokens_when_the_settings_allow_it(tmp_path: Path) -> None:
    variant = {"host": "https://p.example.com", "auth": {"tokenSecretRef": {"name": "t", "key": "k"}}}
    result = fleet(
        tmp_path, asking(), metric_source("platform", variant), allowedTokenHosts=["p.example.com"]
    )
    assert found(result) == []


def test_one_secret_may_go_to_the_hosts_of_different_variants_and_to_no_other_host(tmp_path: Path) -> None:
    """A cluster uses one variant, so the Secrets of one name are different Secrets."""
    auth = {"tokenSecretRef": {"name": "t", "key": "k"}}
    platform = metric_source(
        "platform", {"clusterSelector": OPENSHIFT, "host": THANOS, "auth": auth}, {"host": HOST, "auth": auth}
    )
    assert found(fleet(tmp_path / "variants", asking(), platform)) == []
    inline = {"host": "http://other.svc", "params": PARAMS, "auth": auth}
    result = fleet(tmp_path / "scorer", asking(), scorer("mem", source=inline), platform)
    assert [message for code, message in found(result) if code == "DSF130"] == [
        "Secret t goes to thanos-querier.openshift-monitoring.svc, and to other.svc as well (mem, source)",
        "Secret t goes to prometheus.monitoring.svc, and to other.svc as well (mem, source)",
    ]


def test_a_scorer_must_be_complete_with_each_variant_that_it_uses(tmp_path: Path) -> None:
    """An instant query needs no step."""
    item = scorer("cpu", source={"ref": "platform", "params": {"query": "up"}})
    instant = {"host": HOST, "path": "/api/v1/query"}
    ranged = {"clusterSelector": OPENSHIFT, "host": THANOS}
    assert found(fleet(tmp_path / "a", item, metric_source("platform", instant))) == []
    result = fleet(tmp_path / "b", item, metric_source("platform", ranged, instant))
    assert [code for code, _ in found(result)] == ["DSF106"]
    narrow = scorer(
        "cpu",
        source={"ref": "platform", "params": {"query": "up"}},
        clusterSelector={"matchExpressions": [{"key": "vendor", "operator": "DoesNotExist"}]},
    )
    assert found(fleet(tmp_path / "c", narrow, metric_source("platform", ranged, instant))) == []


def test_a_scorer_without_a_lock_waits_whatever_its_source_is(tmp_path: Path) -> None:
    full = scorer("cpu", configSyncMode="Full", source={"ref": "platform"}, scoring={})
    result = fleet(tmp_path, full, metric_source("platform", {"host": HOST}))
    [waiting] = result.diagnostics
    assert waiting.code == "DSF114"
    assert "spec.source.params.query, spec.source.params.step" in waiting.message


def test_a_malformed_source_is_reported_once(tmp_path: Path) -> None:
    broken = metric_source("platform", {"host": HOST, "hots": "x"})
    assert [code for code, _ in found(fleet(tmp_path, asking(), broken))] == ["DSF013"]


def test_a_source_needs_a_host_and_a_variant(tmp_path: Path) -> None:
    assert [code for code, _ in found(fleet(tmp_path / "a", asking(), metric_source("platform", {})))] == [
        "DSF016"
    ]
    assert [code for code, _ in found(fleet(tmp_path / "b", asking(), metric_source("platform")))] == [
        "DSF016"
    ]


def test_the_upstream_controller_knows_no_sources(tmp_path: Path) -> None:
    result = fleet(
        tmp_path, asking(), metric_source("platform", {"host": HOST}), delivery={"mode": "UpstreamController"}
    )
    assert ("DSF022", "ref has no effect with delivery.mode UpstreamController") in found(result)


BASIC = {"secretRef": {"name": "b"}}
CERTIFICATE = {"secretRef": {"name": "c"}}
HEADER = {"name": "X-Api-Key", "secretRef": {"name": "h", "key": "k"}}
OUTSIDE = "https://p.example.com"


@pytest.mark.parametrize(
    ("header", "code", "message"),
    [
        ({"name": "Host", "value": "x"}, "DSF142", "the agent sets the header Host itself"),
        ({"name": "authorization", "value": "x"}, "DSF142", "the agent sets the header authorization itself"),
        ({"name": "TE", "value": "x"}, "DSF142", "the header TE concerns a single connection"),
        (
            {"name": "Proxy-Authorization", "secretRef": {"name": "h", "key": "k"}},
            "DSF142",
            "the header Proxy-Authorization concerns a single connection",
        ),
        ({"name": "X Org", "value": "x"}, "DSF142", "'X Org' is not the name of a header"),
        ({"name": "X-Org", "value": ""}, "DSF142", "the header X-Org: the value is empty"),
        ({"name": "X-Org", "value": "a\nB: c"}, "DSF142", "the header X-Org: the value has a line break"),
        (
            {"name": "X-Org", "value": "ä"},
            "DSF142",
            "the header X-Org: the value has a line break or another",
        ),
        (
            {"name": "X-Api-Key", "value": "x"},
            "DSF105",
            "spec.variants[0].headers[0].value looks like a secret: X-Api-Key is a header of credentials",
        ),
        ({"name": "X-Auth-Token", "value": "x"}, "DSF105", "spec.variants[0].headers[0].value looks like"),
        ({"name": "Cookie", "value": "x"}, "DSF105", "spec.variants[0].headers[0].value looks like a secret"),
        (
            {"name": "X-Org", "value": "Bearer abcdefgh"},
            "DSF105",
            "spec.variants[0].headers[0].value looks like a secret",
        ),
    ],
)
def test_headers_that_cannot_be_sent_or_hold_a_secret_are_findings(
    tmp_path: Path, header: dict[str, Any], code: str, message: str
) -> None:
    result = fleet(tmp_path, asking(), metric_source("platform", {"host": HOST, "headers": [header]}))
    (finding,) = result.diagnostics
    assert finding.code == code
    assert finding.message.startswith(message)
    assert finding.hint


def test_a_header_is_written_once(tmp_path: Path) -> None:
    headers = [{"name": "X-Org", "value": "a"}, {"name": "x-org", "value": "b"}]
    result = fleet(tmp_path, asking(), metric_source("platform", {"host": HOST, "headers": headers}))
    assert found(result) == [("DSF142", "the header x-org is written twice")]


@pytest.mark.parametrize(
    ("more", "sends"),
    [
        ({"basicAuth": BASIC}, "variants[0].basicAuth sends the password in Secret b to"),
        (
            {"clientCertificate": CERTIFICATE},
            "variants[0].clientCertificate sends the client certificate in Secret c to",
        ),
        ({"headers": [HEADER]}, "variants[0].headers[0] sends the header in Secret h to"),
    ],
    ids=["password", "certificate", "header"],
)
def test_every_credential_needs_an_allowed_host(tmp_path: Path, more: dict[str, Any], sends: str) -> None:
    source = metric_source("platform", {"host": OUTSIDE, **more})
    result = fleet(tmp_path / "a", asking(), source)
    assert found(result) == [
        ("DSF129", f"{sends} {OUTSIDE}, a host outside of the cluster that is not allowed")
    ]
    assert found(fleet(tmp_path / "b", asking(), source, allowedTokenHosts=["*.example.com"])) == []


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"basicAuth": BASIC}, "DSF127"),
        ({"headers": [HEADER]}, "DSF127"),
        ({"clientCertificate": CERTIFICATE}, "DSF143"),
    ],
)
def test_no_credential_is_sent_in_clear_outside_of_the_cluster(
    tmp_path: Path, more: dict[str, Any], code: str
) -> None:
    source = metric_source("platform", {"host": "http://p.example.com", **more})
    assert [item for item, _ in found(fleet(tmp_path, asking(), source))] == [code]


def test_reserved_secrets_are_no_credentials_of_a_source(tmp_path: Path) -> None:
    name = {"name": "gitops-dsf-agent-hub-kubeconfig"}
    variant = {
        "host": "https://thanos.svc",
        "basicAuth": {"secretRef": name},
        "clientCertificate": {"secretRef": name},
        "headers": [{"name": "X-Api-Key", "secretRef": {**name, "key": "k"}}],
    }
    result = fleet(tmp_path, asking(), metric_source("platform", variant))
    assert {(item.code, item.message.partition(":")[0]) for item in result.diagnostics} == {
        ("DSF126", "variants[0].basicAuth"),
        ("DSF126", "variants[0].clientCertificate"),
        ("DSF126", "variants[0].headers[0]"),
    }


def test_a_password_of_two_hosts_is_reported_and_a_certificate_is_not(tmp_path: Path) -> None:
    """The private key of a certificate stays with the agent."""
    first = {"host": "https://a.svc", "basicAuth": BASIC, "clientCertificate": CERTIFICATE}
    second = {"host": "https://b.svc", "basicAuth": BASIC, "clientCertificate": CERTIFICATE}
    one, other = metric_source("one", first), metric_source("other", second)
    scorers = [scorer(name, source={"ref": name, "params": PARAMS}) for name in ("one", "other")]
    assert found(fleet(tmp_path, *scorers, one, other)) == [
        ("DSF130", "Secret b goes to b.svc, and to a.svc as well (MetricSource one, variants[0])")
    ]


def test_a_token_and_a_password_are_two_credentials_for_one_header(tmp_path: Path) -> None:
    variant = {"host": HOST, "auth": {"serviceAccountToken": True}, "basicAuth": BASIC}
    assert [code for code, _ in found(fleet(tmp_path, asking(), metric_source("platform", variant)))] == [
        "DSF016"
    ]


@pytest.mark.parametrize(("kind", "code"), [("Kubernetes", "DSF146"), ("OpenTelemetry", "DSF155")])
@pytest.mark.parametrize(
    "more",
    [
        {"basicAuth": BASIC},
        {"clientCertificate": CERTIFICATE},
        {"headers": [{"name": "X-Org", "value": "a"}]},
    ],
    ids=["password", "certificate", "header"],
)
def test_a_source_in_the_agents_own_cluster_takes_no_credentials(
    tmp_path: Path, kind: str, code: str, more: dict[str, Any]
) -> None:
    result = fleet(tmp_path, asking(), metric_source("platform", {"type": kind, **more}))
    (finding,) = by_code(result, code)
    assert finding.message.startswith(f"{next(iter(more))} has no effect")
