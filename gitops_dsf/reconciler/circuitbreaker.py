"""A circuit breaker for scoring APIs: it decides which scores are suspended, by the probes of the hub and a
quorum of clusters without a fresh score. Pure: times are passed in, in seconds of a monotonic clock.

Agents do not call a suspended scorer, so its scores stay stale even when the API is back. A suspension is
therefore lifted by the hub's own probes, or for a trial once an hour: the hub may be the only one that does
not reach the API.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.hub.addons import ManagedClusterAddOn
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.reconciler.freshness import Assessment
from gitops_dsf.reconciler.scorers.probes import HealthStatus

TRIAL_EVERY: Final = 3600.0
"""A suspension ends for a trial after this time, although the hub does not reach the API."""
TRIAL_SECONDS: Final = 600.0
"""The shortest trial: agents read the ConfigMap every 30 s and then call the API at once."""
MIN_STALE: Final = 2
"""Stale clusters of a quorum: one alone may have a problem of its own, unless it is the only one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreCounts:
    """Counts of clusters.

    Only a cluster whose agent is available and has published before is counted as fresh or stale: the others
    tell nothing about the API.
    """

    expected: int = 0
    """Clusters on which the scorer should run."""
    fresh: int = 0
    stale: int = 0

    @property
    def counted(self) -> int:
        """Clusters that are fresh or stale."""
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
    """Counts the expected clusters by their score; `published` are those that have one. A score without
    validUntil is not counted: nobody can tell when it was written.
    """
    able = {name for name in expected & published if name in addons and addons[name].available == "True"}
    stale = able & scores.expired
    return ScoreCounts(expected=len(expected), fresh=len(able - stale - scores.endless), stale=len(stale))


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerState:
    """What is known of one DynamicScorer now."""

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

    def decide(self, scorers: Sequence[ScorerState], current: frozenset[str], now: float) -> dict[str, str]:
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

    def _remember(self, scorers: Sequence[ScorerState], current: frozenset[str], now: float) -> None:
        down = {state.scorer.name for state in scorers if state.health is HealthStatus.INACTIVE}
        self._down = {name: self._down.get(name, now) for name in down}
        self._suspended = {score: self._suspended.get(score, now) for score in current}
        self._trial_until = {score: until for score, until in self._trial_until.items() if until > now}

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
