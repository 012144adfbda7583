"""Asks Argo CD to look at a changed decision at once, and not only at its next poll.

It also asks for an ApplicationSet that is newer than the first page of its decision: Argo CD found
no decision, and would look again only after three minutes.

Argo CD looks after every change of an annotation, and removes this one only after it succeeded
(docs/contributing/behaviour.md#refresh-annotation). Setting the same value again is not a change,
so each value is new.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff, Pauses
from gitops_dsf.hub.application_sets import ApplicationSet
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.hub.resources import APPLICATION_SETS
from gitops_dsf.reconciler.context import ControllerContext
from gitops_dsf.reconciler.hub.decisions import DEBOUNCE_SECONDS, DecisionSets
from gitops_dsf.reconciler.loop import run_controller

MAX_REFRESHES_PER_SECOND: Final = 10.0
"""Refreshes of all ApplicationSets together. After a restart each one is refreshed once."""
RETRY_SECONDS: Final = 2.0
"""The time from a refresh to the next look."""
REFUSAL_BACKOFF: Final = Backoff(first=2.0, ceiling=120.0)
"""Pauses after refusals for one ApplicationSet. Argo CD looks by itself every three minutes."""
MIN_INTERVAL_SECONDS: Final = 10.0
"""Shortest time between two refreshes of one ApplicationSet."""
REPEAT_AFTER_SECONDS: Final = 30.0
"""The time after which an annotation that Argo CD did not remove is written again: its look failed.
"""
MAX_LOGGED: Final = 10
"""Clusters that the log names for one refresh."""

LOG = logging.getLogger(__name__)

FollowedDecisions = frozenset[tuple[str, frozenset[str]]]
"""Placements with their clusters, without empty decisions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet to refresh, and the decisions that Argo CD should read.

    `since` is the time since which these decisions hold.
    """

    name: str
    uid: str
    wanted: FollowedDecisions
    since: float
    again: bool
    """Whether it was refreshed for these decisions before, and Argo CD failed to look."""


class DueRefreshes(NamedTuple):
    """The refreshes that are due at one time."""

    now: list[Due]
    wait: float | None
    """The seconds until the next one is due; None while nothing waits."""


class _Refresh(NamedTuple):
    """The last refresh of an ApplicationSet."""

    decisions: FollowedDecisions
    at: float


@dataclass(kw_only=True)
class RefreshDebounce:
    """Remembers for which decisions each ApplicationSet was refreshed, and when.

    Pure: times are passed in.

    An empty decision never counts, so nothing is deleted because something is missing; when it has
    clusters again, it counts as changed.
    """

    decisions: DecisionSets
    _refreshed: dict[str, _Refresh] = field(default_factory=dict)
    """The refreshes that were made, by UID of the ApplicationSet."""

    def due(self, sets: Mapping[str, ApplicationSet], now: float) -> DueRefreshes:
        """The ApplicationSets to refresh now, and when the next one is due."""
        due_now: list[Due] = []
        waits: list[float] = []
        kept: dict[str, _Refresh] = {}
        for name, application_set in sorted(sets.items()):
            uid = application_set.uid
            wanted, since = self._followed_by(application_set)
            ready = since + DEBOUNCE_SECONDS
            seen = FollowedDecisions()
            if uid in self._refreshed:
                # A decision that became empty is forgotten, so that the same clusters are a change
                # when they are decided again.
                nonempty = dict(wanted)
                before = self._refreshed[uid]
                seen = frozenset(pair for pair in before.decisions if pair[0] in nonempty)
                kept[uid] = _Refresh(seen, before.at)
                pause = MIN_INTERVAL_SECONDS if wanted - seen else REPEAT_AFTER_SECONDS
                ready = max(ready, before.at + pause)
            # After an error of a generator Argo CD 3.6 tries again only after three minutes
            # (applicationset_controller.go), whatever requeueAfterSeconds says.
            again = bool(wanted) and application_set.asked and wanted == seen
            if not (wanted - seen or again):
                continue
            if now >= ready:
                due_now.append(Due(name=name, uid=uid, wanted=wanted, since=since, again=again))
            else:
                waits.append(ready - now)
        self._refreshed = kept
        return DueRefreshes(due_now, min(waits, default=None))

    def _followed_by(self, application_set: ApplicationSet) -> tuple[FollowedDecisions, float]:
        """The decisions that an ApplicationSet follows, and since when they are as they are."""
        wanted = set[tuple[str, frozenset[str]]]()
        since = 0.0
        for placement in application_set.placements:
            decision = self.decisions.get(placement)
            if decision is None:
                continue
            since = max(since, decision.since)
            if decision.clusters:
                wanted.add((placement, decision.clusters))
        return frozenset(wanted), since

    def refreshed(self, due: Due, now: float) -> None:
        self._refreshed[due.uid] = _Refresh(due.wanted, now)


class RefreshController:
    """Writes one annotation of ApplicationSets."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._view = context.view
        self._clock = context.clock
        self._pauses = Pauses(REFUSAL_BACKOFF)
        """Pauses after a refused write, by UID of the ApplicationSet."""
        self._debounce = RefreshDebounce(decisions=context.tracker.decisions)
        self._path = APPLICATION_SETS.within(context.view.argocd_namespace).path
        self._wake = context.changes_of(context.view.sets)
        context.tracker.listen(self._wake.set)

    async def run(self) -> None:
        await run_controller(
            self._reconcile,
            name="refresh",
            context=self._context,
            failing="ApplicationSets are not refreshed now",
            # A list that is outdated cannot harm here: the refresh is an offer to look.
            reads=(self._view.sets, self._view.decisions),
            wake=self._wake,
        )

    async def _reconcile(self) -> float | None:
        """Raises ApiError when the hub does not answer: that concerns every ApplicationSet."""
        refreshes = self._debounce.due(self._view.sets.items, self._clock())
        self._pauses.keep_only(
            {application_set.uid for application_set in self._view.sets.items.values()}
        )
        waits = [] if refreshes.wait is None else [refreshes.wait]
        for due in refreshes.now:
            if not self._pauses.left(due.uid):
                await self._refresh(due)
                # Each refresh makes Argo CD generate a whole ApplicationSet.
                await asyncio.sleep(1 / MAX_REFRESHES_PER_SECOND)
            # A refresh that failed is still due.
            waits.append(self._pauses.left(due.uid) or RETRY_SECONDS)
        return min(waits, default=None)

    async def _refresh(self, due: Due) -> None:
        hub_time = datetime.fromtimestamp(self._context.api.now(), tz=UTC)
        value = hub_time.isoformat(timespec="microseconds")
        # The UID makes the hub refuse an ApplicationSet that was deleted and created again.
        change = {"metadata": {"uid": due.uid, "annotations": {REFRESH_ANNOTATION: value}}}
        try:
            await self._context.api.merge(f"{self._path}/{due.name}", change)
        except ApiError as error:
            if not error.status:
                raise
            pause = self._pauses.failed(due.uid)
            LOG.warning(
                "ApplicationSet %s not refreshed; next try in %.0f s: %s", due.name, pause, error
            )
            return
        self._pauses.worked(due.uid)
        now = self._clock()
        self._debounce.refreshed(due, now)
        self._context.metrics.refreshes.inc()
        # The delay of a repeated refresh would contain the wait for the first one.
        if not due.again:
            self._context.metrics.refresh_delay.observe(now - due.since)
        clusters = ", ".join(_clusters(due)[:MAX_LOGGED])
        if due.again:
            LOG.info(
                "ApplicationSet %s refreshed again %.1f s after the decision for %s, because Argo"
                " CD has not looked",
                due.name,
                now - due.since,
                clusters,
            )
        else:
            LOG.info(
                "ApplicationSet %s refreshed %.1f s after the decision for %s",
                due.name,
                now - due.since,
                clusters,
            )


def _clusters(due: Due) -> list[str]:
    return sorted({cluster for _, decision in due.wanted for cluster in decision})
