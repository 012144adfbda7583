"""Names that the reconciler's objects share."""

from typing import Final

from gitops_dsf.repository.model.repository import FleetRepository

NAME: Final = "gitops-dsf-reconciler"
"""Deployment, ServiceAccount, Service and Lease; reconciler/lease.py has it as LEASE."""
LABELS: Final = {"app.kubernetes.io/name": NAME}
METRICS_PORT: Final = 8080


def username(repository: FleetRepository) -> str:
    """The reconciler as the hub's API server knows it."""
    return f"system:serviceaccount:{repository.spec.hub_namespace}:{NAME}"
