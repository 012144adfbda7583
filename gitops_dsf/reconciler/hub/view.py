"""What all controllers see: the informers, and each Placement's decided clusters over all pages."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from prometheus_client import Gauge

from dsf_runtime.clock import monotonic
from dsf_runtime.informer import Informer
from gitops_dsf.hub.maintenance import read_maintenance
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_KEY, MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.objects import PlacementDecision
from gitops_dsf.hub.placements import clusters_by_placement
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
from gitops_dsf.reconciler.hub.api import ConfigMapPoll, HubApi
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
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.restarts import keep

DEBOUNCE_SECONDS: Final = 5.0
"""A decision counts when it has not changed for this long: OCM writes its pages one after another."""
FORGET_SECONDS: Final = 600.0
"""A Placement without pages is forgotten after this time. Until then its return counts as a change."""


def _is_broken(informer: Informer[Any]) -> float:
    return float(bool(informer.broken))


class HubView:
    """Read-only for controllers. It is one itself: informers run while this replica leads."""

    def __init__(
        self,
        *,
        api: HubApi,
        hub_namespace: str,
        argocd_namespace: str,
        broken: Gauge,
        on_bug: Callable[[], None] = lambda: None,
    ) -> None:
        """`broken` shows which informers are, by the label resource. `on_bug` counts bugs in informers and
        their listeners.
        """
        self._on_bug = on_bug
        self.hub_namespace = hub = hub_namespace
        self.argocd_namespace = argocd = argocd_namespace
        self.scorers = Informer(api=api, path=SCORERS.within(hub).path, project=scorer)
        self.scores = ScoreInformer(api=api)
        self.clusters = Informer(api=api, path=CLUSTERS.path, project=cluster)
        self.addons = Informer(
            api=api, path=ADDONS.path, project=addon, selector=OURS, key=lambda cluster, _: cluster
        )
        self.placements = Informer(api=api, path=PLACEMENTS.within(argocd).path, project=placement)
        self.decisions = Informer(
            api=api, path=DECISIONS.within(argocd).path, project=decision_page
        )
        self.sets = Informer(
            api=api, path=APPLICATION_SETS.within(argocd).path, project=application_set
        )
        self.applications = Informer(
            api=api, path=APPLICATIONS.within(argocd).path, project=application
        )
        self.masks = ConfigMapPoll(
            api=api, namespace=hub, name=MASKS_CONFIGMAP, key=MASKS_KEY, read=read_masks
        )
        self.maintenance = ConfigMapPoll(
            api=api,
            namespace=hub,
            name=MAINTENANCE_CONFIGMAP,
            key=MAINTENANCE_KEY,
            read=read_maintenance,
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
            informer.on_bug = on_bug
            broken.labels(resource=informer.resource).set_function(partial(_is_broken, informer))

    @property
    def waits_for(self) -> str:
        """Resources whose list was not read yet, and why informers are broken. Empty when all is well."""
        unread = ", ".join(each.resource for each in self.informers if not each.synced.is_set())
        return "; ".join(filter(None, (unread, *(informer.broken for informer in self.informers))))

    @staticmethod
    def stale_reason(informers: Iterable[Informer[Any]]) -> str:
        """What forbids a deletion that depends on these informers; empty if nothing does."""
        found = next((informer.broken for informer in informers if informer.broken), "")
        return f"what it depends on may be outdated: {found}" if found else ""

    async def synced(self, *sources: Informer[Any] | ConfigMapPoll[Any]) -> None:
        """Waits until each of these was read once; by default all of them."""
        for source in sources or (*self.informers, self.masks):
            await source.synced.wait()

    async def run(self) -> None:
        sources = {
            **{informer.resource: informer.run for informer in self.informers},
            self.masks.name: self.masks.run,
            self.maintenance.name: self.maintenance.run,
        }
        async with asyncio.TaskGroup() as group:
            for name, run in sources.items():
                # A bug in one must not make the others read their lists again.
                group.create_task(keep(f"watch of {name}", run, failed=self._on_bug))


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionSet:
    """The clusters of all pages of one Placement, and since when they are unchanged."""

    clusters: frozenset[str]
    since: float


class DecisionSets(dict[str, DecisionSet]):
    """The decisions of all Placements that ever had a page, by name. Pure: times are passed in."""

    def observe(self, pages: Iterable[PlacementDecision], now: float) -> set[str]:
        """Updates the decisions by all pages. Returns the Placements that are new or have changed."""
        found, differ = clusters_by_placement(pages), set[str]()
        for name in found.keys() | self.keys():
            clusters, before = found.get(name, frozenset()), self.get(name)
            if before is None or before.clusters != clusters:
                self[name] = DecisionSet(clusters=clusters, since=now)
                differ.add(name)
            elif name not in found and now - before.since > FORGET_SECONDS:
                del self[name]
        return differ


class DecisionTracker:
    """Notes each change of a decision at once: debouncing counts from that time."""

    def __init__(
        self, *, view: HubView, metrics: Metrics, clock: Callable[[], float] = monotonic
    ) -> None:
        self._pages = view.decisions
        self._metrics = metrics
        self._clock = clock
        self.decisions = DecisionSets()
        self._listeners: list[Callable[[], None]] = []
        self._scheduled = False
        view.decisions.listen(self._on_page)

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def observe(self) -> None:
        """Reads all pages as they are now."""
        self._scheduled = False
        known = set(self.decisions)
        for name in self.decisions.observe(self._pages.items.values(), self._clock()):
            if name in known:
                self._metrics.decision_changes.labels(placement=name).inc()
        for name in known - self.decisions.keys():
            self._metrics.decision_changes.remove(name)
        self._metrics.decision_clusters.set(
            {(name,): len(item.clusters) for name, item in self.decisions.items()}
        )
        for listener in self._listeners:
            listener()

    def _on_page(self, _key: str, _item: object) -> None:
        # Once for all changes of a list: the pages in between are of no decision that ever existed.
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.observe)
