"""Suspension (docs/operate/reconciler.md#suspension): agents do not call the scores that one ConfigMap in the
hub namespace names. When suspension is off, it is emptied once, if a reconciler wrote it.

A circuit breaker decides, by the probes of the hub and a quorum of clusters without a fresh score. Agents do
not call a suspended scorer, so its scores stay stale even when the API is back. A suspension is therefore
lifted by the hub's own probes, or for a trial once an hour: the hub may be the only one that does not reach
the API.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dsf_runtime.apiserver import ApiError
from dsf_wire import scorename
from dsf_wire.constants import MANAGED_BY_LABEL, SUSPENDED_CONFIGMAP, SUSPENDED_KEY
from gitops_dsf.hub.objects import ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.hub.api import MANAGER, OwnConfigMap
from gitops_dsf.reconciler.hub.kinds import scorer_reference
from gitops_dsf.reconciler.scan import Scan
from gitops_dsf.reconciler.scorers.probes import FAILURES, Health, HealthStatus
from gitops_dsf.reconciler.shared import Shared
from gitops_dsf.repository.model.reconciler import Suspension

LOG = logging.getLogger(__name__)
INTERVAL_SECONDS: Final = 5.0
"""Between two passes, which read one ConfigMap each. Shorter when the interval of the probes is."""
TRIAL_EVERY: Final = 3600.0
"""A suspension ends for a trial after this time, although the hub does not reach the API."""
TRIAL_SECONDS: Final = 600.0
"""The shortest trial: agents read the ConfigMap every 30 s and then call the API at once."""
MIN_STALE: Final = 2
"""Stale clusters of a quorum: one alone may have a problem of its own, unless it is the only one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreCounts:
    """Of clusters whose agent is available and has published before: others tell nothing about the API."""

    expected: int = 0
    """Clusters on which the scorer should run."""
    fresh: int = 0
    stale: int = 0

    @property
    def counted(self) -> int:
        return self.fresh + self.stale

    def is_quorum(self, percent: int) -> bool:
        """Whether at least so many percent of the counted clusters are stale."""
        least = 1 if self.expected == 1 else MIN_STALE
        return self.stale >= least and self.stale * 100 >= percent * self.counted


