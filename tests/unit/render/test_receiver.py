"""The receiver for OpenTelemetry metrics: where it runs, what it may do, and who reaches it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import fleets, yamlfast
from tests.support.rendering import objects, rendered, scorer

Object = dict[str, Any]
SETTINGS = {
    "image": "quay.io/prometheus/prometheus:v3.13.5",
    "collectorNamespaces": ["observability", "otel"],
}
ORIGIN = "http://127.0.0.1:9090"


def pushed(name: str = "cpu", *, query: str = "k8s_pod_cpu_usage_ratio", **spec: Any) -> Object:
    """A scorer that reads what collectors push."""
    params = {"query": query, "range": 3600, "step": 60}
    return scorer(name, source={"type": "OpenTelemetry", "params": params}) | (
        {"spec": scorer(name)["spec"] | {"source": {"type": "OpenTelemetry", "params": params}} | spec}
    )


class Fleet:
    """Two clusters; the receiver is needed on those that `selector` finds, all by default."""

    def __init__(self, root: Path, *scorers: Object, **settings: Any) -> None:
        agent = {"openTelemetry": SETTINGS | settings.pop("receiver", {}), **settings}
        self.objects = objects(rendered(root, *(scorers or (pushed(),)), agent=agent))

    def template(self, name: str = "gitops-dsf-agent-otlp") -> list[Object]:
        found = self.objects[f"platform/addontemplate.{name}.yaml"]
        manifests: list[Object] = found["spec"]["agentSpec"]["workload"]["manifests"]
        return manifests

    def one(self, kind: str, name: str) -> Object:
        (found,) = [
            item for item in self.template() if (item["kind"], item["metadata"]["name"]) == (kind, name)
        ]
        return found

    @property
    def pod(self) -> Object:
        found: Object = self.one("Deployment", "gitops-dsf-agent")["spec"]["template"]["spec"]
        return found

    @property
    def container(self) -> Object:
        (found,) = self.pod["initContainers"]
        assert isinstance(found, dict)
        return found

    def work(self, cluster: str) -> list[Object]:
        found = self.objects[f"works-00/{cluster}.manifestwork.yaml"]
        manifests: list[Object] = found["spec"]["workload"]["manifests"]
        return manifests

    def configuration(self, cluster: str = "c0") -> Object:
        (found,) = [item for item in self.work(cluster) if item["metadata"]["name"] == "gitops-dsf-otlp"]
        loaded: Object = yamlfast.load(found["data"]["prometheus.yml"])
        return loaded


class TestWhere:
    def test_the_agent_asks_prometheus_over_loopback(self, tmp_path: Path) -> None:
        """On the wire it is a Prometheus, so no agent has to know of it."""
        (config,) = [item for item in Fleet(tmp_path).work("c0") if "summaries" in item.get("data", {})]
        (entry,) = yamlfast.load(config["data"]["summaries"])
        assert (entry["sourceType"], entry["sourceEndpoint"]) == (
            "Prometheus",
            f"{ORIGIN}/api/v1/query_range",
        )

    def test_a_scorer_by_query_asks_for_the_present(self, tmp_path: Path) -> None:
        source = {"type": "OpenTelemetry", "params": {"query": "avg(a_ratio)"}}
        scoring = {"type": "Query", "params": {"name": "cpu", "interval": 60}}
        item = scorer("cpu", source=source, scoring=scoring)
        for field in ("configURL", "configSyncMode"):
            del item["spec"][field]
        fleet = Fleet(tmp_path, item)
        (config,) = [found for found in fleet.work("c0") if "summaries" in found.get("data", {})]
        (entry,) = yamlfast.load(config["data"]["summaries"])
        assert (entry["sourceEndpoint"], entry["scoringType"]) == (f"{ORIGIN}/api/v1/query", "Query")

    def test_a_metric_source_gives_it_to_the_clusters_of_a_variant(self, tmp_path: Path) -> None:
        variants = [
            {"clusterSelector": {"matchLabels": {"otel": "yes"}}, "type": "OpenTelemetry"},
            {"host": "http://prometheus.monitoring.svc:9090"},
        ]
        platform = {
            "apiVersion": "gitops-dsf.io/v1alpha1",
            "kind": "MetricSource",
            "metadata": {"name": "platform"},
            "spec": {"variants": variants},
        }
        params = {"query": "rate(a[1d])", "range": 60, "step": 60}
        found = objects(
            rendered(
                tmp_path,
                platform,
                scorer("cpu", source={"ref": "platform", "params": params}),
                fleets.cluster("c1", otel="yes"),
                clusters=1,
                agent={"openTelemetry": SETTINGS},
            )
        )
        works = {
            name: str(found[f"works-00/{name}.manifestwork.yaml"]["spec"]["workload"]["manifests"])
            for name in ("c0", "c1")
        }
        assert "prometheus.monitoring" in works["c0"]
        assert ORIGIN in works["c1"]
        assert "26h" in works["c1"]
        assert "gitops-dsf-otlp" not in works["c0"]
        addon = found["works-00/c1.managedclusteraddon.yaml"]["spec"]
        assert addon["configs"][0]["name"] == "gitops-dsf-agent-otlp"
        written = found["platform/dynamicscorer.cpu.yaml"]["spec"]["source"]["variants"]
        assert [item["type"] for item in written] == ["OpenTelemetry", "Prometheus"]

    def test_the_custom_resource_says_where_the_metrics_come_from(self, tmp_path: Path) -> None:
        found = Fleet(tmp_path).objects["platform/dynamicscorer.cpu.yaml"]["spec"]["source"]
        assert found["type"] == "OpenTelemetry"
        assert found.keys() == {"type", "params"}

    def test_only_clusters_with_such_a_scorer_run_it(self, tmp_path: Path) -> None:
        selector = {"matchExpressions": [{"key": "otel", "operator": "Exists"}]}
        found = objects(
            rendered(
                tmp_path,
                pushed(clusterSelector=selector),
                scorer("fixed"),
                fleets.cluster("c1", otel="yes"),
                clusters=1,
                agent={"openTelemetry": SETTINGS},
            )
        )
        addons = {
            item["metadata"]["namespace"]: item["spec"].get("configs")
            for item in found.values()
            if item["kind"] == "ManagedClusterAddOn"
        }
        assert addons["c0"] is None
        assert [entry["name"] for entry in addons["c1"] or []] == ["gitops-dsf-agent-otlp"]
        manifests = {
            cluster: found[f"works-00/{cluster}.manifestwork.yaml"]["spec"]["workload"]["manifests"]
            for cluster in ("c0", "c1")
        }
        named = {key: {item["metadata"]["name"] for item in items} for key, items in manifests.items()}
        assert "gitops-dsf-otlp" in named["c1"] - named["c0"]
        plain = found["platform/addontemplate.gitops-dsf-agent.yaml"]
        assert "otlp" not in str(plain)

    def test_with_a_service_monitor_both_are_in_one_template(self, tmp_path: Path) -> None:
        fleet = Fleet(tmp_path, serviceMonitor={})
        kinds = [item["kind"] for item in fleet.template("gitops-dsf-agent-otlp-servicemonitor")]
        assert kinds.count("ServiceMonitor") == 1
        assert kinds.count("Service") == 2

    def test_nothing_is_rendered_while_no_scorer_needs_it(self, tmp_path: Path) -> None:
        fleet = Fleet(tmp_path, scorer("fixed"))
        assert "otlp" not in str(fleet.objects)


class TestPod:
    def test_the_receiver_gets_neither_hub_credentials_nor_the_pods_token(self, tmp_path: Path) -> None:
        """OCM mounts the hub's kubeconfig into `containers` only."""
        fleet = Fleet(tmp_path)
        assert fleet.container["restartPolicy"] == "Always"
        assert {mount["name"] for mount in fleet.container["volumeMounts"]} == {"otlp-config", "otlp-data"}
        assert fleet.pod["automountServiceAccountToken"] is False
        (agent,) = fleet.pod["containers"]
        assert {key: value for key, value in agent["volumeMounts"][-1].items() if key != "mountPath"} == {
            "name": "account",
            "readOnly": True,
        }

    def test_it_is_locked_down_and_bounded(self, tmp_path: Path) -> None:
        container = Fleet(tmp_path).container
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 65534,
        }
        assert container["resources"]["limits"] == {"memory": "256Mi"}
        assert container["env"] == [{"name": "GOMEMLIMIT", "value": "153MiB"}]
        forbidden = ("--web.enable-admin-api", "--web.enable-lifecycle", "--web.enable-remote-write-receiver")
        assert not [flag for flag in container["args"] if flag.startswith(forbidden)]
        assert {volume["name"]: volume for volume in Fleet(tmp_path / "x").pod["volumes"]}["otlp-data"] == {
            "name": "otlp-data",
            "emptyDir": {"sizeLimit": "1Gi"},
        }

    def test_settings_change_it(self, tmp_path: Path) -> None:
        receiver = {"memory": "1Gi", "storage": "4Gi", "cpu": "200m", "runAsUser": None}
        fleet = Fleet(tmp_path, receiver=receiver, logFormat="text", imagePullPolicy="Always")
        container = fleet.container
        assert "runAsUser" not in container["securityContext"]
        assert container["resources"] == {
            "requests": {"cpu": "200m", "memory": "1Gi"},
            "limits": {"memory": "1Gi"},
        }
        assert container["env"][0]["value"] == "614MiB"
        assert container["imagePullPolicy"] == "Always"
        assert "--log.format=logfmt" in container["args"]
        assert fleet.configuration()["storage"]["tsdb"]["retention"]["size"] == "2457MB"


