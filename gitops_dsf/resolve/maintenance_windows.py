"""The windows and clusters of Maintenance documents, also in the form of the reconciler."""

from datetime import datetime
from typing import Any

import msgspec

from gitops_dsf.hub import maintenance as hub
from gitops_dsf.hub.windows import Period, Weekly, Window
from gitops_dsf.repository.model.maintenance import Maintenance, MaintenanceSpec
from gitops_dsf.resolve.inventory import NO_CLUSTERS, ClusterInventory


def window_of(spec: MaintenanceSpec) -> Window:
    """The window: by its schedule, or once from `start` to `end`."""
    schedule = spec.schedule
    if schedule is not None:
        return Weekly(tuple(schedule.days), schedule.opens, schedule.closes, schedule.zone)
    # The model has refused a document with neither a schedule nor both of these.
    start = datetime.fromisoformat(spec.start or "").timestamp()
    end = datetime.fromisoformat(spec.end or "").timestamp()
    return Period(start, end)


def clusters_of(spec: MaintenanceSpec, inventory: ClusterInventory) -> frozenset[str]:
    """The clusters of the inventory that it is about."""
    # A rule reports names that the inventory does not have.
    if spec.clusters is not None:
        return inventory.all_clusters & frozenset(spec.clusters)
    # It freezes applications, wherever they run.
    if spec.cluster_selector is None:
        return NO_CLUSTERS
    return inventory.selected(spec.cluster_selector)


def for_the_hub(maintenance: Maintenance) -> dict[str, Any]:
    """The form that gitops_dsf/hub/maintenance.py reads, with names and selectors as written."""
    spec = maintenance.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return {"name": maintenance.metadata.name, **spec}


def on_the_hub(maintenance: Maintenance) -> hub.Maintenance:
    """The maintenance as the reconciler reads it."""
    return msgspec.convert(for_the_hub(maintenance), type=hub.Maintenance)
