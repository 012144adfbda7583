"""Maintenance as it is written: its clusters by the inventory, and its window."""

from datetime import datetime
from typing import Any

import msgspec

from gitops_dsf.hub import maintenance as hub
from gitops_dsf.hub.maintenance import Period, Weekly, Window
from gitops_dsf.repository.model.maintenance import Maintenance, MaintenanceSpec
from gitops_dsf.resolve.inventory import NO_CLUSTERS, ClusterInventory


def window_of(spec: MaintenanceSpec) -> Window:
    """When it is open."""
    written = spec.schedule
    if written is not None:
        return Weekly(tuple(written.days), written.opens, written.closes, written.zone)
    moments = (datetime.fromisoformat(each).timestamp() for each in (spec.start or "", spec.end or ""))
    return Period(*moments)


def clusters_of(spec: MaintenanceSpec, inventory: ClusterInventory) -> frozenset[str]:
    """The clusters of the inventory that it is about."""
    if spec.clusters is not None:
        return inventory.all_clusters & frozenset(spec.clusters)
    return NO_CLUSTERS if spec.cluster_selector is None else inventory.selected(spec.cluster_selector)


def for_the_hub(item: Maintenance) -> dict[str, Any]:
    """As gitops_dsf/hub/maintenance.py reads it. Names and selectors stay as they are written."""
    return {
        "name": item.metadata.name,
        **item.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True),
    }


def on_the_hub(item: Maintenance) -> hub.Maintenance:
    """As the reconciler reads it."""
    return msgspec.convert(for_the_hub(item), type=hub.Maintenance)