class TestNetwork:
    def test_labelled_pods_of_the_named_namespaces_may_push_and_nobody_else(self, tmp_path: Path) -> None:
        policy = Fleet(tmp_path).one("NetworkPolicy", "gitops-dsf-agent")["spec"]
        metrics, pushes = policy["ingress"]
        assert metrics == {"ports": [{"port": 8080, "protocol": "TCP"}]}
        assert pushes["ports"] == [{"port": 9090, "protocol": "TCP"}]
        assert pushes["from"] == [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "podSelector": {"matchLabels": {"gitops-dsf.io/pushes-metrics": "true"}},
            }
            for namespace in ("observability", "otel")
        ]

    def test_the_service_leads_to_the_receivers_port(self, tmp_path: Path) -> None:
        fleet = Fleet(tmp_path)
        service = fleet.one("Service", "gitops-dsf-otlp")["spec"]
        (port,) = service["ports"]
        assert port["targetPort"] == fleet.container["ports"][0]["name"]
        labels = fleet.one("Deployment", "gitops-dsf-agent")["spec"]["template"]["metadata"]["labels"]
        assert service["selector"].items() <= labels.items()

    def test_a_limit_on_connections_needs_no_rule_for_loopback(self, tmp_path: Path) -> None:
        fleet = Fleet(tmp_path, egress={"mode": "Limited"})
        (policy,) = [item for item in fleet.work("c0") if item["kind"] == "NetworkPolicy"]
        assert "127.0.0.1" not in str(policy)


