"""The informers of every resource, shared by all controllers."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from prometheus_client import Gauge

from dsf_runtime.informer import Informer
from gitops_dsf.hub.maintenance import read_maintenance
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_KEY, MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.resources import (
    ADDONS,
    APPLICATION_SETS,
    APPLICATIONS,
    CLUSTERS,
    DECISIONS,
    PLACEMENTS,
    SCORERS,
)
from gitops_dsf.hub.targets import read_masks
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.configmaps import ConfigMapPoll
from gitops_dsf.reconciler.hub.kinds import (
    OURS,
    ScoreInformer,
    addon,
    application,
    application_set,
    cluster,
    decision_page,
    placement,
    scorer,
)


def _is_broken(informer: Informer[Any]) -> float:
    return float(bool(informer.broken))


class HubView:
    """Read-only for controllers. It is one itself: informers run while this replica leads."""

    def __init__(self, *, api: HubApi, hub_namespace: str, argocd_namespace: str, broken: Gauge) -> None:
        """`broken` shows which informers are, by the label resource."""
        self.hub_namespace = hub = hub_namespace
        self.argocd_namespace = argocd = argocd_namespace
        self.scorers = Informer(api=api, path=SCORERS.within(hub).path, project=scorer)
        self.scores = ScoreInformer(api=api)
        self.clusters = Informer(api=api, path=CLUSTERS.path, project=cluster)
        self.addons = Informer(
            api=api, path=ADDONS.path, project=addon, selector=OURS, key=lambda cluster, _: cluster
        )
        self.placements = Informer(api=api, path=PLACEMENTS.within(argocd).path, project=placement)
        self.decisions = Informer(api=api, path=DECISIONS.within(argocd).path, project=decision_page)
        self.sets = Informer(api=api, path=APPLICATION_SETS.within(argocd).path, project=application_set)
        self.applications = Informer(api=api, path=APPLICATIONS.within(argocd).path, project=application)
        self.masks = ConfigMapPoll(
            api=api, namespace=hub, name=MASKS_CONFIGMAP, key=MASKS_KEY, read=read_masks
        )
        self.maintenance = ConfigMapPoll(
            api=api, namespace=hub, name=MAINTENANCE_CONFIGMAP, key=MAINTENANCE_KEY, read=read_maintenance
        )
        self.informers: Sequence[Informer[Any]] = (
            self.scorers,
            self.scores,
            self.clusters,
            self.addons,
            self.placements,
            self.decisions,
            self.sets,
            self.applications,
        )
        for informer in self.informers:
            broken.labels(resource=informer.resource).set_function(partial(_is_broken, informer))

    @property
    def waits_for(self) -> str:
        """Resources whose list was not read yet, and why informers are broken. Empty when all is well."""
        unread = ", ".join(each.resource for each in self.informers if not each.synced.is_set())
        return "; ".join(filter(None, (unread, *(informer.broken for informer in self.informers))))

    @staticmethod
    def untrusted(informers: Iterable[Informer[Any]]) -> str:
        """What forbids a deletion that depends on these informers; empty if nothing does."""
        found = next((informer.broken for informer in informers if informer.broken), "")
        return f"what it depends on may be outdated: {found}" if found else ""

    async def synced(self, *sources: Informer[Any] | ConfigMapPoll[Any]) -> None:
        """Waits until each of these was read once; by default all of them."""
        for source in sources or (*self.informers, self.masks):
            await source.synced.wait()

    async def run(self) -> None:
        """Runs all informers until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.informers:
                group.create_task(informer.run())
            group.create_task(self.masks.run())
            group.create_task(self.maintenance.run())
