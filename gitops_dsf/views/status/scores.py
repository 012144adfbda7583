"""Scorers by clusters: what is published, how old it is by the hub's clock, and what is missing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final

from msgspec import Struct

from gitops_dsf.hub.score_states import LIVE, ScoreState, state_of, state_of_absent
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.hub.times import timestamp
from gitops_dsf.views.status.inputs import HubPart, StatusInputs

USUAL: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRING, ScoreState.MASKED})
"""States without a problem, which are not listed per cluster."""
_END: Final = attrgetter("valid_until")


class Cell(Struct, frozen=True, kw_only=True, rename="camel"):
    """One scorer on one cluster."""

    cluster: str
    state: ScoreState
    expected: bool
    """Whether the scorer should run there: selected, not masked and not suspended."""
    values: Mapping[str, int]
    """Published scores by dimension, also of an expired one."""
    valid_until: str | None
    age_seconds: int | None
    """Since it was published, by validUntil and the TTL; None if nothing is published, or without
    an end.
    """


@dataclass(kw_only=True)
class ScorerView:
    """One scorer on all clusters, or on one: its scores, its target clusters, and sums."""

    scorer: DynamicScorer
    suspended: str
    """Who suspended it: `git` (spec.suspend), or empty."""
    known: bool
    published: Mapping[str, PublishedScore]
    """By cluster, in any state."""
    expected: frozenset[str]
    """Clusters where it should publish; none while it is suspended."""
    masked: frozenset[str]
    """Clusters that its selector matches and masks exclude."""
    targets: TargetClusters
    now: float
    counts: Counter[ScoreState] = field(init=False)
    """Clusters by state. Those that the selector does not match count only if they have a score."""
    unusual: dict[ScoreState, list[str]] = field(init=False, default_factory=dict)
    """Clusters by state, sorted, without those that are fresh, expiring or masked."""
    histogram: Counter[int] = field(init=False)
    """How often OCM counts each value now."""
    oldest: float | None = field(init=False)
    """Age of the oldest published score, in seconds."""
    _states: dict[datetime | None, tuple[ScoreState, float | None]] = field(init=False)
    """State and age of scores that are not empty, by their end."""

    def __post_init__(self) -> None:
        # By the end of a score, because thousands end in the same second.
        scores = self.published.values()
        self._states = {until: self._published(until) for until in set(map(_END, scores))}
        filled = [score for score in scores if score.values]
        self.counts = Counter(state for _, state in self._absent())
        for until, number in Counter(map(_END, filled)).items():
            self.counts[self._states[until][0]] += number
        if len(filled) < len(scores):
            self.counts[ScoreState.EMPTY] = len(scores) - len(filled)
        if self.counts.keys() - USUAL:
            for cluster, _, state, _ in self._entries():
                if state not in USUAL:
                    self.unusual.setdefault(state, []).append(cluster)
        live = {until for until, (state, _) in self._states.items() if state in LIVE}
        self.histogram = Counter(
            chain.from_iterable([score.values for score in filled if score.valid_until in live])
        )
        self.oldest = max(
            (age for _, age in self._states.values() if age is not None), default=None
        )

    @cached_property
    def unexpected(self) -> tuple[str, ...]:
        """Clusters with a score that should not exist, sorted. OCM counts it anyway."""
        return tuple(sorted(self.published.keys() - self.expected))

    @property
    def at_default(self) -> int | None:
        """How many scores that count are spec.defaultScore: without series, or equal.

        None if not known.
        """
        value = self.scorer.spec.default_score
        return self.histogram[value] if value is not None and self.known else None

    @property
    def shown(self) -> int:
        return self.counts.total()

    @property
    def values(self) -> tuple[int | None, int | None, int | None]:
        """The lowest value that counts now, the lower median (one of the values) and the highest, or None."""
        ordered = sorted(self.histogram.elements())
        if not ordered:
            return None, None, None
        return ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]

    def cells(self) -> Iterator[Cell]:
        """Every cell in order of cluster, made anew, because a fleet has hundreds of thousands."""
        for cluster, score, state, age in self._entries():
            until = score.valid_until if score is not None else None
            yield Cell(
                cluster=cluster,
                state=state,
                values=dict(score.items()) if score is not None else {},
                valid_until=None if until is None else timestamp(until),
                age_seconds=None if age is None else round(age),
                expected=cluster in self.expected,
            )

    def _entries(self) -> Iterator[tuple[str, PublishedScore | None, ScoreState, float | None]]:
        """Cluster, score, state and age, in order of cluster."""
        absent = dict(self._absent())
        # They are published in this order but for those that are missing, so sorting has little to
        # do.
        for cluster in sorted(chain(self.published, absent)):
            score = self.published.get(cluster)
            if score is None:
                yield cluster, None, absent[cluster], None
            else:
                state, age = self._states[score.valid_until]
                yield cluster, score, state if score.values else ScoreState.EMPTY, age

    def _absent(self) -> Iterator[tuple[str, ScoreState]]:
        """Clusters without a score that should have one, or that a mask excludes."""
        for cluster in (self.expected | self.masked) - self.published.keys():
            state = ScoreState.MASKED
            if cluster in self.expected:
                since = max(self.scorer.created, self.targets.since(cluster, self.scorer))
                state = state_of_absent(since=since, interval=self.scorer.interval, now=self.now)
            yield cluster, state

    def _published(self, valid_until: datetime | None) -> tuple[ScoreState, float | None]:
        ttl, until = self.scorer.ttl, None if valid_until is None else valid_until.timestamp()
        age = None if until is None else max(0.0, ttl - (until - self.now))
        return state_of(until, filled=True, ttl=ttl, now=self.now), age


def scorer_views(
    scorers: Iterable[DynamicScorer], inputs: StatusInputs, *, cluster: str | None = None
) -> tuple[ScorerView, ...]:
    """Returns every scorer on every cluster, or on one, in order of name."""
    addons = inputs.addons if inputs.knows(HubPart.ADDONS) else None
    targets = TargetClusters(clusters=inputs.snapshot.clusters, addons=addons, masks=inputs.masks)
    return tuple(
        _view(scorer, targets, inputs, cluster)
        for scorer in sorted(scorers, key=lambda item: item.name)
    )


def _view(
    scorer: DynamicScorer, targets: TargetClusters, inputs: StatusInputs, cluster: str | None
) -> ScorerView:
    published: Mapping[str, PublishedScore] = {}
    expected = masked = frozenset[str]()
    known = inputs.knows(HubPart.SCORES, HubPart.CLUSTERS)
    if known:
        published = inputs.snapshot.scores.get(scorer.resource, {})
        expected = targets.expected(scorer)
        masked = (targets.selected(scorer) & targets.masked(scorer.score_name)) - expected
    if cluster is not None:
        published = {cluster: published[cluster]} if cluster in published else {}
        expected, masked = expected & {cluster}, masked & {cluster}
    return ScorerView(
        scorer=scorer,
        suspended="git" if scorer.spec.suspend else "",
        known=known,
        published=published,
        expected=expected,
        masked=masked,
        targets=targets,
        now=inputs.now.timestamp(),
    )


class ScorerCondition(Struct):
    type: str
    status: str
    reason: str
    message: str


class ScorerSummary(Struct, rename="camel"):
    clusters: dict[str, int]
    min: int | None
    median: int | None
    max: int | None
    at_default: int | None
    oldest_seconds: int | None


class ScorerStatus(Struct, rename="camel"):
    name: str
    score_name: str
    resource: str
    health: str | None
    conditions: tuple[ScorerCondition, ...]
    suspended_by: str | None
    interval_seconds: int
    ttl_seconds: int
    summary: ScorerSummary | None
    scores: tuple[Cell, ...]


def scorer_status(view: ScorerView) -> ScorerStatus:
    """The view as `status` prints it, with every cell."""
    scorer, summary = view.scorer, None
    if view.known:
        counts = {str(state): view.counts[state] for state in ScoreState} | {
            "unexpected": len(view.unexpected)
        }
        oldest = None if view.oldest is None else round(view.oldest)
        summary = ScorerSummary(counts, *view.values, view.at_default, oldest)
    return ScorerStatus(
        name=scorer.name,
        score_name=scorer.score_name,
        resource=scorer.resource,
        health=scorer.health or None,
        conditions=tuple(
            ScorerCondition(it.type, it.status, it.reason, it.message) for it in scorer.conditions
        ),
        suspended_by=view.suspended or None,
        interval_seconds=scorer.interval,
        ttl_seconds=scorer.ttl,
        summary=summary,
        scores=tuple(view.cells()),
    )
