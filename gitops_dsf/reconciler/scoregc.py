"""Score garbage collection (docs/operate/reconciler.md#score-garbage-collection): deletes expired scores that
no agent will renew.

An expired score still satisfies a predicate on its existence (`onMissingScore: Exclude`), and OCM does not
schedule again when a score expires. Deleting the score is an event that OCM reacts to.

Everything that a deletion depends on is read again first. The request names UID and resourceVersion, so the
hub deletes the version that was read, or nothing.
"""

import asyncio
import logging
from collections import Counter as Tally
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import (
    ADDON_NAME,
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    RUNS_ON_HUB,
    RUNS_ON_LABEL,
)
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.resources import ADDONS, CLUSTERS, SCORES
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.freshness import Owner, deadline, why_not_renewed
from gitops_dsf.reconciler.hub.kinds import StoredScore, scorer_reference
from gitops_dsf.wording import names_text

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 15.0
CONFIRM_SECONDS: Final = 60.0
"""A score must be dead for this long: while an agent is replaced its add-on is unavailable for a moment."""
READS: Final = 50
"""Scores that one pass reads again at most."""
KEPT_SECONDS: Final = 3600.0
"""A score that stayed, such as one of another writer, is read again after this time."""


class ScoreGarbageCollector:
    """Deletes AddOnPlacementScores that carry our label, and writes nothing else."""

    def __init__(self, context: ControllerContext, *, interval: float = INTERVAL_SECONDS) -> None:
        self._api, self._metrics, self._clock = context.api, context.metrics, context.clock
        self._scanner, self._events, self._interval = context.scanner, context.events, interval
        self._view = view = context.view
        self._informers = (view.scorers, view.scores, view.clusters, view.addons)
        self._dead_since: dict[tuple[str, str], float] = {}
        self._kept_until: dict[tuple[str, str], float] = {}

    async def run(self) -> None:
        await self._view.synced(*self._informers)
        while True:
            if self._api.clock.known:  # only the hub's clock tells what has expired
                await self._collect()
            await asyncio.sleep(self._interval)

    async def _collect(self) -> None:
        scan, now = await self._scanner.scan(), self._clock()
        self._dead_since = since = {key: self._dead_since.get(key, now) for key in scan.dead}
        self._kept_until = {
            key: until for key, until in self._kept_until.items() if until > now and key in since
        }
        due = [
            key
            for key in since
            if key not in self._kept_until and now - since[key] >= CONFIRM_SECONDS
        ]
        outdated, gone = self._view.stale_reason(self._informers), dict[tuple[str, str], str]()
        for resource, name in () if outdated else due[:READS]:
            owner, why = scan.owners.get(resource), ""
            try:
                why = await self._delete(resource, name, owner)
            except ApiError as error:
                LOG.warning("dead score %s of cluster %s not deleted: %s", resource, name, error)
                if not 400 <= error.status < 500:
                    break  # it concerns the others, too
            except UNREADABLE as error:
                LOG.warning("dead score %s of cluster %s cannot be read: %s", resource, name, error)
            if why:
                gone[resource, name] = why
                LOG.info("deleted the expired score %s of cluster %s: %s", resource, name, why)
                self._metrics.dead_scores_removed.labels(scorer=_label(resource, owner)).inc()
            else:
                self._kept_until[resource, name] = now + KEPT_SECONDS
        left = since.keys() - self._kept_until.keys() - gone.keys()
        self._metrics.dead_scores.set(
            Tally((_label(resource, scan.owners.get(resource)),) for resource, _ in left)
        )
        for resource, owner in scan.owners.items():
            words = [f"{name} ({why})" for (each, name), why in gone.items() if each == resource]
            if words:
                message = f"deleted expired scores that no agent renews: {names_text(words)}"
                self._events.record(scorer_reference(owner.item), "DeadScoresRemoved", message)

    async def _delete(self, resource: str, name: str, owner: Owner | None) -> str:
        """Returns why it was deleted; empty when it stays. Raises ApiError, and UNREADABLE."""
        scores, addons = SCORES.within(name).path, ADDONS.within(name).path
        found = await self._api.one(scores, resource, StoredScore)
        if found is None or found.metadata.deleting:
            return ""
        if found.metadata.label(MANAGED_BY_LABEL) != AGENT_MANAGER:
            return ""
        holder = await self._api.one(CLUSTERS.path, name, ManagedCluster)
        agent = await self._api.one(addons, ADDON_NAME, ManagedClusterAddOn)
        on_hub = found.metadata.label(RUNS_ON_LABEL) == RUNS_ON_HUB
        why = why_not_renewed(holder, agent, owner=owner, on_hub=on_hub)
        # Ask the hub's clock last: the answers above have just updated it.
        until = None if found.status is None else found.status.valid_until
        before = deadline(owner, now=self._api.now())
        if not why or not self._api.clock.known or until is None or until >= before:
            return ""
        await self._api.delete(
            f"{scores}/{resource}",
            uid=found.metadata.uid,
            resource_version=found.metadata.resource_version,
        )
        return why


def _label(resource: str, owner: Owner | None) -> str:
    return resource if owner is None else owner.item.name
