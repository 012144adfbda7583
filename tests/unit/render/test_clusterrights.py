"""An agent may read nodes and pods only where a scorer counts them."""

import json
from pathlib import Path
from typing import Any

from tests.support import fleets
from tests.support.rendering import metric_source, objects, rendered, scorer

BASICS = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]}
USAGE = {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["get", "list"]}


def counting(name: str, query: str, **spec: Any) -> dict[str, Any]:
    return scorer(name, source={"type": "Kubernetes", "params": {"query": query}}, **spec)


def manifests(found: dict[str, dict[str, Any]], cluster: str) -> list[dict[str, Any]]:
    (work,) = (
        item
        for item in found.values()
        if item["kind"] == "ManifestWork" and item["metadata"]["namespace"] == cluster
    )
    listed: list[dict[str, Any]] = work["spec"]["workload"]["manifests"]
    return listed


def rules(found: dict[str, dict[str, Any]], cluster: str) -> list[dict[str, Any]]:
    """The rules of the ClusterRoles of one cluster."""
    return [
        rule for item in manifests(found, cluster) if item["kind"] == "ClusterRole" for rule in item["rules"]
    ]


def summaries(found: dict[str, dict[str, Any]], cluster: str) -> list[dict[str, Any]]:
    """The entries of a cluster's ConfigMap."""
    (text,) = (item["data"]["summaries"] for item in manifests(found, cluster) if item["kind"] == "ConfigMap")
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


def test_a_variant_of_a_metric_source_counts_on_its_clusters_only(tmp_path: Path) -> None:
    """One scorer asks a Prometheus where there is one, and nodes and pods elsewhere."""
    source = metric_source(
        "platform",
        {"clusterSelector": {"matchLabels": {"env": "edge"}}, "type": "Kubernetes"},
        {"host": "http://prometheus.monitoring.svc:9090"},
    )
    params = {"query": "cpu_available_ratio", "range": 600, "step": 60}
    found = objects(
        rendered(
            tmp_path,
            fleets.cluster("c0", env="edge"),
            fleets.cluster("c1", env="prod"),
            source,
            scorer("free", source={"ref": "platform", "params": params}),
            clusters=0,
        )
    )
    assert (rules(found, "c0"), rules(found, "c1")) == ([BASICS], [])
    entries = {cluster: summaries(found, cluster)[0] for cluster in ("c0", "c1")}
    assert [entries[cluster]["sourceType"] for cluster in ("c0", "c1")] == ["Kubernetes", "Prometheus"]
    assert entries["c0"]["sourceEndpoint"] == ""
    assert entries["c0"]["sourceQuery"] == entries["c1"]["sourceQuery"] == "cpu_available_ratio"


def test_usage_needs_a_right_of_its_own(tmp_path: Path) -> None:
    documents = [counting("free", "nodes"), counting("used", "pods_available; node_cpu_used_ratio")]
    assert rules(objects(rendered(tmp_path, *documents)), "c1") == [BASICS, USAGE]
