"""The control loop of score garbage collection: deletes dead scores within the limit, and counts them."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.fence import Refusal
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.scoregc.candidates import DeadScore, find_dead
from gitops_dsf.reconciler.scoregc.deletion import DeletionResult, delete_if_dead
from gitops_dsf.reconciler.scoregc.limit import DAY, DeletionLimit
from gitops_dsf.reconciler.series import PREFIX, GaugeSet

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 15.0
"""Between two passes."""
CONFIRM_SECONDS: Final = 60.0
"""A score must be dead for this long: while an agent is replaced its add-on is unavailable for a moment."""
READS: Final = 50
"""Scores that one pass reads again at most."""
FOREIGN_SECONDS: Final = 3600.0
"""A score of another writer is read again after this time: an agent of ours may own it by then."""
NAMED: Final = 5
"""Clusters that an Event names at most."""


class ScoreGCMetrics:
    """Series by scorer; when the scorer is gone, by the name of its AddOnPlacementScores."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.dead = GaugeSet[tuple[str]](
            Gauge(
                f"{PREFIX}_dead_scores",
                "Scores that expired long ago and whose agent or cluster is gone.",
                ["scorer"],
                registry=registry,
            )
        )
        self.deleted = Counter(
            f"{PREFIX}_dead_scores_removed", "Dead scores that were deleted.", ["scorer"], registry=registry
        )
        self._blocked = GaugeSet[tuple[str]](
            Gauge(
                f"{PREFIX}_dead_scores_blocked",
                "1 while no dead score is deleted, by reason.",
                ["reason"],
                registry=registry,
            )
        )

    def block(self, reason: str) -> None:
        """Why no dead score is deleted now; empty when they are."""
        self._blocked.set({(reason,): 1} if reason else {})

    def clear(self) -> None:
        """Clears the gauges on losing leadership."""
        self.dead.set({})
        self.block("")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Owner:
    """The scorer of a resource, or a stand-in for one that is gone."""

    label: str
    ttl: float
    item: DynamicScorer | None


