"""The control loop of suspension: keeps the ConfigMap of suspended scores up to date.

When suspension is off, it empties the ConfigMap once, if a reconciler wrote it.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.health import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.reconciler.suspension.circuitbreaker import (
    CircuitBreaker,
    ScoreCounts,
    ScorerState,
    count_scores,
)
from gitops_dsf.reconciler.suspension.configmap import SuspendedConfigMap
from gitops_dsf.repository.model.reconciler import Suspension

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 5.0
"""Between two passes, which read one ConfigMap each. Shorter when the interval of the probes is."""


class SuspensionController:
    """Writes one key of one ConfigMap. `health` is the health by scorer as the hub's probes see it, and
    changes while this runs.
    """

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
        if self._enabled:
            await self._view.synced(*self._sources)
        while True:
            try:
                if not self._enabled:
                    await self._empty()
                    await asyncio.Event().wait()
                await self._reconcile()
                self._last_warning = ""
            except ApiError as error:
                if str(error) != self._last_warning:
                    LOG.warning("suspended scores stay as they are: %s", error)
                self._last_warning = str(error)
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
        changes = self._breaker.decide(states, before.names, self._shared.clock())
        names = before.names.symmetric_difference(changes)
        if changes or not before.readable:
            await self._configmap.write(before, names)
        self._shared.metrics.suspended.set(
            {(name,): float(item.score_name in names) for name, item in scorers.items()}
        )
        for score, why in changes.items():
            message = f"{'agents no longer call it' if score in names else 'agents may call it again'}: {why}"
            LOG.info("score %s: %s", score, message)
            reason = "Suspended" if score in names else "Resumed"
            for item in scorers.values():
                if item.score_name == score:
                    await self._shared.events.say(
                        scorer_reference(item), reason, message, warning=score in names
                    )

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
            has_api=not item.scored_by_query,
            suspended_in_git=item.spec.suspend,
            health=health,
            counts=counts,
        )

    async def _empty(self) -> None:
        """Empties a ConfigMap that a reconciler wrote. One that people made stays as it is."""
        before = await self._configmap.read()
        if before.ours and before.names:
            await self._configmap.write(before, ())
            LOG.info("suspension is off; no longer suspended: %s", ", ".join(sorted(before.names)))
