"""Suspension (docs/operate/reconciler.md#suspension): agents do not call the scores that one ConfigMap in the
hub namespace names. When suspension is off, it is emptied once, if a reconciler wrote it.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from dsf_wire.suspended import score_names
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.circuitbreaker import CircuitBreaker, ScoreCounts, ScorerState, count_scores
from gitops_dsf.reconciler.hub.api import MANAGER
from gitops_dsf.reconciler.hub.configmaps import OwnConfigMap
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.probes import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.repository.model.reconciler import Suspension

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 5.0
"""Between two passes, which read one ConfigMap each. Shorter when the interval of the probes is."""


class SuspensionController:
    """Writes one key of one ConfigMap. `health`, by scorer, changes while this runs."""

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
        self._stored = OwnConfigMap(api=shared.api, namespace=view.hub_namespace, name=SUSPENDED_CONFIGMAP)
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
        """Raises ApiError, also when somebody else writes meanwhile: the next pass reads it again."""
        item = await self._stored.read()
        before = _names(item)
        if before is None:
            LOG.warning(
                "key %s of ConfigMap %s is not a JSON array of names; agents treat it as an empty array",
                SUSPENDED_KEY,
                SUSPENDED_CONFIGMAP,
            )
        current = before or frozenset()
        scorers = dict(self._view.scorers.items)
        scan = await self._shared.scanner.scan()
        states = [self._state(each, scan) for each in scorers.values()]
        changes = self._breaker.decide(states, current, self._shared.clock())
        names = current.symmetric_difference(changes)
        if changes or before is None:
            await self._write(item, names)
        self._shared.metrics.suspended.set(
            {(name,): float(each.score_name in names) for name, each in scorers.items()}
        )
        for score, why in changes.items():
            message = f"{'agents no longer call it' if score in names else 'agents may call it again'}: {why}"
            LOG.info("score %s: %s", score, message)
            reason = "Suspended" if score in names else "Resumed"
            for each in scorers.values():
                if each.score_name == score:
                    await self._shared.events.say(
                        scorer_reference(each), reason, message, warning=score in names
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
        return ScorerState(scorer=item, health=health, counts=counts)

    async def _empty(self) -> None:
        """Empties a ConfigMap that a reconciler wrote. One that people made stays as it is."""
        item = await self._stored.read()
        metadata = (item or {}).get("metadata", {})
        names = _names(item)
        if names and (metadata.get("labels") or {}).get(MANAGED_BY_LABEL) == MANAGER:
            await self._write(item, frozenset())
            LOG.info("suspension is off; no longer suspended: %s", ", ".join(sorted(names)))

    async def _write(self, before: dict[str, Any] | None, names: frozenset[str]) -> None:
        """Raises ApiError, with status 409 when somebody else wrote the ConfigMap after it was read."""
        await self._stored.write(before, {SUSPENDED_KEY: msgspec.json.encode(sorted(names)).decode()})


def _names(item: dict[str, Any] | None) -> frozenset[str] | None:
    """The suspended names; None when the key is not what agents read, which they treat as empty."""
    try:
        return score_names((item or {}).get("data"))
    except msgspec.DecodeError:
        return None
