"""The hub as all controllers see it: informers, polled ConfigMaps and the scorers.

Each resource has one informer, and one list of the rendered ConfigMaps has the scorers. Not
guaranteed: that two informers show the same moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
    addon,
    application,
    application_set,
    cluster,
    decision_page,
    placement,
    scorer,
)
from gitops_dsf.reconciler.hub.scorecolumns import ScoreInformer
from gitops_dsf.reconciler.hub.scorersource import ScorerSource
from gitops_dsf.reconciler.restarts import keep
from gitops_dsf.repository.model.repository import Delivery

Source = Informer[Any] | ConfigMapPoll[Any] | ScorerSource
"""A source that a controller reads."""


class HubView:
    """Read-only for controllers. Its informers run while this replica leads.

    An informer can be behind, or outdated without knowing it yet. So a controller reads what it
    deletes or replaces again, and names its UID and resourceVersion.
    """

    def __init__(
        self,
        *,
        api: HubApi,
        hub_namespace: str,
        argocd_namespace: str,
        delivery: Delivery,
        broken: Gauge,
        on_bug: Callable[[], None] = lambda: None,
    ) -> None:
        """`delivery` says whose agents publish the scores.

        `broken` shows which informers are, by the label resource.

        `on_bug` counts bugs in informers and their listeners.
        """
        self._on_bug = on_bug
        self.delivery = delivery
        self.hub_namespace = hub_namespace
        self.argocd_namespace = argocd_namespace
        scorers = SCORERS.within(hub_namespace).path
        placements = PLACEMENTS.within(argocd_namespace).path
        decisions = DECISIONS.within(argocd_namespace).path
        sets = APPLICATION_SETS.within(argocd_namespace).path
        applications = APPLICATIONS.within(argocd_namespace).path
        self.scorer_objects = Informer(api=api, path=scorers, project=scorer)
        """DynamicScorers: where the status of scorers is. What runs is in `scorers`."""
        self.scorers = ScorerSource(api=api, namespace=hub_namespace, objects=self.scorer_objects)
        self.scores = ScoreInformer(api=api)
        self.clusters = Informer(api=api, path=CLUSTERS.path, project=cluster)
        self.addons = Informer(
            api=api,
            path=ADDONS.path,
            project=addon,
            # Every other add-on has an object on each cluster, too, and none of them is needed.
            # Those that remain have one name, so their namespace, the cluster, is the key.
            selector={"fieldSelector": f"metadata.name={delivery.addon}"},
            key=lambda cluster, _: cluster,
        )
        self.placements = Informer(api=api, path=placements, project=placement)
        self.decisions = Informer(api=api, path=decisions, project=decision_page)
        self.sets = Informer(api=api, path=sets, project=application_set)
        self.applications = Informer(api=api, path=applications, project=application)
        # Polled, because a watch would need rights to all ConfigMaps of the namespace.
        self.masks = ConfigMapPoll(
            api=api, namespace=hub_namespace, name=MASKS_CONFIGMAP, key=MASKS_KEY, read=read_masks
        )
        self.maintenance = ConfigMapPoll(
            api=api,
            namespace=hub_namespace,
            name=MAINTENANCE_CONFIGMAP,
            key=MAINTENANCE_KEY,
            read=read_maintenance,
        )
        self.informers: Sequence[Informer[Any]] = (
            self.scorer_objects,
            self.scores,
            self.clusters,
            self.addons,
            self.placements,
            self.decisions,
            self.sets,
            self.applications,
        )
        for informer in self.informers:
            informer.on_bug = on_bug
            show_broken(broken, informer, informer.resource)
        show_broken(broken, self.scorers, self.scorers.resource)

    @property
    def waits_for(self) -> str:
        """Resources whose list was not read yet, and why informers are broken.

        Empty when all is well.
        """
        unread: list[str] = []
        broken: list[str] = []
        if self.scorers.broken:
            broken.append(self.scorers.broken)
        for informer in self.informers:
            if not informer.synced.is_set():
                unread.append(informer.resource)
            if informer.broken:
                broken.append(informer.broken)
        reasons = [", ".join(unread), *broken] if unread else broken
        return "; ".join(reasons)

    @staticmethod
    def stale_reason(sources: Iterable[Source]) -> str:
        """The reason why nothing that depends on these sources may be decided now.

        It is empty if they are current.
        """
        for source in sources:
            if source.broken:
                return f"what it depends on may be outdated: {source.broken}"
        return ""

    async def run(self) -> None:
        sources = {
            **{informer.resource: informer.run for informer in self.informers},
            self.scorers.resource: self.scorers.run,
            self.masks.name: self.masks.run,
            self.maintenance.name: self.maintenance.run,
        }
        await follow(sources, self._on_bug)


async def follow(
    sources: Mapping[str, Callable[[], Awaitable[None]]], on_bug: Callable[[], None]
) -> None:
    """Runs informers and polls, by name, until it is cancelled. `on_bug` counts each bug."""
    async with asyncio.TaskGroup() as group:
        for name, run in sources.items():
            # A bug in one must not make the others read their lists again.
            group.create_task(keep(f"watch of {name}", run, failed=on_bug))


def show_broken(gauge: Gauge, source: Source, resource: str) -> None:
    """Shows whether a source is broken, by the label resource."""
    gauge.labels(resource=resource).set_function(partial(_is_broken, source))


def _is_broken(source: Source) -> float:
    return float(bool(source.broken))
