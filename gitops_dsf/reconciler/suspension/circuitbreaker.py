"""A circuit breaker for scoring APIs: it decides which scores are suspended. Pure.

Times are passed in, in seconds of a monotonic clock.

Agents do not call a suspended scorer, so its scores stay stale even when the API is back. A suspension is
therefore lifted by the hub's own probes, or for a trial once an hour: the hub may be the only one that does
not reach the API.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from gitops_dsf.reconciler.scorers.health import HealthStatus
from gitops_dsf.reconciler.suspension.quorum import ScoreCounts

TRIAL_EVERY: Final = 3600.0
"""A suspension ends for a trial after this time, although the hub does not reach the API."""
TRIAL_SECONDS: Final = 600.0
"""The shortest trial: agents read the ConfigMap every 30 s and then call the API at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerState:
    """What is known of one DynamicScorer now."""

    scorer: str
    score: str
    """Its score name. Agents compare it with the suspended names."""
    api: str
    """Origin of its scoring API. Several scorers may share it. Empty if it has none."""
    suspended_in_git: bool
    """Whether spec.suspend is true: then agents do not run it, and remove its scores."""
    health: HealthStatus | None
    """By the hub's probes; None until this leader has probed it often enough."""
    counts: ScoreCounts


class Outcome(StrEnum):
    """What becomes of a score; the reason of an Event."""

    SUSPENDED = "Suspended"
    LIFTED = "Resumed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A score that is suspended or lifted, its scorers, and why."""

    outcome: Outcome
    score: str
    scorers: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspensionUpdate:
    """The desired names of suspended scores, and the changes that lead there."""

    names: frozenset[str]
    changes: tuple[Change, ...] = ()

    def of(self, outcome: Outcome) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.outcome is outcome)


@dataclass(kw_only=True)
class CircuitBreaker:
    """Remembers since when each scorer is down, and since when each score is suspended.

    Two calls with the same time give the same answer.
    """

    quorum_percent: int
    hold: float
    """Seconds for which a scorer must be Inactive before it is suspended."""
    _down: dict[str, float] = field(default_factory=dict)
    _suspended: dict[str, float] = field(default_factory=dict)
    _trial_until: dict[str, float] = field(default_factory=dict)

    def decide(self, scorers: Sequence[ScorerState], current: frozenset[str], now: float) -> SuspensionUpdate:
        """`scorers` are all DynamicScorers; `current` are the suspended names now, whoever wrote them."""
        self._remember(scorers, current, now)
        by_score: dict[str, list[ScorerState]] = {}
        for state in sorted(scorers, key=lambda each: each.scorer):
            by_score.setdefault(state.score, []).append(state)
        changes: list[Change] = []
        for score in sorted(current | {score for score in by_score if score}):
            group = by_score.get(score, [])
            if score in current:
                outcome, why = Outcome.LIFTED, self._why_lifted(score, group, now)
            else:
                outcome, why = Outcome.SUSPENDED, self._why_suspended(score, group, now)
            if why:
                names = tuple(state.scorer for state in group)
                changes.append(Change(outcome=outcome, score=score, scorers=names, why=why))
        gone = {change.score for change in changes if change.outcome is Outcome.LIFTED}
        new = {change.score for change in changes if change.outcome is Outcome.SUSPENDED}
        return SuspensionUpdate(names=(current - gone) | new, changes=tuple(changes))

    def _remember(self, scorers: Sequence[ScorerState], current: frozenset[str], now: float) -> None:
        down = {state.scorer for state in scorers if state.health is HealthStatus.INACTIVE}
        self._down = {name: self._down.get(name, now) for name in down}
        self._suspended = {score: self._suspended.get(score, now) for score in current}
        self._trial_until = {score: until for score, until in self._trial_until.items() if until > now}

    def _why_lifted(self, score: str, group: Sequence[ScorerState], now: float) -> str:
        """Empty when it stays suspended."""
        if not group:
            return "no scorer has this score name"
        if not any(state.api for state in group):
            return "it has no scoring API"
        if any(state.suspended_in_git for state in group):
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
            and now >= self._down[state.scorer] + self.hold
            and not state.suspended_in_git
            and state.counts.is_quorum(self.quorum_percent)
            for state in group
        )
        seconds, counts = now - self._down.get(group[0].scorer, now), group[0].counts
        return (
            f"the hub's probes have failed for {seconds:.0f} s, and {counts.stale} of {counts.counted}"
            " clusters with a running agent have no fresh score"
            if down
            else ""
        )
