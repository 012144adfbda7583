"""spec.reconciler.monitoring -> ServiceMonitor, PrometheusRule and the dashboard's ConfigMap.

The rules and the dashboard are files of the folder monitoring/. Teams without the Prometheus operator or
Grafana's sidecar use them as they are.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from gitops_dsf.packagedata import packaged
from gitops_dsf.render.objects import OPERATOR_API, Object, metadata
from gitops_dsf.render.reconciler.names import LABELS, NAME
from gitops_dsf.render.scraping import OPTIONAL_CRD, service_monitor
from gitops_dsf.repository.model.repository import FleetRepository

DASHBOARD_NAME: Final = "gitops-dsf-dashboard"
DASHBOARD_FILE: Final = "gitops-dsf.json"
RULE_FILES: Final = ("rules.yaml", "agent-rules.yaml")


def monitoring(repository: FleetRepository) -> Iterator[Object]:
    """The objects that spec.reconciler.monitoring asks for; none by default."""
    namespace, asked = repository.spec.hub_namespace, repository.spec.reconciler.monitoring
    if asked.service_monitor:
        yield service_monitor(name=NAME, namespace=namespace, labels=LABELS)
    if asked.rules:
        yield {
            "apiVersion": OPERATOR_API,
            "kind": "PrometheusRule",
            "metadata": metadata(
                name="gitops-dsf", namespace=namespace, labels=LABELS, sync_options=OPTIONAL_CRD
            ),
            "spec": {"groups": [group for name in RULE_FILES for group in _rule_groups(name)]},
        }
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
