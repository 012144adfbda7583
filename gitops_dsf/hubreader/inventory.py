"""Reads the objects that `import` takes from a hub: clusters, sets, scorers and masks."""

from pathlib import Path
from typing import Any, Final

import msgspec

from gitops_dsf.hubreader.hub import Hub

DSF: Final = "dynamic-scoring.open-cluster-management.io/v1alpha1"
RESOURCES: Final = (
    ("cluster.open-cluster-management.io/v1", "ManagedCluster", "managedclusters", False),
    ("cluster.open-cluster-management.io/v1beta2", "ManagedClusterSet", "managedclustersets", False),
    (DSF, "DynamicScorer", "dynamicscorers", True),
    (DSF, "DynamicScoringConfig", "dynamicscoringconfigs", True),
)
"""apiVersion, kind, plural, and whether a hub may lack the resource: our CRDs are missing before the first
sync.
"""


def inventory(*, context: str, kubeconfig: Path | None = None) -> list[dict[str, Any]]:
    """Reads every object of RESOURCES, in all namespaces. Raises HubError when the kubeconfig, the hub or the
    permissions do not allow it.
    """
    with Hub(context=context, kubeconfig=kubeconfig) as hub:
        return [
            # In a typed list, the API server omits both from each item.
            {"apiVersion": version, "kind": kind, **msgspec.json.decode(item, type=dict[str, Any])}
            for version, kind, plural, optional in RESOURCES
            for item in hub.raw_items(f"/apis/{version}/{plural}", optional=optional)
        ]
