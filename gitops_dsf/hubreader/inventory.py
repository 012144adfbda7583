"""Reads the objects that `import` takes from a hub: clusters, sets, scorers and masks."""

from pathlib import Path
from typing import Any, Final

import msgspec

from gitops_dsf.hub.resources import CLUSTER_SETS, CLUSTERS, SCORERS, SCORING_CONFIGS
from gitops_dsf.hubreader.hub import Hub

RESOURCES: Final = (
    ("ManagedCluster", CLUSTERS, False),
    ("ManagedClusterSet", CLUSTER_SETS, False),
    ("DynamicScorer", SCORERS, True),
    ("DynamicScoringConfig", SCORING_CONFIGS, True),
)
"""Kind, resource, and whether a hub may lack it: our CRDs are missing before the first sync."""


def inventory(*, context: str, kubeconfig: Path | None = None) -> list[dict[str, Any]]:
    """Reads every object of RESOURCES, in all namespaces. Raises HubError when the kubeconfig, the hub or the
    permissions do not allow it.
    """
    with Hub(context=context, kubeconfig=kubeconfig) as hub:
        return [
            # In a typed list, the API server omits both from each item.
            {
                "apiVersion": resource.api_version,
                "kind": kind,
                **msgspec.json.decode(item, type=dict[str, Any]),
            }
            for kind, resource, optional in RESOURCES
            for item in hub.raw_items(resource.path, optional=optional)
        ]
