"""Single rendered objects, for the properties that OCM and Argo CD depend on.

Aspects covered: custom resources; works; the add-on; Placements; ApplicationSets; Argo CD's
Applications; sync waves; directories.
"""

from pathlib import Path
from typing import Any

import pytest

from dsf_wire.summary import decode
from tests.support import fleets
from tests.support.rendering import (
    DSF,
    application,
    identity,
    metric_source,
    objects,
    on_hub,
    produced,
    rendered,
    scorer,
)


def kind(found: dict[str, dict[str, Any]], wanted: str) -> list[dict[str, Any]]:
    return [item for item in found.values() if item["kind"] == wanted]


class TestMasks:
    def config(self, *masks: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": DSF,
            "kind": "DynamicScoringConfig",
            "metadata": {"name": "dynamic-scoring-config"},
            "spec": {"masks": list(masks)},
        }

    def test_no_masks_are_an_empty_array(self, tmp_path: Path) -> None:
        for number, documents in enumerate(((scorer("cpu"),), (scorer("cpu"), self.config()))):
            found = objects(rendered(tmp_path / str(number), *documents))[
                "platform/configmap.gitops-dsf-masks.yaml"
            ]
            assert found["data"] == {"masks": "[]"}


class TestAddOn:
    def test_another_agent_is_another_template_in_the_same_file(self, tmp_path: Path) -> None:
        names = set()
        for number, image in enumerate(("example.com/agent:1", "example.com/agent:2")):
            found = objects(rendered(tmp_path / str(number), scorer("cpu"), agent={"image": image}))
            template = found["platform/addontemplate.gitops-dsf-agent.yaml"]
            names.add(template["metadata"]["name"])
            (definition,) = kind(found, "ClusterManagementAddOn")
            configs = [
                item["defaultConfig"]["name"]
                for item in definition["spec"]["supportedConfigs"]
                if item["resource"] == "addontemplates"
            ]
            assert configs == [template["metadata"]["name"]]
        assert len(names) == 2


class TestPlacements:
    def test_a_dimension_cannot_break_out_of_its_string(self, tmp_path: Path) -> None:
        odd = scorer("cpu", scoreDimensionFormat='a"b\\c')
        (item,) = kind(
            objects(rendered(tmp_path, odd, application("web", onMissingScore="Exclude"))),
            "Placement",
        )
        (expression,) = item["spec"]["predicates"][0]["requiredClusterSelector"]["celSelector"][
            "celExpressions"
        ]
        assert expression.endswith(r'score.name == "a\"b\\c")')


def test_a_carried_document_of_another_namespace_has_a_file_of_its_own(tmp_path: Path) -> None:
    twins = (carried("web"), carried("web", namespace="other"), carried("web.in.other"))
    found = objects(rendered(tmp_path, scorer("cpu"), *twins))
    assert {identity(item)[2:] for item in kind(found, "Placement")} == {
        ("argocd", "web"),
        ("other", "web"),
        ("argocd", "web.in.other"),
    }


@pytest.mark.parametrize("namespace", ["", None])
def test_a_carried_document_with_an_empty_namespace_goes_to_argo_cd(
    tmp_path: Path, namespace: str | None
) -> None:
    found = objects(rendered(tmp_path, scorer("cpu"), carried("web", namespace=namespace)))
    assert found["delivery/placement.web.yaml"]["metadata"]["namespace"] == "argocd"
    assert [item["spec"]["clusterSet"] for item in kind(found, "ManagedClusterSetBinding")] == [
        "default"
    ]


def carried(name: str, **metadata: str | None) -> dict[str, Any]:
    """A Placement that is copied into the output."""
    spec = {
        "numberOfClusters": 1,
        "clusterSets": ["default"],
        "prioritizerPolicy": {
            "mode": "Exact",
            "configurations": [{"scoreCoordinate": {"builtIn": "Steady"}, "weight": 1}],
        },
    }
    api = f"{fleets.OCM}/v1beta1"
    return {
        "apiVersion": api,
        "kind": "Placement",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


@pytest.mark.parametrize(("clusters", "codes"), [(2, []), (14, ["DSF153"])])
def test_the_hub_scorers_configuration_must_fit_into_a_config_map(
    tmp_path: Path, clusters: int, codes: list[str]
) -> None:
    claims = [[{"name": "id", "value": f"{index}-{'x' * 80_000}"}] for index in range(clusters)]
    many = [
        {**fleets.cluster(f"c-{index}"), "status": {"clusterClaims": found}}
        for index, found in enumerate(claims)
    ]
    source = {**on_hub("x")["spec"]["source"], "clusterLabel": {"name": "cluster", "claim": "id"}}
    found = produced(tmp_path, *many, on_hub("headroom", source=source), clusters=0)
    assert [item.code for item in found.diagnostics] == codes


def test_nodes_and_pods_are_read_only_where_a_scorer_counts_them(tmp_path: Path) -> None:
    """One scorer asks a Prometheus where there is one, and nodes and pods elsewhere."""
    edge = {"clusterSelector": {"matchLabels": {"env": "edge"}}, "type": "Kubernetes"}
    params = {"query": "cpu_available_ratio", "range": 600, "step": 60}
    documents = (
        metric_source("platform", edge, {"host": "http://prometheus.monitoring.svc:9090"}),
        scorer("free", source={"ref": "platform", "params": params}),
    )
    inventory = (fleets.cluster("c0", env="edge"), fleets.cluster("c1", env="prod"))
    found = objects(rendered(tmp_path, *inventory, *documents, clusters=0))
    works = {name: found[f"works-00/{name}.manifestwork.yaml"] for name in ("c0", "c1")}
    rules = [
        [rule for item in work["spec"]["workload"]["manifests"] for rule in item.get("rules", ())]
        for work in works.values()
    ]
    assert rules == [
        [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]}],
        [],
    ]
    texts = [
        decode(item["data"]["summaries"]).summaries[0]
        for work in works.values()
        for item in work["spec"]["workload"]["manifests"]
        if item["kind"] == "ConfigMap"
    ]
    assert [(item.source_type, bool(item.source_endpoint)) for item in texts] == [
        ("Kubernetes", False),
        ("Prometheus", True),
    ]
    assert {item.source_query for item in texts} == {"cpu_available_ratio"}


@pytest.mark.parametrize(
    ("query", "resources"),
    [
        ("cpu_available_ratio", ["nodes", "pods"]),
        ("cpu_used_ratio", ["nodes", "pods", "nodes"]),
        ("nodes; devices_available", ["nodes", "pods", "resourceslices", "resourceclaims"]),
    ],
)
def test_only_scorers_of_devices_bring_the_right_to_read_them(
    tmp_path: Path, query: str, resources: list[str]
) -> None:
    counting = scorer("free", source={"type": "Kubernetes", "params": {"query": query}})
    found = objects(rendered(tmp_path, fleets.cluster("c0"), counting, clusters=0))
    manifests = found["works-00/c0.manifestwork.yaml"]["spec"]["workload"]["manifests"]
    (role,) = (item for item in manifests if item["kind"] == "ClusterRole")
    assert [name for rule in role["rules"] for name in rule["resources"]] == resources
    claims = [rule for rule in role["rules"] if "resourceclaims" in rule["resources"]]
    assert claims in (
        [],
        [
            {
                "apiGroups": ["resource.k8s.io"],
                "resources": ["resourceclaims"],
                "verbs": ["get", "list", "watch"],
            }
        ],
    )
