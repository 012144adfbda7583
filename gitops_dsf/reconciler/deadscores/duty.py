"""Duty: removes dead scores, a few at a time, and says how many there are."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.clock import monotonic
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.deadscores.allowance import DAY, Allowance
from gitops_dsf.reconciler.deadscores.candidates import DeadScore, find_dead
from gitops_dsf.reconciler.deadscores.removal import Outcome, remove
from gitops_dsf.reconciler.events import Events
from gitops_dsf.reconciler.hub.api import HubApi
from gitops_dsf.reconciler.hub.fence import Refusal
from gitops_dsf.reconciler.hub.view import HubView
from gitops_dsf.reconciler.metrics import Metrics
from gitops_dsf.reconciler.scorers.about import about

LOG = logging.getLogger(__name__)
LOOK_SECONDS: Final = 15.0
"""Between two looks."""
STAND_SECONDS: Final = 60.0
"""For which a score must look dead: while an agent is replaced its add-on is unavailable for a moment."""
READS: Final = 50
"""Scores that are read again in one look at most."""
FOREIGN_SECONDS: Final = 3600.0
"""After which a score that is not ours is read again: an agent may have taken it over."""
NAMED: Final = 5
"""Clusters that an Event names at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Owner:
    """The scorer of a resource, or what stands for one that is gone."""

    label: str
    ttl: float
    item: DynamicScorer | None


class DeadScoresDuty:
    """Deletes AddOnPlacementScores that carry our label, and writes nothing else."""

    name = "dead-scores"

    def __init__(
        self,
        *,
        api: HubApi,
        view: HubView,
        metrics: Metrics,
        events: Events,
        look_seconds: float = LOOK_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._api, self._view, self._events, self._pause, self._clock = api, view, events, look_seconds, clock
        self._metrics = metrics.dead_scores
        self._allowance = Allowance(started=clock())
        self._since: dict[tuple[str, str], float] = {}
        self._foreign: dict[tuple[str, str], float] = {}

    @property
    def ready(self) -> bool:
        """Whether everything that it judges by was read."""
        return all(seen.is_set() for seen in self._needs())

    async def run(self) -> None:
        """Works until it is cancelled."""
        for seen in self._needs():
            await seen.wait()
        try:
            while True:
                try:
                    await self._look()
                except ApiError as error:
                    LOG.warning("dead scores are not removed: %s", error)
                await asyncio.sleep(self._pause)
        finally:
            # Another replica tells from now on.
            self._metrics.show({})
            self._metrics.block("")

    async def _look(self) -> None:
        if not self._api.clock.known:
            return  # what is expired is for the hub's clock to say
        found = await self._find()
        now = self._clock()
        standing = {
            (dead.resource, dead.cluster): self._since.get((dead.resource, dead.cluster), now)
            for _, all_of in found
            for dead in all_of
        }
        self._since = standing
        self._foreign = {
            key: until for key, until in self._foreign.items() if until > now and key in standing
        }
        numbers: dict[str, int] = {}
        blocked = self._blocked()
        self._metrics.block("" if blocked is None else blocked.reason)
        reads = READS if blocked is None else 0
        for owner, all_of in found:
            ours = [dead for dead in all_of if (dead.resource, dead.cluster) not in self._foreign]
            ripe = [dead for dead in ours if now - standing[dead.resource, dead.cluster] >= STAND_SECONDS]
            outcomes = await self._remove(owner, ripe[:reads])
            reads -= len(outcomes)
            settled = sum(outcome in {Outcome.REMOVED, Outcome.FOREIGN} for outcome in outcomes)
            if len(ours) > settled:
                numbers[owner.label] = numbers.get(owner.label, 0) + len(ours) - settled
        self._metrics.show(numbers)

    def _blocked(self) -> Refusal | None:
        """What speaks against every removal now."""
        view = self._view
        return self._api.no_deletion() or view.untrusted(
            (view.scorers, view.scores, view.clusters, view.addons)
        )

    async def _find(self) -> list[tuple[_Owner, Sequence[DeadScore]]]:
        """Resources with dead scores. A look at all scores of a fleet is cut up, so that other work
        goes on.
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
            )
            if dead:
                found.append((owner, dead))
            await asyncio.sleep(0)
        return found

    async def _remove(self, owner: _Owner, ripe: Sequence[DeadScore]) -> list[Outcome]:
        """Stops at the limit, and where the hub refuses. Raises ApiError, after it reported what was removed
        until then.
        """
        outcomes: list[Outcome] = []
        removed: list[DeadScore] = []
        failure: ApiError | None = None
        for dead in ripe:
            clusters = self._view.scores.of(dead.resource)
            if not self._allowance.left(dead.resource, clusters=clusters, ttl=owner.ttl, now=self._clock()):
                break
            try:
                outcomes.append(await self._remove_one(owner, dead))
            except ApiError as error:
                failure = error
                break
            if outcomes[-1] is Outcome.REMOVED:
                removed.append(dead)
            elif outcomes[-1] is Outcome.REFUSED:
                break
        if removed:
            await self._report(owner, removed)
        if failure is not None:
            raise failure
        return outcomes

    async def _remove_one(self, owner: _Owner, dead: DeadScore) -> Outcome:
        def about_to() -> None:
            self._allowance.take(dead.resource, dead.cluster, ttl=owner.ttl, now=self._clock())

        outcome = await remove(self._api, dead, ttl=owner.ttl, about_to=about_to)
        if outcome is Outcome.REFUSED:
            self._allowance.give_back(dead.resource)
        elif outcome is Outcome.REMOVED:
            self._metrics.removed.labels(scorer=owner.label).inc()
        elif outcome is Outcome.FOREIGN:
            self._foreign[dead.resource, dead.cluster] = self._clock() + FOREIGN_SECONDS
        return outcome

    async def _report(self, owner: _Owner, removed: Sequence[DeadScore]) -> None:
        if owner.item is None:
            return  # the log has it; there is nothing that an Event could be about
        names = ", ".join(f"{dead.cluster} ({dead.why})" for dead in removed[:NAMED]) + (
            ", ..." if len(removed) > NAMED else ""
        )
        message = f"removed scores that nobody renews: {names}"
        await self._events.say(about(owner.item), "Normal", "DeadScoresRemoved", message)

    def _needs(self) -> tuple[asyncio.Event, ...]:
        view = self._view
        return (view.scorers.synced, view.scores.synced, view.clusters.synced, view.addons.synced)


def _owners(scorers: Mapping[str, DynamicScorer]) -> dict[str, _Owner]:
    """By resource. Where several scorers share one, the longest TTL counts."""
    owners: dict[str, _Owner] = {}
    for name, item in sorted(scorers.items()):
        known = owners.get(item.resource)
        if known is None or item.ttl > known.ttl:
            owners[item.resource] = _Owner(label=name, ttl=float(item.ttl), item=item)
    return owners
