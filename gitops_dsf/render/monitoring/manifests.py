"""spec.reconciler.monitoring -> ServiceMonitor, PrometheusRule and the dashboard's ConfigMap."""

import json
from collections.abc import Iterator
from typing import Final

from gitops_dsf.render.monitoring.alerts import rules
from gitops_dsf.render.monitoring.dashboard import dashboard
from gitops_dsf.render.objects import Object, metadata
from gitops_dsf.render.reconciler.names import LABELS, NAME
from gitops_dsf.repository.model.repository import FleetRepository

OPERATOR_API: Final = "monitoring.coreos.com/v1"
OPTIONAL_CRD: Final = "SkipDryRunOnMissingResource=true"
"""Without the operator's CRDs Argo CD would refuse the whole sync at its dry run, and the reconciler with it.
"""
DASHBOARD_NAME: Final = "gitops-dsf-dashboard"
DASHBOARD_FILE: Final = "gitops-dsf.json"


def monitoring(repository: FleetRepository) -> Iterator[Object]:
    """What spec.reconciler.monitoring asks for; nothing by default."""
    namespace, wanted = repository.spec.hub_namespace, repository.spec.reconciler.monitoring
    if wanted.service_monitor:
        yield {
            "apiVersion": OPERATOR_API,
            "kind": "ServiceMonitor",
            "metadata": metadata(name=NAME, namespace=namespace, labels=LABELS, sync_options=OPTIONAL_CRD),
            "spec": {
                "selector": {"matchLabels": dict(LABELS)},
                "endpoints": [{"port": "metrics", "interval": "30s"}],
            },
        }
    if wanted.rules:
        yield {
            "apiVersion": OPERATOR_API,
            "kind": "PrometheusRule",
            "metadata": metadata(
                name="gitops-dsf", namespace=namespace, labels=LABELS, sync_options=OPTIONAL_CRD
            ),
            "spec": rules(),
        }
    if wanted.dashboard:
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(name=DASHBOARD_NAME, namespace=namespace, labels={"grafana_dashboard": "1"}),
            "data": {DASHBOARD_FILE: json.dumps(dashboard(), indent=2)},
        }
