"""The control loop of suspension: keeps the ConfigMap of suspended scores up to date.

When suspension is off, it empties the ConfigMap once, if a reconciler wrote it.
"""

import asyncio
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.urls import origin
from gitops_dsf.reconciler.events import Kind
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.reconciler.suspension.circuitbreaker import (
    CircuitBreaker,
    Outcome,
    ScorerState,
    SuspensionUpdate,
)
from gitops_dsf.reconciler.suspension.configmap import SuspendedConfigMap
from gitops_dsf.reconciler.suspension.quorum import ScoreCounts, count_scores
from gitops_dsf.repository.model.reconciler import Suspension

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 5.0
"""Between two passes, which read one ConfigMap each. Shorter when the interval of the probes is."""
RETRY_SECONDS: Final = 60.0
"""Between two attempts to empty the ConfigMap when suspension is off."""
WORDS: Final = {
    Outcome.SUSPENDED: "agents no longer call it",
    Outcome.LIFTED: "agents may call it again",
}


class SuspensionController:
    """Writes one key of one ConfigMap. `health` is the health by scorer as the hub's probes see it, and
    changes while this runs.
    """

    name = "suspension"

    def __init__(
        self, shared: Shared, *, health: Mapping[str, Health], settings: Suspension, probe_interval: float
    ) -> None:
        self._shared, self._health = shared, health
        self._view = view = shared.view
        self._sources = (view.scorers, view.scores, view.clusters, view.addons, view.masks)
        self._enabled = settings.enabled
        self._interval = min(INTERVAL_SECONDS, probe_interval)
        # Twice the time that it takes to call a scorer Inactive, so that an API can restart.
        self._breaker = CircuitBreaker(quorum_percent=settings.quorum_percent, hold=FAILURES * probe_interval)
        self._configmap = SuspendedConfigMap(api=shared.api, namespace=view.hub_namespace)
        self._last_warning = ""

    async def run(self) -> None:
        """Works until it is cancelled."""
        if not self._enabled:
            await self._empty()
            await asyncio.Event().wait()
        for source in self._sources:
            await source.synced.wait()
        while True:
            try:
                await self._reconcile()
                self._last_warning = ""
            except ApiError as error:
                self._warn(f"suspended scores stay as they are: {error}")
            await asyncio.sleep(self._interval)

    async def _reconcile(self) -> None:
        """Raises ApiError, also when somebody else writes the ConfigMap at the same time. The next pass reads
        it again.
        """
        before = await self._configmap.read()
        if not before.readable:
            LOG.warning(
                "key %s of ConfigMap %s is not a JSON array of names; agents treat it as an empty array",
                SUSPENDED_KEY,
                SUSPENDED_CONFIGMAP,
            )
        scorers = dict(self._view.scorers.items)
        scan = await self._shared.scanner.scan()
        states = [self._state(item, scan) for item in scorers.values()]
        update = self._breaker.decide(states, before.names, self._shared.clock())
        if update.names != before.names or not before.readable:
            await self._configmap.write(before, update.names)
        self._shared.metrics.suspended.set(
            {(name,): float(item.score_name in update.names) for name, item in scorers.items()}
        )
        await self._report(update, scorers)

    def _state(self, item: DynamicScorer, scan: Scan) -> ScorerState:
        scores = scan.assessments.get(item.name)
        known = self._health.get(item.name)
        health = None if known is None else known.status
        counts = ScoreCounts()
        # Scores are counted only when the count matters.
        if health is HealthStatus.INACTIVE and self._shared.api.clock.known and scores is not None:
            counts = count_scores(
                scan.targets.expected(item),
                addons=self._view.addons.items,
                published=self._view.scores.of(item.resource).keys(),
                scores=scores,
            )
        return ScorerState(
            scorer=item.name,
            score=item.score_name,
            api="" if item.scored_by_query else origin(item.spec.config_url),
            suspended_in_git=item.spec.suspend,
            health=health,
            counts=counts,
        )

    async def _report(self, update: SuspensionUpdate, scorers: Mapping[str, DynamicScorer]) -> None:
        for change in update.changes:
            LOG.info("score %s: %s: %s", change.score, change.outcome, change.why)
            kind: Kind = "Normal" if change.outcome is Outcome.LIFTED else "Warning"
            for name in change.scorers:
                message = f"{WORDS[change.outcome]}: {change.why}"
                await self._shared.events.say(scorer_reference(scorers[name]), kind, change.outcome, message)

    async def _empty(self) -> None:
        """Empties a ConfigMap that a reconciler wrote. One that people made stays as it is."""
        while True:
            try:
                before = await self._configmap.read()
                if before.ours and before.names:
                    await self._configmap.write(before, ())
                    LOG.info("suspension is off; no longer suspended: %s", ", ".join(sorted(before.names)))
                return
            except ApiError as error:
                self._warn(
                    "suspension is off, but the scores that a reconciler may have suspended before cannot be"
                    f" lifted yet: {error}"
                )
                await asyncio.sleep(1 if error.status == HTTPStatus.CONFLICT else RETRY_SECONDS)

    def _warn(self, words: str) -> None:
        """Logs the same warning once."""
        if words != self._last_warning:
            LOG.warning("%s", words)
        self._last_warning = words
