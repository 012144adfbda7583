"""Reports drains: Events about the ConfigMap with the maintenance, and metrics."""

from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP
from gitops_dsf.hub.timestamp import timestamp_of
from gitops_dsf.pacing.maintenance import MaintenanceState
from gitops_dsf.reconciler.hub.kinds import Reference
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.wording import plural


def about_maintenance(namespace: str) -> Reference:
    """For Events: those of a cluster would need rights in another namespace."""
    return Reference("v1", "ConfigMap", namespace, MAINTENANCE_CONFIGMAP, "")


class DrainReporter:
    """Compares the drains before and after a look."""

    def __init__(self, shared: Shared) -> None:
        self._events, self._metrics, self._view = shared.events, shared.metrics, shared.view

    async def show(self, before: MaintenanceState, after: MaintenanceState) -> None:
        """Reports drains that are done, and those whose end will not be met."""
        known = {(each.cluster, each.maintenance, each.until): each for each in before.drains}
        about = about_maintenance(self._view.hub_namespace)
        for drain in after.drains:
            earlier = known.get((drain.cluster, drain.maintenance, drain.until))
            what = f"{drain.cluster} ({drain.maintenance})"
            if drain.late and not (earlier is not None and earlier.late):
                message = (
                    f"{what}: {plural(drain.count, 'paced Placement')} left, which will not be gone by"
                    f" {timestamp_of(drain.until)}; nothing is broken to keep that"
                )
                await self._events.say(about, "DrainLate", message, warning=True)
            if not drain.count and (earlier is None or earlier.count):
                await self._events.say(about, "DrainDone", f"{what}: no paced Placement is left")
        self._metrics.maintenance_left.set({(each.cluster,): each.count for each in after.drains})
        self._metrics.maintenance_late.set({(each.cluster,): float(each.late) for each in after.drains})
