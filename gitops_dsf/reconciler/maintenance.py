"""The taint of clusters that are cordoned or drained (docs/decisions/maintenance.md).

Guaranteed: other taints stay as they are, whoever wrote them and whenever. Not guaranteed: that no
application arrives after a window has opened. OCM may decide before the taint is written; paced
moves do not begin then, because they go by the windows and not by the taint.
"""

import logging
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff, Pauses
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_TAINT
from gitops_dsf.hub.objects import ManagedCluster
from gitops_dsf.hub.resources import CLUSTERS
from gitops_dsf.hub.times import timestamp_of
from gitops_dsf.pacing.maintenance import CORDON, Drain, MaintenanceState, effect_of
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.kinds import InvolvedObject, StoredMetadata
from gitops_dsf.reconciler.loop import INTERVAL_SECONDS, run_controller
from gitops_dsf.wording import plural

PAUSE_SECONDS: Final = 1.0
"""Shortest time between two passes."""
REFUSAL_BACKOFF: Final = Backoff(first=5.0, ceiling=300.0)
"""Pauses after refusals for one cluster."""
OURS: Final = {"key": MAINTENANCE_TAINT, "effect": CORDON}

LOG = logging.getLogger(__name__)


class _Taints(msgspec.Struct, frozen=True):
    taints: tuple[dict[str, Any], ...] | None = None


class _TaintedCluster(msgspec.Struct, frozen=True):
    metadata: StoredMetadata
    spec: _Taints = _Taints()


class MaintenanceController:
    """Writes one taint of ManagedClusters, with the resourceVersion that was read.

    OCM writes the same list: its registration controller adds and removes taints of its own
    (v1.2.1). The version makes the hub refuse a list that OCM changed meanwhile. While the windows
    are not known, taints stay as they are.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._api = context.api
        self._view = context.view
        self._pauses = Pauses(REFUSAL_BACKOFF)
        """Pauses after a refused write, by cluster."""
        self._wake = context.changes_of(context.view.clusters)

    async def run(self) -> None:
        await run_controller(
            self._reconcile,
            name="maintenance",
            context=self._context,
            failing="the taints of maintenance are not updated",
            requires=(self._view.clusters, self._view.maintenance),
            needs_clock=True,
            wake=self._wake,
            min_interval=PAUSE_SECONDS,
        )

    async def _reconcile(self) -> float:
        """Raises ApiError when the hub does not answer: that concerns every cluster."""
        windows = self._view.maintenance.current
        # A missing ConfigMap does not mean that all taints should go.
        if windows is None:
            return INTERVAL_SECONDS
        # A copy: clusters come and go while this waits for the hub.
        clusters = dict(self._view.clusters.items)
        effect = effect_of(windows, clusters=clusters, placements=(), now=self._api.now())
        self._pauses.keep_only(clusters)
        for name in sorted(clusters):
            is_cordoned = name in effect.cordoned
            if _has_taint(clusters[name]) != is_cordoned and not self._pauses.left(name):
                await self._try_to_write(name, is_cordoned=is_cordoned)
        return INTERVAL_SECONDS

    async def _try_to_write(self, name: str, *, is_cordoned: bool) -> None:
        try:
            await self._write(name, is_cordoned=is_cordoned)
        except ApiError as error:
            if not error.status:
                raise
            # After a conflict the next pass reads the cluster again. Everything else that one
            # cluster refuses must not hold up the taints of the others.
            if error.status != HTTPStatus.CONFLICT:
                pause = self._pauses.failed(name)
                LOG.warning(
                    "the taint of cluster %s is not written; next try in %.0f s: %s",
                    name,
                    pause,
                    error,
                )
        else:
            self._pauses.worked(name)

    async def _write(self, name: str, *, is_cordoned: bool) -> None:
        cluster = await self._api.one(CLUSTERS.path, name, _TaintedCluster)
        if cluster is None:
            return
        before = cluster.spec.taints or ()
        after: list[Mapping[str, Any]] = []
        taint_of_ours: Mapping[str, Any] = OURS
        for taint in before:
            if taint.get("key") != MAINTENANCE_TAINT:
                after.append(taint)
            elif OURS.items() <= taint.items():
                # It stays word for word, because OCM refuses another timeAdded
                # (docs/contributing/behaviour.md#taints-that-ocm-sets).
                taint_of_ours = taint
        if is_cordoned:
            after.append(taint_of_ours)
        if list(before) == after:
            return
        change = {
            "metadata": {"resourceVersion": cluster.metadata.resource_version},
            # In a merge patch null removes the field.
            "spec": {"taints": after or None},
        }
        await self._api.merge(f"{CLUSTERS.path}/{name}", change)
        about = about_maintenance(self._view.hub_namespace)
        if is_cordoned:
            message = f"{name}: the taint {MAINTENANCE_TAINT} is set"
            self._context.events.record(about, "ClusterCordoned", message)
        else:
            message = f"{name}: the taint {MAINTENANCE_TAINT} is gone"
            self._context.events.record(about, "ClusterUncordoned", message)


def _has_taint(cluster: ManagedCluster) -> bool | None:
    """Whether a cluster has our taint once, as we write it.

    It is None if the cluster has the taint in another form.
    """
    effects = [taint.effect for taint in cluster.taints if taint.key == MAINTENANCE_TAINT]
    if not effects:
        return False
    return True if effects == [CORDON] else None


def about_maintenance(namespace: str) -> InvolvedObject:
    """The reference for Events. Events on a cluster would need rights in another namespace."""
    return InvolvedObject("v1", "ConfigMap", namespace, MAINTENANCE_CONFIGMAP, "")


def report_drains(
    context: ControllerContext, before: MaintenanceState, after: MaintenanceState
) -> None:
    """Reports drains that are done, and those whose end will not be met."""
    about = about_maintenance(context.view.hub_namespace)
    for drain in after.drains:
        earlier = _same_drain(drain, before.drains)
        subject = f"{drain.cluster} ({drain.maintenance})"
        if drain.late and not (earlier is not None and earlier.late):
            remaining = plural(drain.count, "paced Placement")
            message = (
                f"{subject}: {remaining} will probably not have left by"
                f" {timestamp_of(drain.until)}; the pace is kept all the same"
            )
            context.events.record(about, "DrainLate", message, warning=True)
        if not drain.count and (earlier is None or earlier.count):
            context.events.record(about, "DrainDone", f"{subject}: all paced Placements have left")
    metrics = context.metrics.drains
    metrics.left.set({(drain.cluster,): drain.count for drain in after.drains})
    metrics.late.set({(drain.cluster,): float(drain.late) for drain in after.drains})


def _same_drain(drain: Drain, drains: Collection[Drain]) -> Drain | None:
    """The drain of the same cluster, maintenance and window."""
    key = (drain.cluster, drain.maintenance, drain.until)
    for other in drains:
        if (other.cluster, other.maintenance, other.until) == key:
            return other
    return None