class ScoreGarbageCollector:
    """Deletes AddOnPlacementScores that carry our label, and writes nothing else."""

    name = "dead-scores"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        metrics: ScoreGCMetrics,
        events: Events,
        interval: float = INTERVAL_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api, self._view, self._events, self._interval, self._clock = api, view, events, interval, clock
        self._metrics = metrics
        self._informers = (view.scorers, view.scores, view.clusters, view.addons)
        self._limit = DeletionLimit(started=clock())
        self._dead_since: dict[tuple[str, str], float] = {}
        self._foreign_until: dict[tuple[str, str], float] = {}

    @property
    def ready(self) -> bool:
        """Whether everything that it decides by was read."""
        return all(informer.synced.is_set() for informer in self._informers)

    async def run(self) -> None:
        """Works until it is cancelled."""
        for informer in self._informers:
            await informer.synced.wait()
        try:
            while True:
                try:
                    await self._collect()
                except ApiError as error:
                    LOG.warning("dead scores are not deleted: %s", error)
                await asyncio.sleep(self._interval)
        finally:
            self._metrics.clear()

    async def _collect(self) -> None:
        if not self._api.clock.known:
            return  # only the hub's clock tells what has expired
        found = await self._find()
        now = self._clock()
        since = {
            (dead.resource, dead.cluster): self._dead_since.get((dead.resource, dead.cluster), now)
            for _, all_of in found
            for dead in all_of
        }
        self._dead_since = since
        self._foreign_until = {
            key: until for key, until in self._foreign_until.items() if until > now and key in since
        }
        numbers: dict[tuple[str], int] = {}
        blocked = self._blocked()
        self._metrics.block("" if blocked is None else blocked.reason)
        reads = READS if blocked is None else 0
        for owner, all_of in found:
            ours = [dead for dead in all_of if (dead.resource, dead.cluster) not in self._foreign_until]
            due = [dead for dead in ours if now - since[dead.resource, dead.cluster] >= CONFIRM_SECONDS]
            results = await self._delete(owner, due[:reads])
            reads -= len(results)
            done = sum(result in {DeletionResult.DELETED, DeletionResult.FOREIGN} for result in results)
            if len(ours) > done:
                key = (owner.label,)
                numbers[key] = numbers.get(key, 0) + len(ours) - done
        self._metrics.dead.set(numbers)

    def _blocked(self) -> Refusal | None:
        """What forbids every deletion now."""
        return self._api.no_deletion() or self._view.untrusted(self._informers)

    async def _find(self) -> list[tuple[_Owner, Sequence[DeadScore]]]:
        """Resources with dead scores. Yields to other tasks between two resources: a fleet has
        many scores.
        """
        view, now = self._view, self._api.now()
        owners = _owners(view.scorers.items)
        found: list[tuple[_Owner, Sequence[DeadScore]]] = []
        for resource in view.scores.resources():
            owner = owners.get(resource) or _Owner(label=resource, ttl=DAY, item=None)
            dead = find_dead(
                resource,
                view.scores.of(resource),
                clusters=view.clusters.items,
                addons=view.addons.items,
                ttl=owner.ttl,
                now=now,
                scorer=owner.item,
            )
            if dead:
                found.append((owner, dead))
            await asyncio.sleep(0)
        return found

    async def _delete(self, owner: _Owner, due: Sequence[DeadScore]) -> list[DeletionResult]:
        """Stops at the limit, and when the hub refuses a deletion.

        Raises ApiError, after it reported what was deleted until then.
        """
        results: list[DeletionResult] = []
        deleted: list[DeadScore] = []
        failure: ApiError | None = None
        for dead in due:
            clusters = self._view.scores.of(dead.resource)
            if not self._limit.left(dead.resource, clusters=clusters, ttl=owner.ttl, now=self._clock()):
                break
            try:
                results.append(await self._delete_one(owner, dead))
            except ApiError as error:
                failure = error
                break
            if results[-1] is DeletionResult.DELETED:
                deleted.append(dead)
            elif results[-1] is DeletionResult.REFUSED:
                break
        if deleted:
            await self._report(owner, deleted)
        if failure is not None:
            raise failure
        return results

    async def _delete_one(self, owner: _Owner, dead: DeadScore) -> DeletionResult:
        def before_deletion() -> None:
            self._limit.take(dead.resource, dead.cluster, ttl=owner.ttl, now=self._clock())

        result = await delete_if_dead(self._api, dead, ttl=owner.ttl, before_deletion=before_deletion)
        if result is DeletionResult.REFUSED:
            self._limit.give_back(dead.resource)
        elif result is DeletionResult.DELETED:
            self._metrics.deleted.labels(scorer=owner.label).inc()
        elif result is DeletionResult.FOREIGN:
            self._foreign_until[dead.resource, dead.cluster] = self._clock() + FOREIGN_SECONDS
        return result

    async def _report(self, owner: _Owner, deleted: Sequence[DeadScore]) -> None:
        if owner.item is None:
            return  # there is no object for an Event; the log has it
        names = ", ".join(f"{dead.cluster} ({dead.why})" for dead in deleted[:NAMED]) + (
            ", ..." if len(deleted) > NAMED else ""
        )
        message = f"deleted expired scores that no agent renews: {names}"
        await self._events.say(scorer_reference(owner.item), "Normal", "DeadScoresRemoved", message)


def _owners(scorers: Mapping[str, DynamicScorer]) -> dict[str, _Owner]:
    """By resource. When several scorers share one, the longest TTL counts."""
    owners: dict[str, _Owner] = {}
    for name, item in sorted(scorers.items()):
        known = owners.get(item.resource)
        if known is None or item.ttl > known.ttl:
            owners[item.resource] = _Owner(label=name, ttl=float(item.ttl), item=item)
    return owners
