"""Every resource that duties look at, kept once for all of them."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from gitops_dsf.reconciler.hub.addons import ADDONS_PATH, OURS, Addon, addon
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.applications import APPLICATIONS_PATH, application
from gitops_dsf.reconciler.hub.applicationsets import SETS_PATH, follower
from gitops_dsf.reconciler.hub.clusters import CLUSTERS_PATH, Cluster, cluster
from gitops_dsf.reconciler.hub.decisions import DECISIONS_PATH, decision_page
from gitops_dsf.reconciler.hub.fence import Refusal
from gitops_dsf.reconciler.hub.masks import MaskPoll
from gitops_dsf.reconciler.hub.metrics import WatchMetrics
from gitops_dsf.reconciler.hub.mirror import Mirror
from gitops_dsf.reconciler.hub.placements import PLACEMENTS_PATH, placement
from gitops_dsf.reconciler.hub.scorers import SCORERS_PATH, scorer
from gitops_dsf.reconciler.hub.scores import ScoreMirror
from gitops_dsf.reconciler.hub.territory import Territory

RETRY_SECONDS: Final = 5.0
"""Until a broken mirror is worth another look."""


class HubView:
    """Read-only for duties. It is a duty itself (`duty.Duty`), because what it reads must be followed while this replica leads."""

    name = "watch"

    def __init__(self, *, api: HubApi, hub_namespace: str, argocd_namespace: str, metrics: WatchMetrics | None = None) -> None:
        self._metrics = metrics
        self.hub_namespace, self.argocd_namespace = hub_namespace, argocd_namespace
        self.scorers = Mirror(api=api, path=SCORERS_PATH.format(hub_namespace), project=scorer)
        self.scores = ScoreMirror(api=api)
        self.clusters = Mirror(api=api, path=CLUSTERS_PATH, project=cluster)
        self.addons = Mirror(api=api, path=ADDONS_PATH, project=addon, selector=OURS, key=lambda cluster, _: cluster)
        self.placements = Mirror(api=api, path=PLACEMENTS_PATH.format(argocd_namespace), project=placement)
        self.decisions = Mirror(api=api, path=DECISIONS_PATH.format(argocd_namespace), project=decision_page)
        self.sets = Mirror(api=api, path=SETS_PATH.format(argocd_namespace), project=follower)
        self.applications = Mirror(api=api, path=APPLICATIONS_PATH.format(argocd_namespace), project=application)

        self.masks = MaskPoll(api=api, namespace=hub_namespace)
        self._territory: Territory | None = None
        self.clusters.listen(self._on_cluster)
        self.addons.listen(self._on_addon)

    @property
    def territory(self) -> Territory:
        """Where scorers should run now; another object whenever that may have changed."""
        if self._territory is None or self._territory.masks is not self.masks.current:
            self._territory = Territory(clusters=self.clusters.items, addons=self.addons.items, masks=self.masks.current)
        return self._territory

    @property
    def mirrors(self) -> Sequence[Mirror[Any]]:
        """All of them."""
        return (
            self.scorers,
            self.scores,
            self.clusters,
            self.addons,
            self.placements,
            self.decisions,
            self.sets,
            self.applications,
        )

    @property
    def ready(self) -> bool:
        """Whether every list was read once, and all can be trusted."""
        return self.masks.synced.is_set() and all(mirror.synced.is_set() and not mirror.broken for mirror in self.mirrors)

    @property
    def broken(self) -> Sequence[str]:
        """Why mirrors may be old, one sentence each."""
        return [mirror.broken for mirror in self.mirrors if mirror.broken]

    @staticmethod
    def untrusted(mirrors: Iterable[Mirror[Any]]) -> Refusal | None:
        """What speaks against a deletion that rests on these."""
        found = next((mirror.broken for mirror in mirrors if mirror.broken), "")
        return Refusal(reason="InformerBroken", message=f"what it rests on may be old: {found}", seconds=RETRY_SECONDS) if found else None

    async def synced(self) -> None:
        """Waits until every list was read once."""
        await self.masks.synced.wait()
        for mirror in self.mirrors:
            await mirror.synced.wait()

    async def refresh(self) -> None:
        """Reads every list anew. Raises ApiError."""
        await self.masks.refresh()
        for mirror in self.mirrors:
            await mirror.refresh()

    async def run(self) -> None:
        """Follows all resources until it is cancelled."""
        with self._metrics.following(self.mirrors) if self._metrics is not None else contextlib.nullcontext():
            async with asyncio.TaskGroup() as group:
                for mirror in self.mirrors:
                    group.create_task(mirror.run())
                group.create_task(self.masks.run())

    def _on_cluster(self, key: str, item: Cluster | None) -> None:
        if self._territory is not None and not self._territory.holds_for_cluster(key, item):
            self._territory = None

    def _on_addon(self, key: str, item: Addon | None) -> None:
        if self._territory is not None and not self._territory.holds_for_addon(key, item):
            self._territory = None
