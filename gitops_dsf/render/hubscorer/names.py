"""Names that the hub scorer's objects share."""

from typing import Final

from gitops_dsf.hub.names import HUB_SCORER
from gitops_dsf.repository.model.repository import FleetRepository

NAME: Final = HUB_SCORER
LABELS: Final = {"app.kubernetes.io/name": NAME}
METRICS_PORT: Final = 8080
CONFIG_DIR: Final = "/etc/dynamic-scoring"


def username(repository: FleetRepository) -> str:
    """The hub scorer as the hub's API server knows it."""
    return f"system:serviceaccount:{repository.spec.hub_namespace}:{NAME}"
