"""The reference to a DynamicScorer for Events about it."""

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Reference


def about(item: DynamicScorer) -> Reference:
    """With the UID, so that Events about a deleted scorer do not belong to a new one of the same name."""
    meta = item.metadata
    return Reference(
        api_version=f"{DSF_GROUP}/{DSF_VERSION}",
        kind="DynamicScorer",
        namespace=meta.namespace or "",
        name=meta.name,
        uid=meta.uid,
    )
