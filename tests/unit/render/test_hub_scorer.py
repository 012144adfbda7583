"""What is rendered for scorers that run on the hub, and what is not."""

import re
from pathlib import Path
from typing import Any

import pytest

from dsf_wire import clusters, summary
from dsf_wire.clusters import FleetCluster
from gitops_dsf.plan.types import HubScoring
from tests.support import fleets
from tests.support.rendering import DSF, metric_source, objects, on_hub, produced, rendered, scorer

POLICIES = (
    "gitops-dsf-hub-scorer-writes",
    "gitops-dsf-hub-scorer-deletions",
    "gitops-dsf-hub-scorer-handover",
)


def cluster(name: str, *, claims: dict[str, str] | None = None, **labels: str) -> dict[str, Any]:
    found = dict(fleets.cluster(name, **labels))
    if claims:
        found["status"] = {"clusterClaims": [{"name": key, "value": text} for key, text in claims.items()]}
    return found


def test_a_fleet_without_such_a_scorer_has_no_hub_scorer(tmp_path: Path) -> None:
    found = rendered(tmp_path, scorer("cpu"))
    assert found.plan is not None
    assert found.plan.hub_scoring is None
    assert not [path for path in objects(found) if "hub" in path and "appproject" not in path]


def test_clusters_that_only_the_hub_scores_have_no_agent(tmp_path: Path) -> None:
    """A cluster that a scorer on the spokes selects keeps its agent, also while the scorer is suspended or
    masked. So does a cluster that nothing selects.
    """
    found = objects(
        rendered(
            tmp_path,
            cluster("edge", tier="edge"),
            cluster("prod", tier="prod"),
            cluster("test", tier="test"),
            cluster("idle", tier="idle"),
            scorer("cpu", clusterSelector={"matchLabels": {"tier": "prod"}}),
            scorer("off", clusterSelector={"matchLabels": {"tier": "test"}}, suspend=True),
            on_hub("headroom", clusterSelector=selector("edge", "prod", "test")),
            clusters=0,
        )
    )
    works = sorted(path for path in found if path.startswith("works-"))
    assert works == sorted(
        [
            *(
                f"works-00/{name}.{kind}.yaml"
                for name in ("prod", "test", "idle")
                for kind in ("manifestwork", "managedclusteraddon", "rolebinding")
            ),
            *(f"works-00/{name}.hubscorer.rolebinding.yaml" for name in ("edge", "prod", "test", "idle")),
        ]
    )
    assert data(found["works-00/prod.manifestwork.yaml"], "cpu") == {"name": "cpu"}
    assert data(found["works-00/prod.manifestwork.yaml"], "headroom") is None


def selector(*tiers: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "tier", "operator": "In", "values": list(tiers)}]}


