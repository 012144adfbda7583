"""A circuit breaker for scoring APIs: it decides which scores are suspended. Pure.

Times are passed in, in seconds of a monotonic clock.

Agents do not call a suspended scorer, so its scores stay stale even when the API is back. A suspension is
therefore lifted by the hub's own probes, or for a trial once an hour: the hub may be the only one that does
not reach the API.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A score that is suspended or lifted, its scorers, and why."""

    score: str
    scorers: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspensionUpdate:
    """The desired names of suspended scores, and the changes that lead there."""

    names: frozenset[str]
    suspended: tuple[Change, ...] = ()
    lifted: tuple[Change, ...] = ()
    held_back: tuple[Change, ...] = ()
    """Scores that are not suspended only because too many APIs are down at once."""


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
        lifted = []
        for score in sorted(current):
            why = self._why_lifted(score, by_score.get(score, []), now)
            if why:
                lifted.append(_change(score, by_score.get(score, []), why))
        down = [
            _change(score, group, self._why_suspended(group, now))
            for score, group in sorted(by_score.items())
            if score and score not in current and self._is_down(score, group, now)
        ]
        kept = current - {change.score for change in lifted}
        if too_many_down(scorers):
            return SuspensionUpdate(names=kept, lifted=tuple(lifted), held_back=tuple(down))
        names = kept | {change.score for change in down}
        return SuspensionUpdate(names=names, suspended=tuple(down), lifted=tuple(lifted))

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

    def _is_down(self, score: str, group: Sequence[ScorerState], now: float) -> bool:
        """Whether all scorers with this score name are down."""
        return score not in self._trial_until and all(
            state.health is HealthStatus.INACTIVE
            and now >= self._down[state.scorer] + self.hold
            and not state.suspended_in_git
            and state.counts.is_quorum(self.quorum_percent)
            for state in group
        )

    def _why_suspended(self, group: Sequence[ScorerState], now: float) -> str:
        state = group[0]
        seconds, counts = now - self._down[state.scorer], state.counts
        return (
            f"the hub's probes have failed for {seconds:.0f} s, and {counts.stale} of {counts.counted}"
            " clusters with a running agent have no fresh score"
        )


def too_many_down(scorers: Sequence[ScorerState]) -> bool:
    """Whether more than half of the APIs that the hub ever reached are down: then the hub's own network is
    the likely cause.

    It counts APIs, not scorers: many scorers may share one API.
    """
    down = {state.api for state in scorers if state.health is HealthStatus.INACTIVE}
    reached = down | {state.api for state in scorers if state.health is HealthStatus.ACTIVE}
    return len(down) > max(1, len(reached) // 2)


def _change(score: str, group: Sequence[ScorerState], why: str) -> Change:
    return Change(score=score, scorers=tuple(state.scorer for state in group), why=why)
