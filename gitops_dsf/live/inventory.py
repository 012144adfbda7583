"""What `import` takes from a hub: clusters, sets, and the scorers and masks that are there already."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gitops_dsf.live.hub import connect, items

DSF: Final = "dynamic-scoring.open-cluster-management.io/v1alpha1"
RESOURCES: Final = (
    ("cluster.open-cluster-management.io/v1", "ManagedCluster", "managedclusters", False),
    ("cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet", "managedclustersets", False),
    (DSF, "DynamicScorer", "dynamicscorers", True),
    (DSF, "DynamicScoringConfig", "dynamicscoringconfigs", True),
)
"""apiVersion, kind, plural, and whether a hub may lack the resource: before the first sync no CRD of ours is there."""


def inventory(*, context: str, kubeconfig: Path | None = None) -> list[dict[str, Any]]:
    """Every object of RESOURCES, in all namespaces. Raises HubError when the kubeconfig, the hub or the rights do not allow it."""
    client = connect(context, kubeconfig)
    close: Callable[[], None] = client.close
    try:
        return [
            # The API server leaves both out of the items of a typed list.
            {"apiVersion": version, "kind": kind, **item}
            for version, kind, plural, optional in RESOURCES
            for item in items(client, context, f"/apis/{version}/{plural}", optional=optional)
        ]
    finally:
        close()