def count_scores(
    expected: frozenset[str],
    *,
    addons: Mapping[str, ManagedClusterAddOn],
    published: AbstractSet[str],
    scores: Assessment,
) -> ScoreCounts:
    """A score without validUntil is not counted: nobody can tell when it was written."""
    able = {
        name for name in expected & published if name in addons and addons[name].available == "True"
    }
    stale = able & scores.expired
    return ScoreCounts(
        expected=len(expected), fresh=len(able - stale - scores.endless), stale=len(stale)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerState:
    scorer: DynamicScorer
    health: HealthStatus | None
    """By the hub's probes; None until this leader has probed it often enough."""
    counts: ScoreCounts


@dataclass(kw_only=True)
class CircuitBreaker:
    """Since when each scorer is down, and each score suspended. Equal calls give equal answers."""

    quorum_percent: int
    hold: float
    """Seconds for which a scorer must be Inactive before it is suspended."""
    _down: dict[str, float] = field(default_factory=dict)
    _suspended: dict[str, float] = field(default_factory=dict)
    _trial_until: dict[str, float] = field(default_factory=dict)

    def decide(
        self, scorers: Sequence[ScorerState], current: frozenset[str], now: float
    ) -> dict[str, str]:
        """The scores to suspend or to lift, and why. `current` are the suspended names now."""
        self._remember(scorers, current, now)
        by_score: dict[str, list[ScorerState]] = {}
        for state in sorted(scorers, key=lambda each: each.scorer.name):
            by_score.setdefault(state.scorer.score_name, []).append(state)
        found = {}
        for score in sorted(current | by_score.keys()):
            why_changed = self._why_lifted if score in current else self._why_suspended
            if why := why_changed(score, by_score.get(score, []), now):
                found[score] = why
        return found

    def _remember(
        self, scorers: Sequence[ScorerState], current: frozenset[str], now: float
    ) -> None:
        down = {state.scorer.name for state in scorers if state.health is HealthStatus.INACTIVE}
        self._down = {name: self._down.get(name, now) for name in down}
        self._suspended = {score: self._suspended.get(score, now) for score in current}
        self._trial_until = {
            score: until for score, until in self._trial_until.items() if until > now
        }

    def _why_lifted(self, score: str, group: Sequence[ScorerState], now: float) -> str:
        """Empty when it stays suspended."""
        if not group:
            return "no scorer has this score name"
        if all(state.scorer.scored_by_query for state in group):
            return "it has no scoring API"
        if any(state.scorer.spec.suspend for state in group):
            return "git suspends it: spec.suspend is true"
        if any(state.health is HealthStatus.ACTIVE for state in group):
            return "its API answers the hub"
        if any(state.health is HealthStatus.UNKNOWN for state in group):
            return "no probe of the hub ever reached its API"
        if (
            all(state.health is HealthStatus.INACTIVE for state in group)
            and now >= self._suspended[score] + TRIAL_EVERY
        ):
            self._trial_until[score] = now + TRIAL_SECONDS
            return "for a trial: agents may reach its API although the hub does not"
        return ""

    def _why_suspended(self, score: str, group: Sequence[ScorerState], now: float) -> str:
        """Empty unless all scorers with this score name are down."""
        down = score not in self._trial_until and all(
            state.health is HealthStatus.INACTIVE
            and now >= self._down[state.scorer.name] + self.hold
            and not state.scorer.spec.suspend
            and state.counts.is_quorum(self.quorum_percent)
            for state in group
        )
        seconds, counts = now - self._down.get(group[0].scorer.name, now), group[0].counts
        return (
            f"the hub's probes have failed for {seconds:.0f} s, and {counts.stale} of {counts.counted}"
            " clusters with a running agent have no fresh score"
            if down
            else ""
        )


class SuspensionController:
    """Writes one key of one ConfigMap. `health`, by scorer, changes while this runs."""

    def __init__(
        self,
        shared: Shared,
        *,
        health: Mapping[str, Health],
        settings: Suspension,
        probe_interval: float,
    ) -> None:
        self._shared, self._health = shared, health
        self._view = view = shared.view
        self._sources = (view.scorers, view.scores, view.clusters, view.addons, view.masks)
        self._enabled = settings.enabled
        self._interval = min(INTERVAL_SECONDS, probe_interval)
        # Twice the time that it takes to call a scorer Inactive, so that an API can restart.
        self._breaker = CircuitBreaker(
            quorum_percent=settings.quorum_percent, hold=FAILURES * probe_interval
        )
        self._stored = OwnConfigMap(
            api=shared.api, namespace=view.hub_namespace, name=SUSPENDED_CONFIGMAP
        )
        self._last_warning = ""

    async def run(self) -> None:
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
        # In an informer that does not hear of renewals every score expires. Then only probes count, by which
        # scores are no longer suspended.
        outdated = self._view.untrusted((self._view.scores, self._view.clusters, self._view.addons))
        states = [self._state(each, scan, outdated=bool(outdated)) for each in scorers.values()]
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
                    self._shared.events.say(
                        scorer_reference(each), reason, message, warning=score in names
                    )

    def _state(self, item: DynamicScorer, scan: Scan, *, outdated: bool) -> ScorerState:
        scores = scan.assessments.get(item.name)
        known = self._health.get(item.name)
        health = None if known is None else known.status
        counts = ScoreCounts()
        # Scores are counted only when the count matters.
        counted = health is HealthStatus.INACTIVE and self._shared.api.clock.known and not outdated
        if counted and scores is not None:
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
        await self._stored.write(
            before, {SUSPENDED_KEY: msgspec.json.encode(sorted(names)).decode()}
        )


def _names(item: dict[str, Any] | None) -> frozenset[str] | None:
    """The suspended names; None when the key is not what agents read, which they treat as empty."""
    try:
        return scorename.suspended((item or {}).get("data"))
    except msgspec.DecodeError:
        return None