class TestConfiguration:
    def test_names_are_translated_and_attributes_promoted(self, tmp_path: Path) -> None:
        otlp = Fleet(tmp_path, receiver={"resourceAttributes": ["k8s.node.name"]}).configuration()["otlp"]
        assert otlp == {
            "translation_strategy": "UnderscoreEscapingWithSuffixes",
            "promote_resource_attributes": ["k8s.node.name"],
        }

    @pytest.mark.parametrize(
        ("query", "span", "hours"),
        [
            ("a", 0, "2h"),
            ("a", 3600, "3h"),
            ("rate(a[1d])", 0, "26h"),
            ("rate(a[1d]) ; b", 3600, "27h"),
            ("max_over_time(rate(a[1h] offset 1h)[1d:1m] offset 1h)", 0, "29h"),
            ("a - a offset 1w", 0, "170h"),
            ("topk(3, avg_over_time(a[2h])) + on() group_left b", 0, "4h"),
            ("a offset -1d", 0, "2h"),
        ],
    )
    def test_it_keeps_what_the_scorers_of_the_cluster_look_back(
        self, tmp_path: Path, query: str, span: int, hours: str
    ) -> None:
        params = {"query": query, "range": span, "step": 60}
        source = {"type": "OpenTelemetry", "params": params}
        fleet = Fleet(tmp_path, scorer("long", source=source), pushed(query="b"))
        least = "3h"  # of the second scorer
        found = fleet.configuration()["storage"]["tsdb"]["retention"]["time"]
        assert found == max(hours, least, key=lambda text: int(text[:-1]))
