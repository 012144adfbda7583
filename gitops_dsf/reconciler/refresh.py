"""Asks Argo CD to look at a decision when it changed, and not at its next poll.

It also asks for an ApplicationSet that is newer than the first page of its decision: Argo CD found no
decision, and would look again after three minutes.

Argo CD looks after every change of an annotation, and removes this one only after it succeeded
(docs/contributing/behaviour.md#refresh-annotation). Setting the same value again is no change, so each
value is new.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_runtime.backoff import Backoff, Pauses
from gitops_dsf.hub.applications import ApplicationSet
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.hub.resources import APPLICATION_SETS
from gitops_dsf.reconciler.context import ControllerContext, keep_looking
from gitops_dsf.reconciler.hub.view import DEBOUNCE_SECONDS, DecisionSets

LOG = logging.getLogger(__name__)
PER_SECOND: Final = 10.0
"""Refreshes of all ApplicationSets together. After a restart each one is refreshed once."""
RETRY_SECONDS: Final = 2.0
"""Until the next look after a refresh."""
REFUSED: Final = Backoff(first=2.0, ceiling=120.0)
"""Pauses after refusals for one ApplicationSet. Argo CD looks by itself every three minutes."""
BETWEEN_SECONDS: Final = 10.0
"""Shortest time between two refreshes of one ApplicationSet."""
AGAIN_SECONDS: Final = 30.0
"""After it an annotation that Argo CD did not remove is written again: it failed to look."""

Decisions = frozenset[tuple[str, frozenset[str]]]
"""Placements with their clusters, without empty decisions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An ApplicationSet to refresh, the decisions that Argo CD should look at, and since when they hold."""

    name: str
    uid: str
    wanted: Decisions
    since: float
    again: bool
    """Whether it was refreshed for these decisions before, and Argo CD failed to look."""


@dataclass(kw_only=True)
class RefreshDebounce:
    """Remembers for which decisions each ApplicationSet was refreshed, and when. Pure: times are passed in.

    An empty decision never counts, so nothing is deleted because something is missing; when it has clusters
    again, it counts as changed.
    """

    decisions: DecisionSets
    _told: dict[str, tuple[Decisions, float]] = field(default_factory=dict)

    def due(self, sets: Mapping[str, ApplicationSet], now: float) -> tuple[list[Due], float | None]:
        """ApplicationSets to refresh now, and the seconds until the next one is due (None: unknown)."""
        found: list[Due] = []
        waits: list[float] = []
        kept: dict[str, tuple[Decisions, float]] = {}
        for name, item in sorted(sets.items()):
            known = {
                each: self.decisions[each] for each in item.placements if each in self.decisions
            }
            wanted = frozenset((each, of.clusters) for each, of in known.items() if of.clusters)
            since = max((decision.since for decision in known.values()), default=0.0)
            ready, told = since + DEBOUNCE_SECONDS, Decisions()
            if item.uid in self._told:
                told, at = self._told[item.uid]
                # A decision that became empty is forgotten.
                told = frozenset(pair for pair in told if pair[0] in dict(wanted))
                kept[item.uid] = (told, at)
                ready = max(ready, at + (BETWEEN_SECONDS if wanted - told else AGAIN_SECONDS))
            again = bool(wanted) and item.asked and wanted == told
            if wanted - told or again:
                if now >= ready:
                    found.append(
                        Due(name=name, uid=item.uid, wanted=wanted, since=since, again=again)
                    )
                else:
                    waits.append(ready - now)
        self._told = kept
        return found, min(waits, default=None)

    def refreshed(self, due: Due, now: float) -> None:
        self._told[due.uid] = (due.wanted, now)


class RefreshController:
    """Writes one annotation of ApplicationSets."""

    def __init__(self, context: ControllerContext) -> None:
        self._api, self._view, self._clock = context.api, context.view, context.clock
        self._metrics = context.metrics
        self._wake = asyncio.Event()
        self._pauses = Pauses(REFUSED)
        """By UID of the ApplicationSet."""
        self._debounce = RefreshDebounce(decisions=context.tracker.decisions)
        self._path = APPLICATION_SETS.within(context.view.argocd_namespace).path
        context.view.sets.listen(lambda _key, _item: self._wake.set())
        context.tracker.listen(self._wake.set)

    async def run(self) -> None:
        await self._view.synced(self._view.sets, self._view.decisions)
        await keep_looking(
            self._look, wake=self._wake, failing="ApplicationSets are not refreshed now"
        )

    async def _look(self) -> float | None:
        """Raises ApiError when the hub does not answer: that concerns every ApplicationSet."""
        found, wait = self._debounce.due(self._view.sets.items, self._clock())
        self._pauses.keep_only({item.uid for item in self._view.sets.items.values()})
        waits = [] if wait is None else [wait]
        for due in found:
            if not self._pauses.left(due.uid):
                await self._refresh(due)
                await asyncio.sleep(1 / PER_SECOND)
            # What could not be refreshed is still due.
            waits.append(self._pauses.left(due.uid) or RETRY_SECONDS)
        return min(waits, default=None)

    async def _refresh(self, due: Due) -> None:
        # The UID makes the hub refuse an ApplicationSet that was deleted and created again.
        value = datetime.fromtimestamp(self._api.now(), tz=UTC).isoformat(timespec="microseconds")
        change = {"metadata": {"uid": due.uid, "annotations": {REFRESH_ANNOTATION: value}}}
        try:
            await self._api.merge(f"{self._path}/{due.name}", change)
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
        self._metrics.refreshes.inc()
        if not due.again:
            self._metrics.refresh_delay.observe(now - due.since)
        LOG.info(
            "ApplicationSet %s refreshed%s %.1f s after the decision for %s",
            due.name,
            " again, because Argo CD has not looked," if due.again else "",
            now - due.since,
            ", ".join(sorted({cluster for _, decision in due.wanted for cluster in decision})[:10]),
        )
