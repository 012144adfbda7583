"""How a Prometheus reaches our programs: Services, the port that NetworkPolicies open, and ServiceMonitors,
by which the Prometheus operator finds the programs on the hub.
"""

from collections.abc import Mapping
from typing import Final

from gitops_dsf.render.containers import METRICS_PORT
from gitops_dsf.render.objects import OPERATOR_API, Object, metadata

OPTIONAL_CRD: Final = "SkipDryRunOnMissingResource=true"
"""Without it, Argo CD's dry run rejects the whole sync, the reconciler included, if the operator's CRDs are
missing.
"""


def service_monitor(*, name: str, namespace: str, labels: Mapping[str, str]) -> Object:
    """The ServiceMonitor of a program on the hub. ``labels`` are those of its Service."""
    return {
        "apiVersion": OPERATOR_API,
        "kind": "ServiceMonitor",
        "metadata": metadata(name=name, namespace=namespace, labels=labels, sync_options=OPTIONAL_CRD),
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "endpoints": [{"port": "metrics", "interval": "30s"}],
        },
    }


def metrics_service(*, name: str, namespace: str, labels: Mapping[str, str]) -> Object:
    """The Service of the pods with these labels, which it has, too."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name=name, namespace=namespace, labels=labels),
        "spec": {
            "selector": dict(labels),
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    }
