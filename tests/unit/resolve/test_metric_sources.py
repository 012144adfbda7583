"""MetricSources: which variant a cluster uses, and what a lock may say beside a reference."""

from pathlib import Path
from typing import Any

from gitops_dsf.pipeline import Rendered
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


def fleet(root: Path, *documents: dict[str, Any]) -> Rendered:
    inventory = [
        cluster("metal"),
        cluster("shift-1", vendor="OpenShift"),
        cluster("shift-2", vendor="OpenShift"),
    ]
    return produced(root, *inventory, *documents, clusters=0)


def test_a_cluster_uses_the_first_variant_that_selects_it(tmp_path: Path) -> None:
    variants = [
        {"clusterSelector": OPENSHIFT, "host": THANOS},
        {
            "clusterSelector": {"matchLabels": {"vendor": "OpenShift", "size": "big"}},
            "host": "http://never.svc",
        },
        {"host": HOST, "path": "api/v1/query_range"},
    ]
    cpu_scorer = scorer("cpu", source={"ref": "platform", "params": PARAMS})
    result = fleet(tmp_path, cpu_scorer, metric_source("platform", *variants)).resolved
    assert result is not None
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
    assert result.diagnostics == ()
    summary = result.plan.works[0].configuration.summaries[0] if result.plan else None
    assert summary is not None
    assert (summary.source_endpoint, summary.source_query) == (f"{HOST}/api/v1/query_range", "up")
