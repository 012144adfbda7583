"""Scores of each scorer on each cluster: published values, their age, and missing scores.

A `ScorerView` is one scorer on all clusters. Its cells are computed on request, because a fleet has
hundreds of thousands, and sums such as counts by state are computed once from the ends of scores.

Guaranteed: a score that should exist is missing only after scorer, cluster and add-on have been
there for some time. Ages are by the hub's clock. Without the scores or the clusters nothing is
counted, and `known` is False.

Not guaranteed: the age of a score whose TTL was changed in git since it was published, because it
is computed from validUntil and the present TTL. Scores without an end have no age.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct

from gitops_dsf.hub.metadata import ObjectCondition
from gitops_dsf.hub.score_failures import FailureGroup, failure_groups
from gitops_dsf.hub.score_states import LIVE, ScoreState, state_of, state_of_absent
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.hub.scores import PublishedScore, ScoreFailure, failures_in, without_failures
from gitops_dsf.hub.targets import TargetClusters
from gitops_dsf.hub.times import timestamp
from gitops_dsf.views.status.inputs import HubPart, StatusInputs

USUAL: Final = frozenset({ScoreState.FRESH, ScoreState.EXPIRING, ScoreState.MASKED})
"""States without a problem, which are not listed per cluster."""
_END: Final = attrgetter("valid_until")


class CellFailure(Struct, frozen=True):
    """The reason why a scorer gives no score on a cluster now, by its agent or the hub scorer."""

    reason: str
    """One of the list in docs/operate/problems.md, or the word of an agent of another version."""
    message: str
    since: str | None
    """The time when the scores stopped, by the hub's clock; None if the agent wrote no valid time.
    """

    @classmethod
    def of(cls, failure: ScoreFailure | None) -> "CellFailure | None":
        """The failure with its time as text."""
        if failure is None:
            return None
        since = None if failure.since is None else timestamp(failure.since)
        return cls(failure.reason, failure.message, since)


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
    """The seconds since it was published, by validUntil and the TTL.

    None if nothing is published, or without an end.
    """
    failure: CellFailure | None = None
    """The reason why there is no newer score; None while there are scores, or if the agent gives
    none.
    """


class ScorerCondition(Struct):
    type: str
    status: str
    reason: str
    message: str


class ScorerTotals(Struct, rename="camel"):
    clusters: dict[str, int]
    """The number of clusters by `ScoreState`, each state with its 0, and `unexpected`."""
    min: int | None
    median: int | None
    max: int | None
    at_default: int | None
    oldest_seconds: int | None
    failing: dict[str, int] = {}
    """Clusters by the reason why the scorer gives no score there now."""


class ScorerStatus(Struct, rename="camel"):
    name: str
    score_name: str
    resource: str
    health: str | None
    conditions: tuple[ScorerCondition, ...]
    suspended_by: str | None
    interval_seconds: int
    ttl_seconds: int
    summary: ScorerTotals | None
    scores: tuple[Cell, ...]


class StateAndAge(NamedTuple):
    """The state and the age of a published score."""

    state: ScoreState
    age: float | None
    """Seconds since it was published; None without an end."""


class ScoreOnCluster(NamedTuple):
    """One cluster of a scorer."""

    cluster: str
    score: PublishedScore | None
    state: ScoreState
    age: float | None


class ValueSummary(NamedTuple):
    """A summary of the values that count now; None without any."""

    lowest: int | None
    median: int | None
    """The lower median, which is one of the values."""
    highest: int | None


@dataclass(kw_only=True)
class ScorerView:
    """One scorer on all clusters, or on one: its scores, its target clusters, and sums."""

    scorer: DynamicScorer
    suspended: str
    """The place of the suspension: `git` (spec.suspend), or empty."""
    known: bool
    published: Mapping[str, PublishedScore]
    """Scores by cluster, in any state.

    An object that only says why there is no score is not here.
    """
    failures: Mapping[str, ScoreFailure]
    """The reasons by cluster why the scorer gives no score now, also while the last one still
    counts.
    """
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
    """The number of times that OCM counts each value now."""
    oldest: float | None = field(init=False)
    """Age of the oldest published score in seconds, also if it has expired or has no items."""
    _states: dict[datetime | None, StateAndAge] = field(init=False)
    """State and age of a score by its end, as if it had items."""

    def __post_init__(self) -> None:
        # States are computed by the end of a score, because thousands end in the same second.
        scores = self.published.values()
        self._states = {}
        for until in set(map(_END, scores)):
            self._states[until] = self._published(until)
        # OCM counts an object without values as 0, whatever its end is.
        filled = [score for score in scores if score.values]
        self.counts = Counter(state for _, state in self._absent())
        for until, number in Counter(map(_END, filled)).items():
            self.counts[self._states[until].state] += number
        if len(filled) < len(scores):
            self.counts[ScoreState.EMPTY] = len(scores) - len(filled)
        # Most scorers have no unusual cluster, and then nothing needs to be sorted.
        if self.counts.keys() - USUAL:
            for entry in self._entries():
                if entry.state not in USUAL:
                    self.unusual.setdefault(entry.state, []).append(entry.cluster)
        live = {until for until, (state, _) in self._states.items() if state in LIVE}
        values = [score.values for score in filled if score.valid_until in live]
        self.histogram = Counter(chain.from_iterable(values))
        ages = (age for _, age in self._states.values() if age is not None)
        self.oldest = max(ages, default=None)

    @cached_property
    def unexpected(self) -> tuple[str, ...]:
        """Clusters with a score that should not exist, sorted. OCM counts it anyway."""
        return tuple(sorted(self.published.keys() - self.expected))

    @property
    def at_default(self) -> int | None:
        """The number of counted scores that are spec.defaultScore; None if it is unknown.

        They are published where the source has no series, or are equal by chance.
        """
        value = self.scorer.spec.default_score
        return self.histogram[value] if value is not None and self.known else None

    @property
    def shown(self) -> int:
        """The number of clusters that the view counts."""
        return self.counts.total()

    @property
    def values(self) -> ValueSummary:
        """The values that count now, in three numbers."""
        ordered = sorted(self.histogram.elements())
        if not ordered:
            return ValueSummary(None, None, None)
        return ValueSummary(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])

    @cached_property
    def failing(self) -> tuple[FailureGroup, ...]:
        """The clusters where it should publish and gives no scores now, by reason."""
        expected: dict[str, ScoreFailure] = {}
        for cluster, failure in self.failures.items():
            if cluster in self.expected:
                expected[cluster] = failure
        return failure_groups(expected)

    def cells(self) -> Iterator[Cell]:
        """Every cell in order of cluster. They are not kept: a fleet has hundreds of thousands."""
        for cluster, score, state, age in self._entries():
            until = None if score is None else score.valid_until
            yield Cell(
                cluster=cluster,
                state=state,
                values={} if score is None else dict(score.items()),
                valid_until=None if until is None else timestamp(until),
                age_seconds=None if age is None else round(age),
                expected=cluster in self.expected,
                failure=CellFailure.of(self.failures.get(cluster)),
            )

    def _entries(self) -> Iterator[ScoreOnCluster]:
        """Every cluster, in order of name."""
        absent = dict(self._absent())
        # Published scores arrive in this order, so sorting has little to do.
        for cluster in sorted(chain(self.published, absent)):
            score = self.published.get(cluster)
            if score is None:
                yield ScoreOnCluster(cluster, None, absent[cluster], None)
                continue
            state, age = self._states[score.valid_until]
            yield ScoreOnCluster(cluster, score, state if score.values else ScoreState.EMPTY, age)

    def _absent(self) -> Iterator[tuple[str, ScoreState]]:
        """Clusters without a score that should have one, or that a mask excludes."""
        for cluster in (self.expected | self.masked) - self.published.keys():
            if cluster not in self.expected:
                yield cluster, ScoreState.MASKED
                continue
            # A score is missing only some time after scorer, cluster and add-on are all there.
            since = max(self.scorer.created, self.targets.since(cluster, self.scorer))
            interval = self.scorer.interval
            yield cluster, state_of_absent(since=since, interval=interval, now=self.now)

    def _published(self, valid_until: datetime | None) -> StateAndAge:
        ttl = self.scorer.ttl
        if valid_until is None:
            return StateAndAge(state_of(None, filled=True, ttl=ttl, now=self.now), None)
        until = valid_until.timestamp()
        # The clock of an agent may be ahead of the hub's. Then more than the TTL is left.
        age = max(0.0, ttl - (until - self.now))
        return StateAndAge(state_of(until, filled=True, ttl=ttl, now=self.now), age)


def scorer_views(
    scorers: Iterable[DynamicScorer], inputs: StatusInputs, *, cluster: str | None = None
) -> tuple[ScorerView, ...]:
    """Every scorer on every cluster, or on one, in order of name."""
    # None means that every selected cluster may have an agent; an empty mapping, that none has.
    addons = inputs.addons if inputs.knows(HubPart.ADDONS) else None
    targets = TargetClusters(clusters=inputs.snapshot.clusters, addons=addons, masks=inputs.masks)
    ordered = sorted(scorers, key=lambda scorer: scorer.name)
    return tuple(_view(scorer, targets, inputs, cluster) for scorer in ordered)


def scorer_status(view: ScorerView) -> ScorerStatus:
    """The view as `status` prints it, with every cell."""
    scorer = view.scorer
    return ScorerStatus(
        name=scorer.name,
        score_name=scorer.score_name,
        resource=scorer.resource,
        health=scorer.health or None,
        conditions=tuple(map(_condition, scorer.conditions)),
        suspended_by=view.suspended or None,
        interval_seconds=scorer.interval,
        ttl_seconds=scorer.ttl,
        summary=_summary(view) if view.known else None,
        scores=tuple(view.cells()),
    )


def _condition(condition: ObjectCondition) -> ScorerCondition:
    return ScorerCondition(condition.type, condition.status, condition.reason, condition.message)


def _view(
    scorer: DynamicScorer, targets: TargetClusters, inputs: StatusInputs, cluster: str | None
) -> ScorerView:
    published: Mapping[str, PublishedScore] = {}
    failures: Mapping[str, ScoreFailure] = {}
    expected = frozenset[str]()
    masked = frozenset[str]()
    # Without the clusters it is unknown where a score is missing, so then nothing is counted.
    is_known = inputs.knows(HubPart.SCORES, HubPart.CLUSTERS)
    if is_known:
        column = inputs.snapshot.scores.get(scorer.resource, {})
        published = without_failures(column)
        failures = failures_in(column)
        expected = targets.expected(scorer)
        masked = (targets.selected(scorer) & targets.masked(scorer.score_name)) - expected
    if cluster is not None:
        published = {cluster: published[cluster]} if cluster in published else {}
        failures = {cluster: failures[cluster]} if cluster in failures else {}
        expected &= {cluster}
        masked &= {cluster}
    return ScorerView(
        scorer=scorer,
        suspended="git" if scorer.spec.suspend else "",
        known=is_known,
        published=published,
        failures=failures,
        expected=expected,
        masked=masked,
        targets=targets,
        now=inputs.now.timestamp(),
    )


def _summary(view: ScorerView) -> ScorerTotals:
    clusters = {str(state): view.counts[state] for state in ScoreState}
    clusters["unexpected"] = len(view.unexpected)
    return ScorerTotals(
        clusters=clusters,
        min=view.values.lowest,
        median=view.values.median,
        max=view.values.highest,
        at_default=view.at_default,
        oldest_seconds=None if view.oldest is None else round(view.oldest),
        failing={group.reason: len(group.clusters) for group in view.failing},
    )
