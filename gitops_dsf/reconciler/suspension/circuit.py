"""Which scores are suspended. Pure: times are handed in, in seconds of any clock that only goes forward.

Agents do not call what is suspended, so its scores stay stale whatever the API does: lifting cannot wait for
them. It follows the hub's own probes, and where those stay bad, a trial now and then, because only the hub's
way to the API may be broken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gitops_dsf.reconciler.scorers.health import HealthStatus
from gitops_dsf.reconciler.suspension.hearing import Hearing

TRIAL_EVERY: Final = 3600.0
"""After which a suspended scorer is called again although the hub does not reach it."""
TRIAL_SECONDS: Final = 600.0
"""For how long, at least: agents look at the list every 30 s and call at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One DynamicScorer as it is now."""

    scorer: str
    score: str
    """Its score name, which is what agents compare."""
    api: str
    """Origin of its scoring API, which other scorers may share."""
    stopped: bool
    """Whether git suspends it: then agents do not run it, and remove its scores."""
    verdict: HealthStatus | None
    """Of the hub's probes; None where they have not come to one since this replica leads."""
    hearing: Hearing


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A score that is suspended or lifted, the scorers behind it, and why."""

    score: str
    scorers: tuple[str, ...]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """What the list should be, and how it differs from what it is."""

    names: frozenset[str]
    suspended: tuple[Change, ...] = ()
    lifted: tuple[Change, ...] = ()
    held_back: tuple[Change, ...] = ()
    """What would be suspended if not so many APIs were down at once."""


@dataclass(kw_only=True)
class Circuit:
    """Remembers since when each scorer is down, and since when each score is suspended. Asking twice at one
    time gives one answer.
    """

    quorum_percent: int
    hold: float
    """Seconds that a scorer must be down, after its probes said so."""
    _down: dict[str, float] = field(default_factory=dict)
    _listed: dict[str, float] = field(default_factory=dict)
    _trial_until: dict[str, float] = field(default_factory=dict)

    def rule(self, cases: Sequence[Case], listed: frozenset[str], now: float) -> Ruling:
        """`cases` are all DynamicScorers; `listed` is what is suspended at present, whoever wrote it."""
        self._remember(cases, listed, now)
        by_score: dict[str, list[Case]] = {}
        for case in sorted(cases, key=lambda each: each.scorer):
            by_score.setdefault(case.score, []).append(case)
        lifted = []
        for score in sorted(listed):
            why = self._why_lifted(score, by_score.get(score, []), now)
            if why:
                lifted.append(_change(score, by_score.get(score, []), why))
        fallen = [
            _change(score, group, self._why_suspended(group, now))
            for score, group in sorted(by_score.items())
            if score and score not in listed and self._is_down(score, group, now)
        ]
        kept = listed - {change.score for change in lifted}
        if too_many_down(cases):
            return Ruling(names=kept, lifted=tuple(lifted), held_back=tuple(fallen))
        return Ruling(
            names=kept | {change.score for change in fallen}, suspended=tuple(fallen), lifted=tuple(lifted)
        )

    def _remember(self, cases: Sequence[Case], listed: frozenset[str], now: float) -> None:
        down = {case.scorer for case in cases if case.verdict is HealthStatus.INACTIVE}
        self._down = {name: self._down.get(name, now) for name in down}
        self._listed = {score: self._listed.get(score, now) for score in listed}
        self._trial_until = {score: until for score, until in self._trial_until.items() if until > now}

    def _why_lifted(self, score: str, group: Sequence[Case], now: float) -> str:
        """Empty when it stays suspended."""
        if not group:
            return "no scorer has this score name"
        if any(case.stopped for case in group):
            return "git suspends it: spec.suspend is true"
        if any(case.verdict is HealthStatus.ACTIVE for case in group):
            return "its API answers the hub"
        if any(case.verdict is HealthStatus.UNKNOWN for case in group):
            return "no probe of the hub ever reached its API"
        if (
            all(case.verdict is HealthStatus.INACTIVE for case in group)
            and now >= self._listed[score] + TRIAL_EVERY
        ):
            self._trial_until[score] = now + TRIAL_SECONDS
            return "for a trial: agents may reach its API although the hub does not"
        return ""

    def _is_down(self, score: str, group: Sequence[Case], now: float) -> bool:
        """Where several scorers share a score name, all must be."""
        return score not in self._trial_until and all(
            case.verdict is HealthStatus.INACTIVE
            and now >= self._down[case.scorer] + self.hold
            and not case.stopped
            and case.hearing.agrees(self.quorum_percent)
            for case in group
        )

    def _why_suspended(self, group: Sequence[Case], now: float) -> str:
        case = group[0]
        seconds, said = now - self._down[case.scorer], case.hearing
        return (
            f"down for the hub since {seconds:.0f} s, and {said.stale} of {said.heard} clusters with a living"
            " agent have no fresh score"
        )


def too_many_down(cases: Sequence[Case]) -> bool:
    """Whether more than half of the APIs that the hub ever reached are down: that looks like the hub's own
    network.

    APIs, not scorers: many scorers may be served by one, whose fall says nothing about the network.
    """
    down = {case.api for case in cases if case.verdict is HealthStatus.INACTIVE}
    reached = down | {case.api for case in cases if case.verdict is HealthStatus.ACTIVE}
    return len(down) > max(1, len(reached) // 2)


def _change(score: str, group: Sequence[Case], why: str) -> Change:
    return Change(score=score, scorers=tuple(case.scorer for case in group), why=why)
