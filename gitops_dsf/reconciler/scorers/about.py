"""A DynamicScorer as what Events are about."""

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Reference


def about(item: DynamicScorer) -> Reference:
    """With the UID: an Event about a scorer that was made anew is not about the old one."""
    meta = item.metadata
    return Reference(
        api_version=f"{DSF_GROUP}/{DSF_VERSION}",
        kind="DynamicScorer",
        namespace=meta.namespace or "",
        name=meta.name,
        uid=meta.uid,
    )
