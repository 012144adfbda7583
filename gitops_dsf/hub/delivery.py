"""The program that delivers scoring configuration to clusters, and the owner of its CRDs.

gitops-dsf.yaml names them, and the index of the rendered list carries them to readers of a hub.
"""

from typing import Final

from dsf_wire.constants import ADDON_NAME

OUR_DELIVERY: Final = "ManifestWork"
"""The value of delivery.mode with which our works and our agents deliver."""
OUR_CRDS: Final = "Rendered"
"""The value of delivery.crds with which the CRDs are ours."""
UPSTREAM_ADDON: Final = "dynamic-scoring-framework"
"""The ClusterManagementAddOn of the upstream add-on, and the name of its ManagedClusterAddOns."""
UPSTREAM_AGENT: Final = "dynamic-scoring-agent"
"""The Deployment of upstream's agent on a cluster."""


def delivers_upstream(mode: str | None) -> bool:
    """Whether upstream's controller delivers, by delivery.mode; False if the mode is unknown."""
    return mode is not None and mode != OUR_DELIVERY


def addon_of(mode: str | None) -> str:
    """The ManagedClusterAddOn of the agents that publish scores, by delivery.mode."""
    return UPSTREAM_ADDON if delivers_upstream(mode) else ADDON_NAME


def agent_deployment(mode: str | None) -> str:
    """The Deployment of the agents that publish scores, on a cluster, by delivery.mode."""
    return UPSTREAM_AGENT if delivers_upstream(mode) else ADDON_NAME