def data(work: dict[str, Any], name: str) -> dict[str, str] | None:
    (config,) = (item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap")
    entries = summary.decode(config["data"]["summaries"]).summaries
    return next(({"name": entry.name} for entry in entries if entry.name == name), None)


def test_the_configuration_says_which_values_mean_which_clusters(tmp_path: Path) -> None:
    label = {"name": "clusterID", "claim": "id.openshift.io"}
    source = {"host": "http://t:1", "params": {"query": "sum by (clusterID) (up)"}, "clusterLabel": label}
    found = objects(
        rendered(
            tmp_path,
            cluster("a", claims={"id.openshift.io": "x", "other": "y"}, tier="prod"),
            cluster("b", claims={"id.openshift.io": "z"}, tier="prod"),
            cluster("c", tier="edge"),
            on_hub("by-name"),
            on_hub("by-claim", source=source, clusterSelector=selector("prod")),
            on_hub("off", suspend=True),
            clusters=0,
        )
    )
    (config,) = (
        item for path, item in found.items() if path.endswith("configmap.gitops-dsf-hub-scorer.yaml")
    )
    assert clusters.decode(config["data"]["clusters"]) == (
        FleetCluster(name="a", scorers=("by-claim", "by-name"), values={"claim:id.openshift.io": "x"}),
        FleetCluster(name="b", scorers=("by-claim", "by-name"), values={"claim:id.openshift.io": "z"}),
        FleetCluster(name="c", scorers=("by-name",)),
    )
    entries = {entry.name: entry for entry in summary.decode(config["data"]["summaries"]).summaries}
    assert entries.keys() == {"by-claim", "by-name"}
    assert entries["by-claim"].cluster_label == summary.ClusterLabel(
        name="clusterID", claim="id.openshift.io"
    )
    assert all(entry.on_hub and entry.clusters_per_request is None for entry in entries.values())


def test_a_mask_keeps_a_scorer_off_a_cluster(tmp_path: Path) -> None:
    masks = {
        "apiVersion": DSF,
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterName": "c1", "scoreName": "headroom"}]},
    }
    scoring = scoring_of(rendered(tmp_path, on_hub("headroom"), masks))
    assert [(item.name, item.scorers) for item in scoring.clusters] == [("c0", ("headroom",)), ("c1", ())]


def scoring_of(found: Any) -> HubScoring:
    assert found.plan is not None
    assert found.plan.hub_scoring is not None
    scoring: HubScoring = found.plan.hub_scoring
    return scoring


def test_a_metric_source_gives_host_headers_and_secrets(tmp_path: Path) -> None:
    variant = {
        "host": "https://mimir.monitoring.svc:8080",
        "basicAuth": {"secretRef": {"name": "login"}},
        "headers": [{"name": "X-Scope-OrgID", "value": "platform"}],
    }
    source = {
        "ref": "central",
        "params": {"query": "sum by (cluster) (up)"},
        "clusterLabel": {"name": "cluster"},
    }
    scoring = scoring_of(
        rendered(
            tmp_path,
            on_hub("headroom", source=source),
            metric_source("central", variant),
            hubScorer={"secrets": ["login"]},
        )
    )
    (entry,) = scoring.configuration.summaries
    assert entry.source_endpoint == "https://mimir.monitoring.svc:8080/api/v1/query"
    assert entry.source_headers == (summary.Header(name="X-Scope-OrgID", value="platform"),)
    assert entry.source_basic_auth is not None
    assert scoring.configuration.secrets == ("login",)


def test_it_reads_the_secrets_that_its_scorers_name_and_no_others(tmp_path: Path) -> None:
    auth = {
        "tokenSecretRef": {"name": "thanos", "key": "token"},
        "caConfigMapRef": {"name": "ca", "key": "crt"},
    }
    source = {**on_hub("x")["spec"]["source"], "auth": auth}
    elsewhere = {
        "host": "http://p.m.svc",
        "params": {"query": "up", "range": 60, "step": 60},
        "auth": {"tokenSecretRef": {"name": "spoke", "key": "k"}},
    }
    found = objects(
        rendered(
            tmp_path,
            on_hub("headroom", source=source),
            scorer("cpu", source=elsewhere),
            hubScorer={"secrets": ["thanos", "further"]},
        )
    )
    role = found["reconciler/role.gitops-dsf-hub-scorer.yaml"]
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["gitops-dsf-suspended", "ca"],
            "verbs": ["get"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["thanos"], "verbs": ["get"]},
    ]
    binding = found["works-00/c0.hubscorer.rolebinding.yaml"]
    assert (binding["metadata"]["namespace"], binding["roleRef"]["name"]) == ("c0", "gitops-dsf:agent")
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "gitops-dsf-hub-scorer", "namespace": "open-cluster-management"}
    ]


