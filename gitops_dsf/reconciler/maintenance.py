"""The taint of clusters that are cordoned or drained (docs/decisions/maintenance.md)."""

import asyncio
import logging
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff, Pauses
from gitops_dsf.hub.metadata import timestamp_of
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_TAINT
from gitops_dsf.hub.resources import CLUSTERS
from gitops_dsf.pacing.maintenance import CORDON, MaintenanceState, effect_of
from gitops_dsf.reconciler.context import INTERVAL_SECONDS, ControllerContext, keep_looking
from gitops_dsf.reconciler.hub.kinds import Reference, StoredMetadata
from gitops_dsf.wording import plural

LOG = logging.getLogger(__name__)
PAUSE_SECONDS: Final = 1.0
"""Shortest time between two looks."""
REFUSED: Final = Backoff(first=5.0, ceiling=300.0)
"""Pauses after refusals for one cluster."""
OURS: Final = {"key": MAINTENANCE_TAINT, "effect": CORDON}


class _Spec(msgspec.Struct, frozen=True):
    taints: tuple[dict[str, Any], ...] | None = None


class _Cluster(msgspec.Struct, frozen=True):
    metadata: StoredMetadata
    spec: _Spec = _Spec()


class MaintenanceController:
    """Writes one taint of ManagedClusters, with the resourceVersion that was read: OCM writes the same list.
    While the windows are not known, taints stay as they are.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._api, self._view, self._events = context.api, context.view, context.events
        self._wake = asyncio.Event()
        self._pauses = Pauses(REFUSED)
        """By cluster."""
        self._view.clusters.listen(lambda _key, _item: self._wake.set())

    async def run(self) -> None:
        await self._view.synced(self._view.clusters, self._view.maintenance)
        failing = "maintenance is not carried out now"
        await keep_looking(self._look, wake=self._wake, pause=PAUSE_SECONDS, failing=failing)

    async def _look(self) -> float:
        """Raises ApiError when the hub does not answer: that concerns every cluster."""
        # A copy: clusters come and go while this waits for the hub.
        items, clusters = self._view.maintenance.current, dict(self._view.clusters.items)
        if items is None or not self._api.clock.known:
            return INTERVAL_SECONDS
        if outdated := self._view.stale_reason((self._view.clusters,)):
            raise ApiError(outdated)
        if not self._view.maintenance.trusted:
            msg = "the maintenance is not known now, so taints stay as they are"
            raise ApiError(msg)
        effect = effect_of(items, clusters=clusters, placements=(), now=self._api.now())
        self._pauses.keep_only(clusters)
        for name in sorted(clusters):
            wanted = name in effect.cordoned
            ours = [each.effect for each in clusters[name].taints if each.key == MAINTENANCE_TAINT]
            if ours != ([CORDON] if wanted else []) and not self._pauses.left(name):
                try:
                    await self._write(name, wanted=wanted)
                except ApiError as error:
                    if not error.status:
                        raise
                    if error.status != HTTPStatus.CONFLICT:
                        pause = self._pauses.failed(name)
                        LOG.warning(
                            "cluster %s keeps its taints for %.0f s: %s", name, pause, error
                        )
                else:
                    self._pauses.worked(name)
        return INTERVAL_SECONDS

    async def _write(self, name: str, *, wanted: bool) -> None:
        found = await self._api.one(CLUSTERS.path, name, _Cluster)
        if found is None:
            return
        before = found.spec.taints or ()
        after = [each for each in before if each.get("key") != MAINTENANCE_TAINT]
        if wanted:
            # A taint that is there stays word for word, because OCM refuses another timeAdded
            # (docs/contributing/behaviour.md#taints-that-ocm-sets).
            after.append(next((each for each in before if OURS.items() <= each.items()), OURS))
        if list(before) == after:
            return
        change = {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "spec": {"taints": after or None},
        }
        await self._api.merge(f"{CLUSTERS.path}/{name}", change)
        reason = "ClusterCordoned" if wanted else "ClusterUncordoned"
        message = f"{name}: the taint {MAINTENANCE_TAINT} is {'set' if wanted else 'gone'}"
        self._events.record(about_maintenance(self._view.hub_namespace), reason, message)


def about_maintenance(namespace: str) -> Reference:
    """For Events: those of a cluster would need rights in another namespace."""
    return Reference("v1", "ConfigMap", namespace, MAINTENANCE_CONFIGMAP, "")


async def report_drains(
    context: ControllerContext, before: MaintenanceState, after: MaintenanceState
) -> None:
    """Reports drains that are done, and those whose end will not be met."""
    known = {(each.cluster, each.maintenance, each.until): each for each in before.drains}
    about = about_maintenance(context.view.hub_namespace)
    for drain in after.drains:
        earlier = known.get((drain.cluster, drain.maintenance, drain.until))
        what = f"{drain.cluster} ({drain.maintenance})"
        if drain.late and not (earlier is not None and earlier.late):
            message = (
                f"{what}: {plural(drain.count, 'paced Placement')} left, which will not be gone by"
                f" {timestamp_of(drain.until)}; nothing is broken to keep that"
            )
            context.events.record(about, "DrainLate", message, warning=True)
        if not drain.count and (earlier is None or earlier.count):
            context.events.record(about, "DrainDone", f"{what}: no paced Placement is left")
    context.metrics.maintenance_left.set({(each.cluster,): each.count for each in after.drains})
    context.metrics.maintenance_late.set(
        {(each.cluster,): float(each.late) for each in after.drains}
    )
