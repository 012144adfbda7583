"""Prometheus in agent mode that sends raw scores: where it runs, and what it may and may not do."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import fleets, yamlfast
from tests.support.rendering import objects, produced, rendered, scorer

Object = dict[str, Any]
IMAGE = "quay.io/prometheus/prometheus:v3.16.0"
URL = "https://prometheus.hub.example.com/api/v1/write"
ALLOWED = {"allowedTokenHosts": ["prometheus.hub.example.com"]}
TOKEN = {"tokenSecretRef": {"name": "hub-token", "key": "token"}}


def template(
    root: Path, *, name: str = "gitops-dsf-agent", more: Any = None, **writing: Any
) -> list[Object]:
    """The manifests of an AddOnTemplate."""
    settings = {"url": URL, "image": IMAGE, **writing}
    agent = {"remoteWrite": settings, **(more or {})}
    cluster = fleets.cluster("c1", store="yes")
    found = objects(rendered(root, scorer("cpu"), cluster, clusters=1, agent=agent, **ALLOWED))
    manifests: list[Object] = found[f"platform/addontemplate.{name}.yaml"]["spec"]["agentSpec"][
        "workload"
    ]["manifests"]
    return [item for item in manifests if "remote-write" in item["metadata"]["name"]]


def parts(manifests: list[Object]) -> tuple[Object, Object]:
    """The configuration of Prometheus, and its pod."""
    by_kind = {item["kind"]: item for item in manifests}
    loaded: Object = yamlfast.load(by_kind["ConfigMap"]["data"]["prometheus.yml"])
    pod: Object = by_kind["StatefulSet"]["spec"]["template"]["spec"]
    return loaded, pod


def test_only_raw_scores_leave_the_cluster(tmp_path: Path) -> None:
    configuration, pod = parts(template(tmp_path))
    kept = [{"source_labels": ["__name__"], "regex": "dynamic_score", "action": "keep"}]
    assert configuration == {
        "global": {"scrape_interval": "30s"},
        "scrape_configs": [
            {
                "job_name": "gitops-dsf-agent",
                "static_configs": [
                    {
                        "targets": ["gitops-dsf-agent.dynamic-scoring.svc:8080"],
                        "labels": {"cluster": "{{CLUSTER_NAME}}"},
                    }
                ],
                "metric_relabel_configs": kept,
            }
        ],
        "remote_write": [{"url": URL, "write_relabel_configs": kept}],
    }
    assert [volume["name"] for volume in pod["volumes"]] == ["config", "data"]
    assert pod["automountServiceAccountToken"] is False


def test_secrets_are_mounted_and_only_named(tmp_path: Path) -> None:
    auth = {
        **TOKEN,
        "caConfigMapRef": {"name": "company-ca", "key": "ca.pem"},
        "clientCertificateSecretRef": {"name": "hub-client"},
    }
    configuration, pod = parts(template(tmp_path, auth=auth, headers={"X-Scope-OrgID": "fleet"}))
    (writing,) = configuration["remote_write"]
    folder = "/etc/gitops-dsf-remote-write-credentials"
    assert writing["headers"] == {"X-Scope-OrgID": "fleet"}
    assert writing["authorization"] == {"credentials_file": f"{folder}/token"}
    assert writing["tls_config"] == {
        "ca_file": f"{folder}/ca.crt",
        "cert_file": f"{folder}/tls.crt",
        "key_file": f"{folder}/tls.key",
    }
    sources = pod["volumes"][-1]["projected"]["sources"]
    assert sources == [
        {"secret": {"name": "hub-token", "items": [{"key": "token", "path": "token"}]}},
        {"configMap": {"name": "company-ca", "items": [{"key": "ca.pem", "path": "ca.crt"}]}},
        {
            "secret": {
                "name": "hub-client",
                "items": [
                    {"key": "tls.crt", "path": "tls.crt"},
                    {"key": "tls.key", "path": "tls.key"},
                ],
            }
        },
    ]
    (container,) = pod["containers"]
    assert container["volumeMounts"][-1] == {
        "name": "credentials",
        "mountPath": folder,
        "readOnly": True,
    }


def test_only_selected_clusters_get_it(tmp_path: Path) -> None:
    selector = {"matchLabels": {"store": "yes"}}
    assert template(tmp_path / "plain", clusterSelector=selector) == []
    found = template(
        tmp_path / "store", name="gitops-dsf-agent-remotewrite", clusterSelector=selector
    )
    assert [item["kind"] for item in found] == ["ConfigMap", "StatefulSet"]


def test_a_proxy_and_limited_egress_are_those_of_the_agents(tmp_path: Path) -> None:
    more = {
        "proxy": {"httpsProxy": "http://proxy.example.com:3128", "noProxy": ".svc,10.96.0.0/12"},
        "egress": {"mode": "Limited"},
    }
    manifests = template(tmp_path, more=more)
    configuration, pod = parts(manifests)
    assert configuration["remote_write"][0]["proxy_from_environment"] is True
    assert {"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"} in pod["containers"][
        0
    ]["env"]
    (policy,) = (item for item in manifests if item["kind"] == "NetworkPolicy")
    assert policy["spec"]["podSelector"]["matchLabels"] == {
        "app.kubernetes.io/name": "gitops-dsf-remote-write"
    }
    ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule.get("ports", ())}
    assert {443, 3128} <= ports
    own = {"matchLabels": {"kubernetes.io/metadata.name": "dynamic-scoring"}}
    assert {"to": [{"namespaceSelector": own}]} in policy["spec"]["egress"]


@pytest.mark.parametrize(
    ("writing", "settings", "codes", "words"),
    [
        ({"auth": TOKEN}, {}, ["DSF129"], "not allowed"),
        (
            {"auth": TOKEN, "url": "http://store.example.com/write"},
            {},
            ["DSF127"],
            "anyone on the network path can read it",
        ),
        ({"auth": TOKEN}, ALLOWED, [], ""),
        ({"auth": TOKEN, "url": "http://vm.monitoring.svc:8428/api/v1/write"}, {}, [], ""),
        ({"auth": {"serviceAccountToken": True}}, {}, ["DSF016"], "name a Secret"),
        ({"headers": {"Authorization": "x"}}, {}, ["DSF016"], "Prometheus sets the header"),
        ({"headers": {"X-Api-Key": "x"}}, {}, ["DSF105"], "a header of credentials"),
        ({"clusterSelector": {"matchLabels": {"store": "no"}}}, {}, ["DSF203"], "raw scores"),
        ({"url": "https://u:p@store.example.com/write"}, {}, ["DSF016"], "url"),
        ({"url": "http://169.254.169.254/write"}, {}, ["DSF131"], "169.254.169.254"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, writing: Object, settings: Object, codes: list[str], words: str
) -> None:
    agent = {"remoteWrite": {"url": URL, "image": f"{IMAGE}@sha256:{'0' * 64}", **writing}}
    without = produced(tmp_path / "without", scorer("cpu"), clusters=1, **settings)
    found = produced(tmp_path / "with", scorer("cpu"), clusters=1, agent=agent, **settings)
    usual = {item.message for item in without.diagnostics}
    new = [item for item in found.diagnostics if item.message not in usual]
    assert [item.code for item in new] == codes
    assert all(words in item.message + (item.hint or "") for item in new)


PROXY = {"httpProxy": "http://proxy.example.com:3128"}


@pytest.mark.parametrize(
    ("url", "no_proxy", "codes"),
    [
        ("http://vm.monitoring.svc:8428/api/v1/write", "", ["DSF178"]),
        ("http://vm.monitoring.svc:8428/api/v1/write", ".svc", []),
        ("http://store.example.com/api/v1/write", "", []),
    ],
)
def test_a_service_of_the_cluster_is_not_reached_through_a_proxy(
    tmp_path: Path, url: str, no_proxy: str, codes: list[str]
) -> None:
    proxy = {**PROXY, **({"noProxy": no_proxy} if no_proxy else {})}
    agent = {"proxy": proxy, "remoteWrite": {"url": url, "image": IMAGE}}
    found = produced(tmp_path, scorer("cpu", source={"type": "None"}), clusters=1, agent=agent)
    about = [item for item in found.diagnostics if "remoteWrite" in item.message]
    assert [item.code for item in about] == codes


def test_upstreams_add_on_sends_nothing(tmp_path: Path) -> None:
    found = produced(
        tmp_path,
        scorer("cpu"),
        clusters=1,
        agent={"remoteWrite": {"url": URL, "image": IMAGE}},
        delivery={"mode": "UpstreamController"},
    )
    about = [item for item in found.diagnostics if "remoteWrite" in item.message]
    (item,) = about
    assert item.code == "DSF022"
    assert item.message == (
        "upstream's add-on sends no raw scores: remoteWrite has no effect with delivery.mode"
        " UpstreamController"
    )
    assert not found.tree or not any("addontemplate" in path for path in found.tree.files)
