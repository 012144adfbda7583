"""The receiver for OpenTelemetry metrics: where it runs, what it may do, and who reaches it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import yamlfast
from tests.support.rendering import objects, rendered, scorer

Object = dict[str, Any]
SETTINGS = {
    "image": "quay.io/prometheus/prometheus:v3.16.0",
    "collectorNamespaces": ["observability", "otel"],
}


def pushed(*, query: str = "k8s_pod_cpu_usage_ratio", **spec: Any) -> Object:
    """A scorer that reads what collectors push."""
    params = {"query": query, "range": 3600, "step": 60}
    return scorer("cpu", source={"type": "OpenTelemetry", "params": params}) | (
        {
            "spec": scorer("cpu")["spec"]
            | {"source": {"type": "OpenTelemetry", "params": params}}
            | spec
        }
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

    def work(self, cluster: str) -> list[Object]:
        found = self.objects[f"works-00/{cluster}.manifestwork.yaml"]
        manifests: list[Object] = found["spec"]["workload"]["manifests"]
        return manifests

    def configuration(self, cluster: str = "c0") -> Object:
        (found,) = [
            item for item in self.work(cluster) if item["metadata"]["name"] == "gitops-dsf-otlp"
        ]
        loaded: Object = yamlfast.load(found["data"]["prometheus.yml"])
        return loaded


class TestWhere:
    def test_with_a_service_monitor_both_are_in_one_template(self, tmp_path: Path) -> None:
        fleet = Fleet(tmp_path, serviceMonitor={})
        kinds = [item["kind"] for item in fleet.template("gitops-dsf-agent-otlp-servicemonitor")]
        assert kinds.count("ServiceMonitor") == 1
        assert kinds.count("Service") == 2


class TestConfiguration:
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
