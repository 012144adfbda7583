"""The informers of Kueue's objects, which run only while Kueue is there and they are needed."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from prometheus_client import Gauge

from dsf_runtime.informer import Informer
from gitops_dsf.hub.metadata import Metadata, ObjectCondition, condition_of
from gitops_dsf.hub.resources import ADMISSION_CHECKS, MULTIKUEUE_CLUSTERS, WORKLOADS
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.view import follow, show_broken
from gitops_dsf.reconciler.multikueue.jobs import JobPlaces, WorkloadReader, admission_check


class KueueView:
    """Workloads, AdmissionChecks and MultiKueueClusters, all of them read only."""

    def __init__(self, *, api: HubApi, broken: Gauge, on_bug: Callable[[], None]) -> None:
        self._broken = broken
        self._on_bug = on_bug
        self.workloads = Informer(
            api=api,
            path=WORKLOADS.path,
            project=WorkloadReader(),
            key=lambda namespace, name: f"{namespace}/{name}",
            shelf=JobPlaces,
        )
        self.checks = Informer(api=api, path=ADMISSION_CHECKS.path, project=admission_check)
        self.clusters = Informer(api=api, path=MULTIKUEUE_CLUSTERS.path, project=multikueue_cluster)
        self.informers: Sequence[Informer[Any]] = (self.workloads, self.checks, self.clusters)
        for informer in self.informers:
            informer.on_bug = on_bug

    async def run(self) -> None:
        """Follows Kueue's objects until it is cancelled."""
        for informer in self.informers:
            show_broken(self._broken, informer, informer.resource)
        try:
            await follow(
                {informer.resource: informer.run for informer in self.informers}, self._on_bug
            )
        finally:
            # Remove the series: an informer that does not run cannot be broken.
            for informer in self.informers:
                self._broken.remove(informer.resource)


class _ClusterStatus(msgspec.Struct, frozen=True):
    conditions: tuple[ObjectCondition, ...] | None = None


class _MultiKueueCluster(msgspec.Struct, frozen=True):
    metadata: Metadata
    status: _ClusterStatus = _ClusterStatus()


def multikueue_cluster(raw: msgspec.Raw) -> tuple[str, bool]:
    """A MultiKueueCluster by its name: whether Kueue may reach it.

    A new one has no condition yet, which says nothing against it.
    """
    cluster = msgspec.json.decode(raw, type=_MultiKueueCluster)
    active = condition_of(cluster.status.conditions, "Active")
    return cluster.metadata.name, active.status != "False"
