"""What shall exist: shards, shared configurations, and scorers as a spoke's ConfigMap carries them.

Aspects covered: shards never move by themselves; a configuration is one value; delivery modes; summaries hold
ours only where set.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import UPSTREAM_KEYS, Summary, to_object
from gitops_dsf.plan.build import shard_of
from tests.support.fleets import cluster
from tests.support.rendering import metric_source, rendered, scorer

SOURCE = {"host": "http://prometheus:9090", "path": "/api/v1/query", "params": {"query": "up"}}


def summary_of(root: Path, **spec: Any) -> Summary:
    result = rendered(root, scorer("cpu", **spec), clusters=1)
    assert result.plan is not None
    (summary,) = result.plan.works[0].configuration.summaries
    return summary


@pytest.mark.parametrize(
    ("cluster", "shards", "expected"),
    [("eu-west-1", 1, 0), ("eu-west-1", 8, 2), ("c0", 100, 19), ("a.b.c", 7, 3)],
)
def test_a_shard_depends_on_the_name_and_the_number_alone(cluster: str, shards: int, expected: int) -> None:
    """Pinned: a cluster that changed its directory would be pruned from one Application and created by
    another.
    """
    assert shard_of(cluster, shards) == expected


def test_shards_are_filled_evenly() -> None:
    count = Counter(shard_of(f"cluster-{number}", 8) for number in range(8000))
    assert set(count) == set(range(8))
    assert max(count.values()) < 1150


def test_clusters_that_run_the_same_share_one_configuration(tmp_path: Path) -> None:
    config = {
        "apiVersion": "dynamic-scoring.open-cluster-management.io/v1alpha1",
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {
            "masks": [{"clusterName": "c1", "scoreName": "gpu"}, {"clusterName": "c3", "scoreName": "gpu"}]
        },
    }
    result = rendered(tmp_path, scorer("cpu"), scorer("gpu"), config, clusters=5)
    assert result.plan is not None
    works = {work.cluster: work.configuration for work in result.plan.works}
    assert works["c0"] is works["c2"] is works["c4"]
    assert works["c1"] is works["c3"]
    assert [item.name for item in works["c0"].summaries] == ["cpu", "gpu"]
    assert [item.name for item in works["c1"].summaries] == ["cpu"]


def test_clusters_that_use_the_same_variant_share_one_configuration(tmp_path: Path) -> None:
    auth = {
        "tokenSecretRef": {"name": "thanos", "key": "token"},
        "caConfigMapRef": {"name": "ca", "key": "ca.crt"},
    }
    source = metric_source(
        "platform",
        {
            "clusterSelector": {"matchLabels": {"vendor": "OpenShift"}},
            "host": "https://thanos.svc",
            "auth": auth,
        },
        {"host": "http://prometheus.svc"},
    )
    params = {"query": "up", "range": 60, "step": 15}
    asking = [scorer(name, source={"ref": "platform", "params": params}) for name in ("cpu", "gpu")]
    clusters = [cluster(f"s{number}", vendor="OpenShift") for number in range(2)]
    result = rendered(tmp_path, *asking, source, *clusters, clusters=2)
    assert result.plan is not None
    works = {work.cluster: work.configuration for work in result.plan.works}
    assert works["c0"] is works["c1"]
    assert works["s0"] is works["s1"]
    assert works["s0"].secrets == ("thanos",)
    assert works["s0"].config_maps == ("ca",)
    assert works["c0"].secrets == works["c0"].config_maps == ()
    found = {name: to_object(works[name].summaries[0]) for name in ("c0", "s0")}
    assert found["c0"]["sourceEndpoint"] == "http://prometheus.svc/api/v1/query_range"
    assert found["s0"]["sourceEndpoint"] == "https://thanos.svc/api/v1/query_range"
    assert found["s0"]["sourceEndpointAuthName"] == "thanos"
    assert found["c0"]["sourceRef"] == found["s0"]["sourceRef"] == "platform"
    assert {item.source_endpoint for item in works["c0"].summaries} == {found["c0"]["sourceEndpoint"]}


def test_headers_passwords_and_certificates_are_keys_of_their_own(tmp_path: Path) -> None:
    variant = {
        "host": "https://mimir.svc",
        "basicAuth": {"secretRef": {"name": "login"}},
        "clientCertificate": {"secretRef": {"name": "pair", "certificateKey": "crt", "privateKeyKey": "key"}},
        "headers": [
            {"name": "X-Scope-OrgID", "value": "platform"},
            {"name": "X-Api-Key", "secretRef": {"name": "api", "key": "k"}},
        ],
    }
    params = {"query": "up", "range": 60, "step": 15}
    asking = scorer("cpu", source={"ref": "platform", "params": params})
    result = rendered(tmp_path, asking, metric_source("platform", variant), clusters=1)
    assert result.plan is not None
    configuration = result.plan.works[0].configuration
    assert configuration.secrets == ("api", "login", "pair")
    wire = to_object(configuration.summaries[0])
    assert list(wire["sourceHeaders"]) == [
        {"name": "X-Scope-OrgID", "value": "platform"},
        {"name": "X-Api-Key", "secretRef": {"name": "api", "key": "k"}},
    ]
    assert wire["sourceBasicAuth"] == {
        "name": "login",
        "usernameKey": "username",
        "passwordKey": "password",
    }
    assert wire["sourceClientCertificate"] == {
        "name": "pair",
        "certificateKey": "crt",
        "privateKeyKey": "key",
    }


def test_a_cluster_without_scorers_of_a_source_is_not_set_apart_by_its_variant(tmp_path: Path) -> None:
    source = metric_source(
        "platform",
        {"clusterSelector": {"matchLabels": {"vendor": "OpenShift"}}, "host": "https://thanos.svc"},
        {"host": "http://prometheus.svc"},
    )
    params = {"query": "up", "range": 60, "step": 15}
    asking = scorer(
        "cpu",
        source={"ref": "platform", "params": params},
        clusterSelector={"matchLabels": {"runs": "cpu"}},
    )
    clusters = [cluster("s0", vendor="OpenShift"), cluster("x", runs="cpu")]
    result = rendered(tmp_path, asking, scorer("gpu"), source, *clusters, clusters=1)
    assert result.plan is not None
    works = {work.cluster: work.configuration for work in result.plan.works}
    assert works["c0"] is works["s0"]
    assert works["x"] is not works["s0"]


def test_a_suspended_scorer_is_on_no_cluster_and_still_planned(tmp_path: Path) -> None:
    result = rendered(tmp_path, scorer("cpu"), scorer("old", suspend=True))
    assert result.plan is not None
    assert [item.name for item in result.plan.resolved.scorers] == ["cpu", "old"]
    assert {item.name for work in result.plan.works for item in work.configuration.summaries} == {"cpu"}


def test_upstreams_controller_writes_the_works_itself(tmp_path: Path) -> None:
    result = rendered(tmp_path, scorer("cpu"), delivery={"mode": "UpstreamController"})
    assert result.plan is not None
    assert result.plan.works == ()


def test_names_of_secrets_and_config_maps_are_gathered(tmp_path: Path) -> None:
    source = {
        "type": "Prometheus",
        "host": "https://prometheus.example.com",
        "params": {"query": "up", "range": 60, "step": 15},
        "auth": {
            "tokenSecretRef": {"name": "b", "key": "token"},
            "caConfigMapRef": {"name": "ca", "key": "ca.crt"},
        },
    }
    scoring = {
        "params": {"name": "x", "interval": 60},
        "auth": {"tokenSecretRef": {"name": "a", "key": "token"}},
    }
    result = rendered(tmp_path, scorer("x", source=source, scoring=scoring), scorer("y", source=source))
    assert result.plan is not None
    assert result.plan.works[0].configuration.secrets == ("a", "b")
    assert result.plan.works[0].configuration.config_maps == ("ca",)


def test_upstreams_keys_are_always_there_and_ours_only_when_set(tmp_path: Path) -> None:
    plain = to_object(summary_of(tmp_path / "plain"))
    assert tuple(plain) == UPSTREAM_KEYS
    defaults = {
        "scoreAggregation": "Last",
        "scoreTTLSeconds": 900,
        "publish": {"deadband": 2, "minIntervalSeconds": 60},
    }
    assert to_object(summary_of(tmp_path / "defaults", **defaults)) == plain, (
        "a default that is written out is no difference for an agent"
    )


@pytest.mark.parametrize(
    ("spec", "key", "value"),
    [
        ({"scoreAggregation": "Mean"}, "scoreAggregation", "Mean"),
        ({"scoreTTLSeconds": 1200}, "scoreTTLSeconds", 1200),
        ({"publish": {"deadband": 0}}, "publish", {"deadband": 0, "minIntervalSeconds": 60}),
        (
            {"scoreRange": {"min": 0, "max": 2.5}},
            "scoreRange",
            {"min": 0.0, "max": 2.5, "outputMin": 1, "outputMax": 100},
        ),
        (
            {
                "scoring": {
                    "params": {"name": "cpu", "interval": 60},
                    "arguments": {"a": None, "b": {"c": None}, "d": [None]},
                }
            },
            "scoringArguments",
            {"a": None, "b": {"c": None}, "d": [None]},
        ),
        ({"source": SOURCE, "defaultScore": -3}, "defaultScore", -3),
        (
            {
                "configURL": None,
                "configSyncMode": None,
                "source": SOURCE,
                "scoring": {"type": "Query", "params": {"name": "cpu", "interval": 60}},
            },
            "scoringType",
            "Query",
        ),
        (
            {"scoring": {"params": {"name": "cpu", "interval": 60}, "auth": {"serviceAccountToken": True}}},
            "scoringAuth",
            {"serviceAccountToken": True},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_field_of_ours_travels(tmp_path: Path, spec: dict[str, Any], key: str, value: Any) -> None:
    assert to_object(summary_of(tmp_path, **spec))[key] == value
