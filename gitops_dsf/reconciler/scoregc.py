"""Score garbage collection: deletes expired scores that no agent will renew.

An expired score still satisfies a predicate on its existence (`onMissingScore: Exclude`), and OCM
does not schedule again when a score expires. Deleting the score is an event that OCM reacts to.

Everything that a deletion depends on is read again first. The request names UID and
resourceVersion, so the hub deletes the version that was read, or nothing
(docs/operate/reconciler.md#score-garbage-collection).

Not guaranteed: that a dead score goes soon. It must be dead for a minute by informers that are
current, and a score that cannot be deleted is left for an hour.
"""

import logging
from collections import Counter as Tally
from collections.abc import Mapping
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.informer import UNREADABLE
from dsf_wire.constants import (
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    RUNS_ON_HUB,
    RUNS_ON_LABEL,
)
from gitops_dsf.hub.objects import ManagedCluster, ManagedClusterAddOn
from gitops_dsf.hub.resources import ADDONS, CLUSTERS, SCORES
from gitops_dsf.hub.scores import Interner
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.freshness import Owner, deadline, why_not_renewed
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.hub.scorecolumns import StoredScore
from gitops_dsf.reconciler.loop import run_controller
from gitops_dsf.wording import names_text

INTERVAL_SECONDS: Final = 15.0
CONFIRM_SECONDS: Final = 60.0
"""A score must be dead for this long.

While an agent is replaced, its add-on is unavailable for a moment.
"""
MAX_READS: Final = 50
"""Scores that one pass reads again."""
KEPT_SECONDS: Final = 3600.0
"""A score that stayed, such as one of another writer, is read again after this time."""

LOG = logging.getLogger(__name__)

DeadScore = tuple[str, str]
"""The name of a score, and its cluster."""


class ScoreGarbageCollector:
    """Deletes AddOnPlacementScores that carry our label, and writes nothing else."""

    def __init__(self, context: ControllerContext, *, interval: float = INTERVAL_SECONDS) -> None:
        self._context = context
        self._api = context.api
        self._addon = context.delivery.addon
        self._clock = context.clock
        self._interval = interval
        self._dead_since: dict[DeadScore, float] = {}
        self._kept_until: dict[DeadScore, float] = {}

    async def run(self) -> None:
        view = self._context.view
        await run_controller(
            self._reconcile,
            name="dead-scores",
            context=self._context,
            failing="dead scores are not deleted now",
            requires=(view.scorers, view.scores, view.clusters, view.addons),
            # Only the hub's clock decides whether a score has expired.
            needs_clock=True,
        )

    async def _reconcile(self) -> float:
        scan = await self._context.scanner.scan()
        now = self._clock()
        self._dead_since = {key: self._dead_since.get(key, now) for key in scan.dead}
        for key, until in tuple(self._kept_until.items()):
            if until <= now or key not in self._dead_since:
                del self._kept_until[key]
        due: list[DeadScore] = []
        for key, since in self._dead_since.items():
            if key not in self._kept_until and now - since >= CONFIRM_SECONDS:
                due.append(key)
        removed: dict[DeadScore, str] = {}
        for key in due[:MAX_READS]:
            resource, cluster = key
            owner = scan.owners.get(resource)
            reason = ""
            try:
                reason = await self._delete(resource, cluster, owner)
            except ApiError as error:
                LOG.warning("dead score %s of cluster %s not deleted: %s", resource, cluster, error)
                if not 400 <= error.status < 500:
                    # The hub does not answer, or has trouble: that concerns the others, too.
                    break
            except UNREADABLE as error:
                LOG.warning(
                    "dead score %s of cluster %s cannot be read: %s", resource, cluster, error
                )
            if not reason:
                self._kept_until[key] = now + KEPT_SECONDS
                continue
            removed[key] = reason
            LOG.info("deleted the expired score %s of cluster %s: %s", resource, cluster, reason)
            label = _label(resource, owner)
            self._context.metrics.dead_scores_removed.labels(scorer=label).inc()
        self._report(removed, scan.owners)
        return self._interval

    def _report(self, removed: Mapping[DeadScore, str], owners: Mapping[str, Owner]) -> None:
        remaining = self._dead_since.keys() - self._kept_until.keys() - removed.keys()
        self._context.metrics.dead_scores.set(
            Tally((_label(resource, owners.get(resource)),) for resource, _ in remaining)
        )
        for resource, owner in owners.items():
            clusters: list[str] = []
            for (name, cluster), reason in removed.items():
                if name == resource:
                    clusters.append(f"{cluster} ({reason})")
            if clusters:
                message = f"deleted expired scores that no agent renews: {names_text(clusters)}"
                about = scorer_reference(owner.item)
                self._context.events.record(about, "DeadScoresRemoved", message)

    async def _delete(self, resource: str, cluster: str, owner: Owner | None) -> str:
        """Returns why it was deleted; empty when it stays. Raises ApiError, and UNREADABLE."""
        scores = SCORES.within(cluster).path
        score = await self._api.one(scores, resource, StoredScore)
        if score is None or score.metadata.deleting:
            return ""
        # The informer does not keep who manages a score: most are of our agents.
        if score.metadata.label(MANAGED_BY_LABEL) != AGENT_MANAGER:
            return ""
        holder = await self._api.one(CLUSTERS.path, cluster, ManagedCluster)
        agent = await self._api.one(ADDONS.within(cluster).path, self._addon, ManagedClusterAddOn)
        on_hub = score.metadata.label(RUNS_ON_LABEL) == RUNS_ON_HUB
        reason = why_not_renewed(holder, agent, owner=owner, on_hub=on_hub)
        valid_until = None if score.status is None else score.status.valid_until
        # Ask the hub's clock last: the answers above have just updated it.
        before = deadline(owner, now=self._api.now())
        is_over = valid_until is not None and valid_until < before
        if Interner().of(score.status).only_failure:
            # It counts for nothing already, and only says why there is no score.
            is_over = True
        if not reason or not self._api.clock.known or not is_over:
            return ""
        await self._api.delete(
            f"{scores}/{resource}",
            uid=score.metadata.uid,
            resource_version=score.metadata.resource_version,
        )
        return reason


def _label(resource: str, owner: Owner | None) -> str:
    return resource if owner is None else owner.item.name
