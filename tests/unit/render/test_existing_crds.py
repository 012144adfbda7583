"""delivery.crds: Existing, where another program owns the CRDs: what is rendered then fits them."""

import json
from pathlib import Path
from typing import Any

from tests.support import upstream
from tests.support.rendering import metric_source, objects, on_hub, rendered, scorer

SPEC = upstream.crds()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
TOKEN = {"tokenSecretRef": {"name": "prometheus", "key": "token"}}
QUERY = {"query": "avg(cpu_load)", "range": 60, "step": 5}


def scorers() -> list[dict[str, Any]]:
    """One of each kind, with fields that only we have."""
    ours = {
        "scoreRange": {"min": 0, "max": 1},
        "scoreTTLSeconds": 900,
        "publish": {"deadband": 1, "minIntervalSeconds": 30},
        "clusterSelector": {"matchExpressions": [{"key": "gone", "operator": "DoesNotExist"}]},
    }
    host = "http://prometheus.monitoring.svc:9090"
    ca = {"caConfigMapRef": {"name": "ca", "key": "ca.crt"}}
    source = {"type": "Prometheus", "host": host, "params": QUERY, "auth": {**TOKEN, **ca}}
    params = {"name": "query", "interval": 60}
    by_query = {"type": "Query", "params": params}
    kubernetes = {"type": "Kubernetes", "params": {"query": "nodes_ready"}}
    central = on_hub("central")
    items = [
        scorer("fixed"),
        scorer("api", source=source, suspend=True, **ours),
        scorer("kubernetes", source=kubernetes),
        scorer("referring", source={"ref": "prometheus", "params": QUERY}),
        scorer("query", source={"host": host, "params": {"query": "up"}}, scoring=by_query),
        central,
        metric_source("prometheus", {"type": "Prometheus", "host": host, "auth": TOKEN}),
    ]
    for item in items:
        if item["metadata"]["name"] == "query":
            del item["spec"]["configURL"], item["spec"]["configSyncMode"]
    return items


def test_objects_have_only_what_the_existing_crd_accepts(tmp_path: Path) -> None:
    tree = objects(rendered(tmp_path, *scorers(), delivery={"crds": "Existing"}))
    kinds = [item["kind"] for item in tree.values()]
    assert "CustomResourceDefinition" not in kinds
    specs = {
        item["metadata"]["name"]: item["spec"]
        for item in tree.values()
        if item["kind"] == "DynamicScorer"
    }
    assert sorted(specs) == ["api", "fixed", "kubernetes", "referring"], "no scorer by query"
    for spec in specs.values():
        assert upstream.misfits(SPEC, spec) == []
    assert specs["api"]["source"]["auth"] == TOKEN
    assert "source" not in specs["kubernetes"], "its type would be another one"
    assert "auth" not in specs["fixed"]["scoring"]


def test_the_list_is_the_same_in_both_modes_but_for_the_setting(tmp_path: Path) -> None:
    lists = []
    for crds in ("Rendered", "Existing"):
        tree = objects(rendered(tmp_path / crds, *scorers(), delivery={"crds": crds}))
        lists.append(
            {
                item["metadata"]["name"]: item["data"]
                for item in tree.values()
                if item["metadata"]["name"].startswith("gitops-dsf-scorers")
            }
        )
    ours, existing = lists
    index = json.loads(existing["gitops-dsf-scorers"]["index"])
    assert index.pop("crds") == "Existing"
    assert index == json.loads(ours["gitops-dsf-scorers"]["index"])
    assert sorted(index["scorers"]) == [
        "api", "central", "fixed", "kubernetes", "query", "referring",
    ]  # fmt: skip
    assert ours["gitops-dsf-scorers-0"] == existing["gitops-dsf-scorers-0"]


def test_with_our_crds_the_same_objects_would_not_fit(tmp_path: Path) -> None:
    tree = objects(rendered(tmp_path, *scorers()))
    misfits = [
        text
        for item in tree.values()
        if item["kind"] == "DynamicScorer"
        for text in upstream.misfits(SPEC, item["spec"])
    ]
    assert ".scoreTTLSeconds is unknown" in misfits
    assert ".configURL is missing" in misfits
    assert ".source.type: Kubernetes" in misfits
