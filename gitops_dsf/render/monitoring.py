"""spec.reconciler.monitoring -> ServiceMonitor, PrometheusRule and the dashboard's ConfigMap.

The rules and the dashboard are files of the folder monitoring/. Teams without the Prometheus operator or
Grafana's sidecar use them as they are.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from gitops_dsf.hub.names import RECONCILER
from gitops_dsf.packagedata import packaged
from gitops_dsf.render.objects import Object, filled, metadata
from gitops_dsf.repository.model.repository import FleetRepository

DASHBOARD_NAME: Final = "gitops-dsf-dashboard"
DASHBOARD_FILE: Final = "gitops-dsf.json"
RULE_FILES: Final = ("rules.yaml", "agent-rules.yaml")


def monitoring(repository: FleetRepository) -> Iterator[Object]:
    """The objects that spec.reconciler.monitoring asks for; none by default."""
    namespace, asked = repository.spec.hub_namespace, repository.spec.reconciler.monitoring
    if asked.service_monitor:
        yield from filled("service-monitor.yaml", name=RECONCILER, namespace=namespace)
    if asked.rules:
        groups = [group for name in RULE_FILES for group in _rule_groups(name)]
        yield from filled("prometheus-rule.yaml", namespace=namespace, groups=groups)
    if asked.dashboard:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(name=DASHBOARD_NAME, namespace=namespace, labels={"grafana_dashboard": "1"}),
            "data": {DASHBOARD_FILE: monitoring_file("dashboard.json").removesuffix("\n")},
        }


def monitoring_file(name: str) -> str:
    """The text of a file of monitoring/. Raises RepositoryError when the installation lacks it."""
    return packaged(f"monitoring/{name}").read_text("utf-8")


@cache
def _rule_groups(name: str) -> list[Any]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only fleets that ask for rules wait for the import

    groups: list[Any] = YAML(typ="safe").load(monitoring_file(name))["groups"]
    return groups
