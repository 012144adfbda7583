"""Who delivers scoring configuration to the clusters of a hub, and who owns its CRDs.

gitops-dsf.yaml says it, and the index of the rendered list carries it to whoever reads a hub.
"""

from typing import Final

from dsf_wire.constants import ADDON_NAME

OUR_DELIVERY: Final = "ManifestWork"
"""The value of delivery.mode with which our works and our agents deliver."""
OUR_CRDS: Final = "Rendered"
"""The value of delivery.crds with which the CRDs are ours."""
UPSTREAM_ADDON: Final = "dynamic-scoring-framework"
"""The ClusterManagementAddOn of the upstream add-on, and the name of its ManagedClusterAddOns."""


def addon_of(mode: str) -> str:
    """The ManagedClusterAddOn of the agents that publish scores, by delivery.mode."""
    return ADDON_NAME if mode == OUR_DELIVERY else UPSTREAM_ADDON