def test_policies_name_the_scores_of_each_place(tmp_path: Path) -> None:
    here = on_hub("headroom", scoring={"type": "Query", "params": {"name": "Head_Room", "interval": 60}})
    found = objects(rendered(tmp_path, here, scorer("cpu"), scorer("mem")))
    text = {
        path.split("policy.")[1]: str(item["spec"])
        for path, item in found.items()
        if "validatingadmissionpolicy.gitops-dsf" in path
    }
    writes, deletions, handover = (text[f"{name}.yaml"] for name in POLICIES)
    agents = text["gitops-dsf-agent-scores.yaml"]
    assert '["head-room"]' in writes
    assert '["head-room"]' in handover
    assert '["cpu","mem"]' in deletions
    assert '["cpu","mem"]' in agents
    assert 'gitops-dsf.io/runs-on"].orValue("") == ""' in agents
    assert "system:serviceaccount:open-cluster-management:gitops-dsf-hub-scorer" in writes
    for name in POLICIES:
        assert f"reconciler/validatingadmissionpolicybinding.{name}.yaml" in found


def test_the_deployment_follows_gitops_dsf_yaml(tmp_path: Path) -> None:
    settings = {
        "image": "registry.example.com/agent:1",
        "logFormat": "text",
        "resources": {"limits": {"memory": "1Gi"}},
        "egress": {"mode": "Limited"},
    }
    found = objects(rendered(tmp_path, on_hub("headroom"), hubScorer=settings))
    deployment = found["reconciler/deployment.gitops-dsf-hub-scorer.yaml"]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert container["image"] == "registry.example.com/agent:1"
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    arguments = " ".join(container["args"])
    assert "--config-dir /etc/dynamic-scoring --clusters /etc/dynamic-scoring/clusters" in arguments
    assert "--install-namespace open-cluster-management" in arguments
    egress = found["reconciler/networkpolicy.gitops-dsf-hub-scorer-egress.yaml"]["spec"]
    assert egress["podSelector"] == {"matchLabels": {"app.kubernetes.io/name": "gitops-dsf-hub-scorer"}}
    assert re.search(r"'kubernetes.io/metadata.name': 'monitoring'", str(egress["egress"]))


def test_it_runs_the_image_of_the_agent(tmp_path: Path) -> None:
    found = objects(rendered(tmp_path, on_hub("headroom"), agent={"image": "r.example.com/team/agent:2"}))
    pod = found["reconciler/deployment.gitops-dsf-hub-scorer.yaml"]["spec"]["template"]["spec"]
    assert [one["image"] for one in pod["containers"]] == ["r.example.com/team/agent:2"]


def test_a_prometheus_operator_finds_it_where_it_finds_the_reconciler(tmp_path: Path) -> None:
    path = "reconciler/servicemonitor.gitops-dsf-hub-scorer.yaml"
    monitored = {"monitoring": {"serviceMonitor": True}}
    found = objects(rendered(tmp_path / "a", on_hub("headroom"), reconciler=monitored))
    labels = found["reconciler/service.gitops-dsf-hub-scorer.yaml"]["metadata"]["labels"]
    assert found[path]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert path not in objects(rendered(tmp_path / "b", on_hub("headroom")))


def test_the_resource_on_the_hub_says_where_it_runs(tmp_path: Path) -> None:
    found = objects(rendered(tmp_path, on_hub("headroom"), scorer("cpu")))
    here = found["platform/dynamicscorer.headroom.yaml"]["spec"]
    assert (here["runsOn"], here["source"]["clusterLabel"]) == ("Hub", {"name": "cluster"})
    assert here["scoring"]["clustersPerRequest"] == 100
    assert "runsOn" not in found["platform/dynamicscorer.cpu.yaml"]["spec"]


@pytest.mark.parametrize(("clusters", "codes"), [(2, []), (14, ["DSF153"])])
def test_a_configuration_must_fit_into_a_config_map(tmp_path: Path, clusters: int, codes: list[str]) -> None:
    many = [cluster(f"c-{index}", claims={"id": f"{index}-{'x' * 80_000}"}) for index in range(clusters)]
    label = {"name": "cluster", "claim": "id"}
    source = {**on_hub("x")["spec"]["source"], "clusterLabel": label}
    found = produced(tmp_path, *many, on_hub("headroom", source=source), clusters=0)
    assert [item.code for item in found.diagnostics] == codes
