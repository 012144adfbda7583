"""Names that the hub scorer's objects share."""

from typing import Final

from gitops_dsf.repository.model.repository import FleetRepository

NAME: Final = "gitops-dsf-hub-scorer"
LABELS: Final = {"app.kubernetes.io/name": NAME}
METRICS_PORT: Final = 8080
CONFIG_DIR: Final = "/etc/dynamic-scoring"


def username(repository: FleetRepository) -> str:
    """The hub scorer as the hub's API server knows it."""
    return f"system:serviceaccount:{repository.spec.hub_namespace}:{NAME}"
